package acp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cligate/internal/chat"
)

// permission asks a person for an approval, or a question in that form.
func (d *desk) permission(ctx context.Context, r request) (any, *rpcError) {
	p, err := decode[permission](r.params)
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: "unreadable request"}
	}
	cancelled := permitted{Outcome: outcome{Outcome: "cancelled"}}
	t := d.asking(r)
	if t == nil {
		return cancelled, nil
	}
	q := p.question(r, d.detail(p))
	a := t.ask(ctx, q)
	if t.asks.closed() {
		return cancelled, nil
	}
	if q.Kind == chat.AskChoice && a.Effect != chat.EffectDeny {
		return p.answers(q, a), nil
	}
	if q.Kind == chat.AskApproval {
		t.decided(p.Call.toolCall, a.Effect.Allows())
	}
	return p.choose(a), nil
}

// ask asks a person; when nobody decides the answer is no. ctx is the connection's: the question falls with it.
func (t *turn) ask(ctx context.Context, q chat.Question) chat.Answer {
	select {
	case <-t.begun: // nothing is shown before
	case <-t.asks.ctx.Done():
	}
	asking, cancel := context.WithCancelCause(t.asks.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(errGone) })
	defer stop()
	a, err := t.host.Ask(asking, q)
	if err != nil {
		t.log.DebugContext(ctx, "nobody decided", "err", err)
		return chat.Answer{Effect: chat.EffectDeny}
	}
	return a
}

// question is the permission request for a person. The agent's "always" is
// replaced by the gateway's own "in this session".
func (p permission) question(r request, detail string) chat.Question {
	q := chat.Question{
		Kind: chat.AskApproval, Tool: p.Call.name(), Title: p.Call.Title, Detail: detail,
	}
	q.Key = key(p.Call.ID, r)
	if len(p.Call.Meta.Questions) > 0 {
		q.Kind, q.Detail = chat.AskChoice, "" // the questions say it all
		for i, m := range p.Call.Meta.Questions {
			query := chat.Query{ID: strconv.Itoa(i), Header: m.Header, Text: m.Question, Multi: m.Multi, Free: true}
			for _, o := range m.Options {
				query.Options = append(query.Options, chat.Option{
					ID: o.Label, Label: o.Label, Hint: o.Description, Effect: chat.EffectChoose,
				})
			}
			q.Queries = append(q.Queries, query)
		}
		return q
	}
	if p.Call.Kind == kindPlan {
		q.Kind = chat.AskPlan
	}
	if q.Kind == chat.AskApproval && p.isChoice() {
		q.Kind = chat.AskChoice
		query := chat.Query{ID: "choice", Text: p.Call.Title}
		for _, o := range p.Options {
			query.Options = append(query.Options, chat.Option{ID: o.ID, Label: o.Name, Effect: chat.EffectChoose})
		}
		q.Queries = []chat.Query{query}
		return q
	}
	if id, name := p.option("allow_once"); id != "" {
		q.Options = append(q.Options, chat.Option{ID: id, Label: name, Effect: chat.EffectAllow})
		if q.Kind == chat.AskApproval {
			q.Options = append(q.Options, chat.Option{ID: "session", Effect: chat.EffectSession})
		}
	}
	if id, name := p.option("reject_once", "reject_always"); id != "" {
		q.Options = append(q.Options, chat.Option{ID: id, Label: name, Effect: chat.EffectDeny})
	}
	return q
}

// kindPlan is the kind of a tool that leaves a mode: it shows a plan.
const kindPlan = "switch_mode"

// isChoice reports whether the request is a question in the form of a
// permission: several ways to say yes that differ in more than how long.
func (p permission) isChoice() bool {
	once := 0
	for _, o := range p.Options {
		if o.Kind == "allow_once" {
			once++
		}
	}
	return once > 1
}

// option returns the first option of the first of kinds that is offered.
func (p permission) option(kinds ...string) (id, name string) {
	for _, kind := range kinds {
		for _, o := range p.Options {
			if o.Kind == kind {
				return o.ID, o.Name
			}
		}
	}
	return "", ""
}

// detail is the exact request: the command, else all of the tool's input, and
// what the agent shows of it. Rules match on it, so where an agent does not
// tell all, no other request may read alike: the call's id makes it unlike.
func (d *desk) detail(p permission) string {
	parts, exact := p.Call.input()
	var shown []string
	blocks, _ := decode[[]toolContent](p.Call.Content)
	for _, b := range blocks {
		if text := b.text(); text != "" {
			shown = append(shown, text)
		}
		exact = exact || b.Type == "diff"
	}
	if p.Call.Kind == kindPlan && len(shown) > 0 { // no rule matches a plan
		parts, exact = nil, true
	}
	parts = append(parts, shown...)
	if exact {
		return strings.Join(parts, "\n\n")
	}
	if p.Call.Title != "" {
		parts = slices.Insert(parts, 0, p.Call.Title)
	}
	if !d.session.cfg.Titles || p.Call.Kind != "execute" {
		parts = append(parts, "("+p.Call.ID+")")
	}
	return strings.Join(parts, "\n\n")
}

// input is what a tool is called with, for people; ok is false when the agent
// does not tell.
func (c toolCall) input() (parts []string, ok bool) {
	raw := bytes.TrimSpace(c.RawInput)
	if len(raw) == 0 || bytes.Equal(raw, []byte("{}")) || bytes.Equal(raw, []byte("null")) {
		return nil, false
	}
	var rest map[string]json.RawMessage
	if cmd := c.command(); cmd != "" && json.Unmarshal(raw, &rest) == nil {
		parts = append(parts, cmd)
		for _, said := range []string{"command", "commands", "description"} {
			delete(rest, said)
		}
		if len(rest) == 0 {
			return parts, true
		}
		if left, err := json.Marshal(rest); err == nil {
			raw = left
		}
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return parts, false
	}
	return append(parts, b.String()), true
}

// toolContent is a block that an agent shows with a tool: text or a diff.
type toolContent struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Path    string          `json:"path"`
	Old     string          `json:"oldText"`
	New     string          `json:"newText"`
}

func (c toolContent) text() string {
	if c.Type != "diff" {
		return blockText(c.Content)
	}
	var b strings.Builder
	b.WriteString(c.Path + "\n")
	writeLines(&b, "-", c.Old)
	writeLines(&b, "+", c.New)
	return strings.TrimRight(b.String(), "\n")
}

func writeLines(b *strings.Builder, sign, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		b.WriteString(sign + strings.TrimRight(line, "\n") + "\n")
	}
}

// choose is the reply to an approval. A yes is always a yes for once; where
// the agent does not offer what was decided, the answer is no.
func (p permission) choose(a chat.Answer) permitted {
	kinds := []string{"reject_once", "reject_always"}
	if a.Effect.Allows() {
		kinds = []string{"allow_once"}
	}
	id, _ := p.option(kinds...)
	if id == "" {
		return permitted{Outcome: outcome{Outcome: "cancelled"}}
	}
	return permitted{Outcome: outcome{Outcome: "selected", Option: id}}
}

// answers is the reply to a question that came as a permission request.
func (p permission) answers(q chat.Question, a chat.Answer) permitted {
	if len(p.Call.Meta.Questions) == 0 {
		id := a.Option
		if v := a.Values["choice"]; len(v) > 0 {
			id = v[0]
		}
		for _, o := range p.Options {
			if o.ID == id {
				return permitted{Outcome: outcome{Outcome: "selected", Option: id}}
			}
		}
		return permitted{Outcome: outcome{Outcome: "cancelled"}}
	}
	reply := p.choose(chat.Answer{Effect: chat.EffectAllow})
	reply.Answers = map[string]string{}
	for _, query := range q.Queries {
		if v := values(q, query, a); len(v) > 0 {
			reply.Answers[query.ID] = strings.Join(v, ", ")
		}
	}
	return reply
}

// values are the answers to one query, in whichever form they were given.
func values(q chat.Question, query chat.Query, a chat.Answer) []string {
	switch v := a.Values[query.ID]; {
	case len(v) > 0:
		return v
	case len(q.Queries) > 1:
		return nil
	case a.Option != "":
		return []string{a.Option}
	case a.Text != "":
		return []string{a.Text}
	}
	return nil
}

// key names an ask by the tool call that it is about and by what it says: the
// same request after a restart has the same key, another one of the same call
// has not.
func key(call string, r request) string {
	if call == "" {
		call = "request-" + r.id
	}
	sum := sha256.Sum256(r.params)
	return call + "/" + hex.EncodeToString(sum[:6])
}
