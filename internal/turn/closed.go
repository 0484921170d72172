package turn

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// closed is an ask that is over, whose messages still offer buttons.
type closed struct {
	*Runner
	ask   chat.Ask
	agent string
	lang  string
}

// relabelTries is how often the message of a closed ask is looked for: it may
// still be on its way. That is about half a minute.
const relabelTries = 12

// relabel edits the message that carries the buttons: it says how the ask ended
// and offers nothing any more.
func (c closed) relabel(ctx context.Context) {
	for try := range relabelTries {
		outs, err := c.edit(ctx)
		if err == nil && len(outs) > 0 {
			if err = c.books.Outbox.Enqueue(ctx, outs); err == nil {
				c.voice.Wake(c.ask.Place)
				return
			}
		}
		if err != nil {
			c.cfg.Log.WarnContext(ctx, "message of an ask not changed yet", "ask", c.ask.ID, "err", err)
		}
		if c.pause(ctx, try) != nil {
			return
		}
	}
}

// edit makes the edit, or nothing while the message is not there.
func (c closed) edit(ctx context.Context) ([]chat.Out, error) {
	a := c.ask
	refs, err := c.books.Recovery.AskMessages(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	shown := question{id: a.ID, q: a.Question, digest: a.Digest, agent: c.agent, lang: c.lang}
	// All of them have to be there: the buttons are on the last.
	all := c.voice.Compose(a.Place, 0, "ask", chat.OutAsk, shown.replies()...)
	if len(refs) == 0 || len(refs) < len(all) {
		return nil, nil
	}
	key := fmt.Sprintf("asked/%d", a.ID)
	outs := c.voice.Compose(a.Place, 0, key, chat.OutNotice, shown.settled(outcome(a, c.lang)))
	if len(outs) == 0 {
		return nil, nil
	}
	last := outs[len(outs)-1]
	last.Op, last.Target, last.Ask = chat.OpEdit, refs[len(refs)-1], a.ID
	return []chat.Out{last}, nil
}
