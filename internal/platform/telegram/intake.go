package telegram

import (
	"context"
	"encoding/json"
	"log/slog"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// intake turns updates into a batch for the inbox, whatever way they came, and
// answers the buttons among them once they are stored.
type intake struct {
	account string
	log     *slog.Logger
	clicks  *clicks
	menu    *menu
	crowd   *crowd
}

// sheaf is what some updates came to.
type sheaf struct {
	platform.Batch
	queries  []string // of the messages, "" where there is none
	orphans  []string // queries that became no message
	last     int64    // number of the last update that has one
	numbered bool     // one has
}

// read decodes updates one by one: one that cannot be understood does not stop
// the others, and is kept as it came.
func (n *intake) read(ctx context.Context, d decoder, raws []json.RawMessage) sheaf {
	s := sheaf{Batch: platform.Batch{Account: n.account}}
	for _, raw := range raws {
		var id struct {
			ID *int64 `json:"update_id"`
		}
		if json.Unmarshal(raw, &id) == nil && id.ID != nil {
			// Numbers restart anywhere after a quiet week: the last one of the
			// batch counts, be it lower than what we had.
			s.last, s.numbered = *id.ID, true
		}
		t, err := d.take(raw)
		if err != nil {
			n.log.WarnContext(ctx, "update not understood; it is kept as it came", "update", s.last, "err", err)
			s.Unread = append(s.Unread, chat.Unread{Raw: raw, Why: err.Error()})
			continue
		}
		if t.crowd != "" {
			n.crowd.changed(t.crowd)
		}
		for i := range t.msgs {
			n.crowd.see(ctx, &t.msgs[i])
		}
		switch {
		case len(t.msgs) > 0:
			s.Messages = append(s.Messages, t.msgs...)
			s.queries = append(s.queries, t.query)
		case t.query != "":
			s.orphans = append(s.orphans, t.query)
		}
	}
	return s
}

// answer deals with what a stored sheaf asks for at once: buttons are answered. It does not wait for them; they
// end with ctx.
func (n *intake) answer(ctx context.Context, s sheaf, acks []chat.Ack) {
	for _, m := range s.Messages {
		n.menu.met(m.Place.Chat)
	}
	for i, ack := range acks {
		if i < len(s.queries) && s.queries[i] != "" {
			n.clicks.answer(ctx, s.queries[i], s.Messages[i], ack)
		}
	}
	for _, q := range s.orphans {
		n.clicks.answer(ctx, q, chat.Message{}, chat.Ack{})
	}
}
