package claude

import (
	"context"
	"log/slog"
	"sync"

	"cligate/internal/chat"
)

// asks are the agent's open questions, by the id of the request. Each waits in
// a goroutine of its own, so several can be open at once and output goes on.
type asks struct {
	link *link
	log  *slog.Logger

	mu   sync.Mutex
	open map[string]context.CancelCauseFunc
}

// asker is whoever can be asked: the host of a turn.
type asker interface {
	Ask(ctx context.Context, q chat.Question) (chat.Answer, error)
}

// errWithdrawn says that the agent does not want an answer any more.
var errWithdrawn = chat.E(chat.Expired, "the agent withdrew the question", nil)

// ask asks and answers the agent. It returns when the agent was answered or
// does not want to be: when ctx ends, the answer is no, and an end to what the
// agent does.
func (a *asks) ask(ctx context.Context, m requestMsg, host asker) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.mu.Lock()
	a.open[m.ID] = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.open, m.ID)
		a.mu.Unlock()
	}()

	if m.Request.Tool == toolPlan {
		m.Request.plan = a.plan(asking, m.Request)
	}
	q, err := question(m)
	if err != nil {
		a.log.WarnContext(ctx, "unreadable question of the agent", "tool", m.Request.Tool, "err", err)
		a.reply(ctx, m.ID, deny(saysUnclear))
		return
	}
	answer, err := host.Ask(asking, q)
	if context.Cause(asking) == errWithdrawn { //nolint:errorlint // identity: the very value that withdraw gave
		return
	}
	if err != nil {
		a.log.InfoContext(ctx, "nobody decided", "tool", m.Request.Tool, "err", err)
	}
	if ctx.Err() != nil { // a mere no would have the agent go on, and end the turn as if nobody had stopped it
		a.reply(ctx, m.ID, denyAll())
		return
	}
	a.reply(ctx, m.ID, verdict(m.Request, q, answer, err))
}

// plan finds the plan that a request is about: it is in the request, or in a
// file of the agent's, or was seen when the tool was called.
func (a *asks) plan(ctx context.Context, r request) string {
	if text := planText(r.Input); text != "" {
		return text
	}
	body, err := a.link.call(ctx, a.link.limit, object{"subtype": "get_plan"})
	if err != nil {
		a.log.DebugContext(ctx, "agent does not show its plan", "err", err)
	} else if text := planText(body); text != "" {
		return text
	}
	return r.plan
}

// reply answers a request of the agent. A cancelled turn still answers: the
// agent must not wait for ever.
func (a *asks) reply(ctx context.Context, id string, body object) {
	a.send(ctx, controlResponse(id, body))
}

// refuse answers a request that nobody here understands.
func (a *asks) refuse(ctx context.Context, id, why string) { a.send(ctx, controlRefusal(id, why)) }

func (a *asks) send(ctx context.Context, m object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.link.limit)
	defer cancel()
	if err := a.link.send(ctx, m); err != nil {
		a.log.WarnContext(ctx, "agent not answered", "err", err)
	}
}

// withdraw takes back a question that the agent cancelled.
func (a *asks) withdraw(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel, ok := a.open[id]; ok {
		cancel(errWithdrawn)
	}
}
