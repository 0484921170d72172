package pi

import (
	"context"

	"cligate/internal/chat"
)

// The agent itself asks nothing. An extension that the user has installed may.

// question asks a person on behalf of an extension, in a goroutine that ends
// with the turn.
func (r *run) question(m message) {
	q, ok := dialogOf(m)
	if !ok {
		return // it is told something, and waits for nothing
	}
	if r.quiet {
		r.asks.Go(func() { r.dismiss(m) })
		return
	}
	r.asks.Go(func() {
		a, err := r.host.Ask(r.ctx, q)
		reply := object{"type": "extension_ui_response", "id": m.ID}
		switch {
		case err != nil:
			reply["cancelled"] = true
		case m.Method == "confirm":
			reply["confirmed"] = a.Effect.Allows()
		case len(a.Values["0"]) > 0:
			reply["value"] = a.Values["0"][0]
		case a.Effect != chat.EffectDeny && a.Option+a.Text != "":
			reply["value"] = a.Option + a.Text
		default:
			reply["cancelled"] = true
		}
		r.reply(r.ctx, reply)
	})
}

// dialogOf is what an extension asks; not ok when it asks nothing.
func dialogOf(m message) (chat.Question, bool) {
	q := chat.Question{Key: m.ID, Tool: "extension", Title: oneLine(m.Title)}
	switch m.Method {
	case "select":
		q.Kind = chat.AskChoice
		query := chat.Query{ID: "0", Text: m.Title}
		for _, o := range m.Options {
			query.Options = append(query.Options, chat.Option{ID: o, Label: o, Effect: chat.EffectChoose})
		}
		q.Queries = []chat.Query{query}
	case "confirm":
		q.Kind, q.Detail = chat.AskApproval, m.Title+"\n"+m.Text
		q.Options = []chat.Option{{ID: "allow", Effect: chat.EffectAllow}, {ID: "deny", Effect: chat.EffectDeny}}
	case "input", "editor":
		q.Kind, q.Detail = chat.AskText, m.Prefill
		q.Queries = []chat.Query{{ID: "0", Text: m.Title, Free: true}}
	default:
		return q, false
	}
	return q, true
}

// dismiss answers an extension that asks when nobody can be asked.
func (w *Worker) dismiss(m message) {
	if _, asks := dialogOf(m); asks {
		w.reply(w.life, object{"type": "extension_ui_response", "id": m.ID, "cancelled": true})
	}
}

func (w *Worker) reply(ctx context.Context, m object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.CallTimeout)
	defer cancel()
	if err := w.link.send(ctx, m); err != nil {
		w.log.WarnContext(ctx, "extension not answered", "err", err)
	}
}
