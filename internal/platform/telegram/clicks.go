package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
)

// clicks answers pressed buttons: the client shows a waiting sign until then,
// and the service forgets the press after a while. It never holds up the poll
// loop for long.
type clicks struct {
	wire   *wire
	log    *slog.Logger
	out    *courier
	render func(chat.Reply) []chat.Part
	slots  chan struct{}
	busy   sync.WaitGroup
}

// clickSlots is how many presses are answered at once.
const clickSlots = 8

// maxToast is the length of the text that a press may be answered with.
const maxToast = 200

// answer acknowledges query, which was decoded into m, with what ack says.
func (c *clicks) answer(ctx context.Context, query string, m chat.Message, ack chat.Ack) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	c.busy.Go(func() {
		defer func() { <-c.slots }()
		c.toast(ctx, query, ack)
		if ack.Replace != nil && !ack.Follows && !m.Ref.Zero() {
			c.replace(ctx, m, *ack.Replace)
		}
	})
}

func (c *clicks) toast(ctx context.Context, query string, ack chat.Ack) {
	p := params{"callback_query_id": query}
	p.AddNonEmpty("text", chat.Clip(ack.Toast, maxToast))
	p.AddBool("show_alert", ack.Alert && ack.Toast != "")
	if _, err := c.wire.call(ctx, request{method: "answerCallbackQuery", params: p, limit: 10 * time.Second}); err != nil {
		// Too old, mostly: the decision is made and stored all the same.
		c.log.DebugContext(ctx, "a pressed button was not answered", "err", err)
	}
}

// replace gives the message that carried the button its new form. The decision
// does not depend on it.
func (c *clicks) replace(ctx context.Context, m chat.Message, r chat.Reply) {
	parts := c.render(r)
	if len(parts) == 0 {
		return
	}
	d := newDraft(m.Place, parts[len(parts)-1]) // the buttons were on the last part
	d.part.File = nil
	_, err := c.out.edit(ctx, d, m.Ref)
	if chat.CodeOf(err) == chat.Degrade {
		d.part.Format = nil
		_, err = c.out.edit(ctx, d, m.Ref)
	}
	if err != nil {
		c.log.WarnContext(ctx, "a message with buttons keeps its old form", "chat", m.Place.Chat, "msg", m.Ref.ID, "err", err)
	}
}

// wait returns when every answer is given or given up.
func (c *clicks) wait() { c.busy.Wait() }
