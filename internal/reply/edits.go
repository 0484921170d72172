package reply

import (
	"context"
	"slices"
	"time"

	"cligate/internal/chat"
)

// edit makes the next edit of a channel that has no row to send. Edits are
// never stored, wait for everything else, and at most one is under way.
func (c *channel) edit() (wait time.Duration, idle bool) {
	c.sender.mu.Lock()
	var l *Live
	if len(c.edits) > 0 {
		l = c.edits[0]
	}
	c.sender.mu.Unlock()
	if l == nil {
		return 0, true
	}
	a, ok := c.sender.adapters[c.account]
	if !ok {
		c.drop()
		return 0, false
	}
	o, ok := l.next()
	if !ok {
		c.pop()
		return 0, false
	}
	if t := a.Traits(); !t.Local {
		if wait := c.sender.pace.take(fareOf(c, o.Place, t, true)); wait > 0 {
			return wait, false
		}
	}
	c.pop()
	_, err := c.sender.send(a, o)
	c.edited(l, err)
	l.done(o.Part, err)
	return 0, false
}

// pop takes the edit that was looked at out of the queue. Others only append.
func (c *channel) pop() {
	c.sender.mu.Lock()
	defer c.sender.mu.Unlock()
	c.edits = slices.Delete(c.edits, 0, 1)
}

// edited notes what the outcome of an edit means for its channel. A failure
// means nothing: what matters must not wait because of it. Where messages grow,
// their edits have a budget of their own.
func (c *channel) edited(l *Live, err error) {
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		c.works()
	case chat.Wait:
		if !l.traits.Finishes {
			c.sender.told(c.name, chat.AfterOf(err))
		}
	default:
		c.sender.cfg.Log.DebugContext(c.sender.ctx, "live message not edited", "channel", c.name, "err", err)
	}
}

// drop forgets everything that was to be edited in a channel.
func (c *channel) drop() {
	c.sender.mu.Lock()
	edits := c.edits
	c.edits = nil
	c.sender.mu.Unlock()
	for _, l := range edits {
		l.done(chat.Part{}, chat.E(chat.GiveUp, "", nil))
	}
}

// cosmetic settles rows of live messages that need no call: the first post of
// a turn that is over, the end of one that was never shown. It fills in which
// message an end is about.
func (c *channel) cosmetic(o *chat.Out) (wait time.Duration, gone bool) {
	why := ""
	switch {
	case o.Op == chat.OpPost && o.State == chat.OutPending:
		if l := c.sender.live(o.Turn); l == nil || !l.wants(o.Key) {
			why = "the turn is over"
		}
	case o.Op != chat.OpPost && o.Target.Zero():
		ref, err := c.sender.ledger.Shown(c.sender.ctx, o.Turn)
		switch chat.CodeOf(err) {
		case chat.CodeNone:
			o.Target = ref
		case chat.Missing:
			why = "there was no live message"
		default:
			return c.fail("outbox not read", err), true
		}
	}
	if why == "" {
		return 0, false
	}
	return c.store(func(ctx context.Context) error {
		return c.sender.ledger.Bury(ctx, o.ID, chat.OutDropped, why)
	}), true
}
