package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cligate/internal/chat"
)

// asks are the open questions of a turn, by the id of the request. Each waits
// in a goroutine of its own, so that several can be open and output goes on.
type asks struct {
	api     *api
	log     *slog.Logger
	waiting sync.WaitGroup

	mu   sync.Mutex
	seen map[string]context.CancelCauseFunc // nil when it was answered
}

func newAsks(a *api, log *slog.Logger) *asks {
	return &asks{api: a, log: log, seen: map[string]context.CancelCauseFunc{}}
}

// wait waits until nobody is asked any more.
func (a *asks) wait() { a.waiting.Wait() }

// errWithdrawn says that the agent does not want an answer any more.
var errWithdrawn = chat.E(chat.Expired, "the agent withdrew the question", nil)

// take takes an event about a question.
func (a *asks) take(t *turn, h heard) {
	switch h.kind {
	case "permission.asked":
		a.begin(t, h.ID, func(ctx context.Context) { a.approval(ctx, t, h.properties) })
	case "question.asked":
		a.begin(t, h.ID, func(ctx context.Context) { a.choice(ctx, t, h.properties) })
	case "permission.replied", "question.replied", "question.rejected":
		a.withdraw(h.RequestID)
	}
}

// begin asks a question once, in a goroutine that ends with the turn.
func (a *asks) begin(t *turn, id string, ask func(ctx context.Context)) {
	if t.quiet || t.giveUp != nil || id == "" {
		return
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	a.mu.Lock()
	_, again := a.seen[id]
	if !again {
		a.seen[id] = cancel
	}
	a.mu.Unlock()
	if again {
		cancel(nil)
		return
	}
	a.waiting.Go(func() {
		defer cancel(nil)
		ask(ctx)
	})
}

// withdraw takes back a question that somebody else answered, or nobody.
func (a *asks) withdraw(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.seen[id]; cancel != nil {
		cancel(errWithdrawn)
		a.seen[id] = nil
	}
}

// claim says that the answer is ours to give; false when it came too late.
func (a *asks) claim(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := a.seen[id] != nil
	a.seen[id] = nil
	return open
}

// review compares with what the server still waits for, after events were
// missed.
func (a *asks) review(ctx context.Context, t *turn, w *Worker) {
	open := map[string]bool{}
	for path, kind := range map[string]string{"/permission": "permission.asked", "/question": "question.asked"} {
		var all []properties
		if err := a.api.quick(ctx, http.MethodGet, path, nil, &all); err != nil {
			a.log.DebugContext(ctx, "open questions not told", "err", err)
			return
		}
		for _, p := range all {
			open[p.ID] = true
			if of, child := w.lease.server.owner(p.SessionID); of == w {
				a.take(t, heard{kind: kind, properties: p, child: child})
			}
		}
	}
	a.mu.Lock()
	var lost []string
	for id, cancel := range a.seen {
		if cancel != nil && !open[id] {
			lost = append(lost, id)
		}
	}
	a.mu.Unlock()
	for _, id := range lost {
		a.withdraw(id)
	}
}

// Words to the agent about a denial; the model reads them. Without any, a
// denial ends its turn.
const (
	saysDenied    = "The user denied this."
	saysUndecided = "Nobody decided about this, so it is denied."
	saysNoAnswer  = "The user did not answer."
	saysNothing   = "None of these."
)

// approval asks for leave. The agent hears yes for this once, or no.
func (a *asks) approval(ctx context.Context, t *turn, p properties) {
	answer, err := t.host.Ask(ctx, approval(p))
	if ctx.Err() != nil || !a.claim(p.ID) { // withdrawn, or the turn has ended and the request with it
		return
	}
	reply, words := "once", ""
	switch {
	case err != nil:
		a.log.InfoContext(ctx, "nobody decided", "tool", p.Permission, "err", err)
		reply, words = "reject", saysUndecided
	case !answer.Effect.Allows():
		reply, words = "reject", strings.TrimSpace(saysDenied+" "+answer.Text)
	}
	a.told(ctx, a.api.permit(context.WithoutCancel(ctx), p.ID, reply, words))
}

// choice asks questions. No answer is told as such, because to reject the
// questions would end the turn.
func (a *asks) choice(ctx context.Context, t *turn, p properties) {
	q := chat.Question{Key: p.ID, Kind: chat.AskChoice, Tool: "question", Queries: queries(p.Questions)}
	answer, err := t.host.Ask(ctx, q)
	if ctx.Err() != nil || !a.claim(p.ID) {
		return
	}
	if err != nil {
		a.log.InfoContext(ctx, "nobody answered", "err", err)
	}
	a.told(ctx, a.api.answer(context.WithoutCancel(ctx), p.ID, chosen(q, answer, err)))
}

// told logs an answer that the agent did not take.
func (a *asks) told(ctx context.Context, err error) {
	if no := (*refusalError)(nil); errors.As(err, &no) && no.status == http.StatusNotFound {
		return // it is answered, or its turn is over
	}
	if err != nil {
		a.log.WarnContext(ctx, "agent not answered", "err", err)
	}
}

func approval(p properties) chat.Question {
	return chat.Question{
		Key: p.ID, Kind: chat.AskApproval, Tool: p.Permission, Title: oneLine(strings.Join(p.Patterns, " ")), Detail: detail(p.permitted),
		Options: []chat.Option{
			{ID: "allow", Effect: chat.EffectAllow},
			{ID: "session", Effect: chat.EffectSession},
			{ID: "deny", Effect: chat.EffectDeny},
		},
	}
}

// detail is the exact request: what the agent says about it, whole.
func detail(p permitted) string {
	text := func(key string) string {
		var s string
		if json.Unmarshal(p.Metadata[key], &s) != nil {
			return ""
		}
		return s
	}
	switch {
	case p.Permission == "bash" && text("command") != "":
		return text("command")
	case text("diff") != "":
		return strings.Join(p.Patterns, "\n") + "\n" + text("diff")
	}
	all := strings.Join(p.Patterns, "\n")
	if len(p.Metadata) == 0 {
		return p.Permission + " " + all
	}
	raw, err := json.Marshal(p.Metadata) // in the order of the keys
	if err != nil {
		return p.Permission + " " + all
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return p.Permission + " " + all
	}
	return p.Permission + " " + all + "\n" + b.String()
}

func queries(qs []query) []chat.Query {
	all := make([]chat.Query, 0, len(qs))
	for i, q := range qs {
		opts := make([]chat.Option, 0, len(q.Options))
		for _, o := range q.Options {
			opts = append(opts, chat.Option{ID: o.Label, Label: o.Label, Effect: chat.EffectChoose, Hint: o.Description})
		}
		all = append(all, chat.Query{
			ID: strconv.Itoa(i), Header: q.Header, Text: q.Question, Options: opts, Multi: q.Multiple,
			Free: q.Custom == nil || *q.Custom,
		})
	}
	return all
}

// chosen is what the agent gets: the answers to each question, in order.
func chosen(q chat.Question, a chat.Answer, err error) [][]string {
	all := make([][]string, len(q.Queries))
	for i, query := range q.Queries {
		values, ok := a.Values[query.ID]
		switch {
		case err != nil, a.Effect == chat.EffectDeny:
			all[i] = []string{strings.TrimSpace(saysNoAnswer + " " + a.Text)}
		case len(values) > 0:
			all[i] = slices.Clone(values)
		case ok:
			all[i] = []string{saysNothing}
		case len(a.Values) == 0 && len(q.Queries) == 1 && a.Option+a.Text != "": // answered as a whole
			all[i] = []string{a.Option + a.Text}
		default:
			all[i] = []string{saysNoAnswer}
		}
	}
	return all
}
