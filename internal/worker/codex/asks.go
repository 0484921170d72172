package codex

import (
	"context"
	"encoding/json"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker/rpc"
)

// asks are the server's open questions, by the id of the request. Each waits in
// a goroutine of its own, so several can be open at once and output goes on.
type asks struct {
	server *server

	mu   sync.Mutex
	open map[string]context.CancelCauseFunc
}

// errWithdrawn says that the agent does not want an answer any more.
var errWithdrawn = chat.E(chat.Expired, "the agent withdrew the question", nil)

// Request implements rpc.Handler.
func (s ear) Request(id rpc.ID, method string, params json.RawMessage) {
	var p asked
	err := rpc.Decode(params, &p)
	if err != nil || !answerable(method) {
		s.log.InfoContext(s.life, "request of the agent refused", "method", method, "err", err)
		s.tasks.Go(func() { s.asks.refuse(id, "unsupported request: "+method) })
		return
	}
	p.method, p.raw = method, params
	w := s.find(p.Thread)
	if w == nil {
		w = s.parent(p.Thread)
	}
	if w == nil {
		s.log.WarnContext(s.life, "question of a thread that is nobody's", "method", method)
		s.tasks.Go(func() { s.asks.reply(id, p.no()) })
		return
	}
	listener{w}.asked(id, p)
}

func answerable(method string) bool {
	switch method {
	case askCommand, askFile, askPermissions, askUser, askForm:
		return true
	}
	return false
}

// asked takes a question about what runs here. One of a sub-agent that goes on
// after the turn is a piece of work of its own.
func (w listener) asked(id rpc.ID, p asked) {
	t, end := w.stage.current(), func(error) {}
	if r := w.stage.runOf(p.Turn); r != nil {
		t = r.t
		p.file = r.file(p.Item)
	}
	if t == nil {
		host, done := w.askedBy()
		t = newTurn(w.srv.life, host, w.log)
		end = func(err error) {
			t.hush()
			t.cancel(nil)
			done(err)
		}
	}
	if !t.admit() {
		w.srv.tasks.Go(func() { w.srv.asks.reply(id, p.no()) })
		return
	}
	if n := t.numbered(p.key()); n > 1 {
		p.again = n
	}
	w.srv.tasks.Go(func() {
		defer end(nil)
		defer t.asks.Done()
		w.srv.asks.ask(w.Worker, t, id, p)
	})
}

// ask asks and answers the agent. It returns when the agent was answered or
// does not want to be: when the turn ends, the answer is no.
func (a *asks) ask(w *Worker, t *turn, id rpc.ID, p asked) {
	asking, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	a.mu.Lock()
	a.open[string(id)] = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.open, string(id))
		a.mu.Unlock()
	}()
	q, err := p.question(w.spec.Workspace)
	if err != nil {
		w.log.WarnContext(t.ctx, "unreadable question of the agent", "method", p.method, "err", err)
		a.reply(id, p.no())
		return
	}
	answer, err := t.host.Ask(asking, q)
	switch {
	case context.Cause(asking) == errWithdrawn: //nolint:errorlint // identity: the very value that withdraw gave
		return
	case context.Cause(t.ctx) == errTaken: //nolint:errorlint // identity, as above
		a.reply(id, p.no()) // to cancel it would end the user's turn
		return
	case t.ctx.Err() != nil: // the turn is being ended; so is what it asked for
		a.reply(id, p.cancelled())
		return
	case err != nil:
		w.log.InfoContext(t.ctx, "nobody decided", "method", p.method, "err", err)
		a.reply(id, p.no())
		return
	}
	if answer.Effect == chat.EffectDeny && answer.Text != "" {
		w.ask.explain(t, answer.Text) // before the no, so that the agent reads both at once
	}
	a.reply(id, p.verdict(q, answer))
}

// saysDenied begins the words that the agent hears about a denial.
const saysDenied = "About the request that I denied just now: "

// explain tells the agent why something is denied: its protocol has no place
// for that, but it takes in words while it works.
func (l line) explain(t *turn, why string) {
	r := t.now()
	if r == nil || r.id() == "" {
		return
	}
	if err := l.steer(t.ctx, r.id(), []object{textItem(saysDenied + why)}); err != nil {
		l.log.InfoContext(t.ctx, "the agent does not hear why it was denied", "err", err)
	}
}

// reply answers a request of the agent. A cancelled turn still answers: the
// agent must not wait for ever.
func (a *asks) reply(id rpc.ID, result object) {
	a.said(func(ctx context.Context) error { return a.server.conn.Reply(ctx, id, result) })
}

// refuse answers a request that nobody here understands.
func (a *asks) refuse(id rpc.ID, why string) {
	a.said(func(ctx context.Context) error { return a.server.conn.Refuse(ctx, id, rpc.MethodUnknown, why) })
}

func (a *asks) said(say func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.server.life), a.server.cfg.CallTimeout)
	defer cancel()
	if err := say(ctx); err != nil && !isClosed(a.server.conn.Done()) {
		a.server.log.WarnContext(ctx, "agent not answered", "err", err)
	}
}

// withdraw takes back a question that the agent does not ask any more.
func (a *asks) withdraw(id rpc.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel, ok := a.open[string(id)]; ok {
		cancel(errWithdrawn)
	}
}
