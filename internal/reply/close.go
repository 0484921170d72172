package reply

import (
	"context"

	"cligate/internal/chat"
)

// closeTries is how often a live message that grows is closed, though the
// service refuses for good, before another way is taken.
const closeTries = 4

// closes reports whether the row ends a live message that grows. Such a row is
// not dropped like what only decorates: the message would look for ever as if
// more were to come.
func (d *delivery) closes() bool {
	return d.out.Op == chat.OpFinish && d.adapter.Traits().Finishes
}

// instead gives a row another form when the message that it is to change cannot
// take it, and reports whether it did: the words of a last word must be there,
// so they become a message of their own. What cannot be closed is removed.
func (d *delivery) instead(err error) bool {
	o := &d.out
	code := chat.CodeOf(err)
	if o.Op == chat.OpPost {
		return false
	}
	if code == chat.GiveUp && d.closes() && o.Tries >= closeTries {
		gone := *o
		gone.Op, gone.Part = chat.OpRemove, chat.Part{}
		if _, no := d.sender.send(d.adapter, gone); no != nil {
			d.sender.cfg.Log.WarnContext(d.sender.ctx, "live message neither closed nor removed", "turn", o.Turn, "channel", d.name, "err", no)
		}
	} else if code != chat.Gone {
		return false
	}
	if o.Class != chat.OutFinal {
		return false
	}
	if o.Unsure != nil && d.closes() {
		o.Part = marked(o.Part) // the message may show it
	}
	o.Op, o.Target = chat.OpPost, chat.Ref{}
	return true
}

// aim finds the message that a last word is the end of. Without one it is a
// message of its own.
func (c *channel) aim(o *chat.Out) error {
	if o.Op != chat.OpFinish || o.Class != chat.OutFinal || !o.Target.Zero() {
		return nil
	}
	ref, err := c.sender.ledger.Shown(context.WithoutCancel(c.sender.ctx), o.Turn)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		o.Target = ref
	case chat.Missing:
		o.Op = chat.OpPost
	default:
		return err
	}
	return nil
}
