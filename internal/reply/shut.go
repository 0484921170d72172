package reply

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// shut holds a row whose topic is closed or deleted, together with everything
// else for that topic, and says so once, where it can be read. The other topics
// of the chat go on.
func (d *delivery) shut(e *chat.Error) time.Duration {
	o := d.out
	if o.Class == chat.OutProgress {
		return d.bury(e)
	}
	state := chat.PlaceShut
	if e.Code == chat.Vanished {
		state = chat.PlaceVanished
	}
	ctx := context.WithoutCancel(d.sender.ctx)
	near, err := d.sender.ledger.Near(ctx, o)
	told := err == nil
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return d.fail("outbox not read", err)
	}
	var outs []chat.Out
	if told {
		outs = d.say(near, fmt.Sprintf("shut/%d/%d", o.ID, o.Tries), held(o, state, near))
	}
	wait := d.store(func(ctx context.Context) error {
		return d.sender.ledger.Shut(ctx, o.ID, state, o.Unsure == nil, e.Error(), outs)
	})
	if wait > 0 {
		return wait
	}
	d.works() // the platform answered
	d.sender.cfg.Log.WarnContext(d.sender.ctx, "messages wait for their topic", "outbox", o.ID, "turn", o.Turn,
		"channel", d.name, "thread", o.Place.Thread, "code", e.Code)
	if told {
		d.sender.wake(near.Channel())
	} else {
		d.sender.cfg.Held(o, e)
	}
	return 0
}

// held is what is said about messages that wait for their topic. Where they go
// instead can be chosen in the chat that they belong to.
func held(o chat.Out, s chat.PlaceState, near chat.Place) chat.Reply {
	lang := langOf(o.Part.Text)
	key := "reply.shut_closed"
	if s == chat.PlaceVanished {
		key = "reply.shut_gone"
	}
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: i18n.T(lang, key, "name", topicName(o.Place))}
	if near.Chat != o.Place.Chat {
		return r
	}
	button := func(label, what string) chat.Button {
		return chat.Button{Label: i18n.T(lang, "reply.button_"+label), Data: fmt.Sprintf("lost:%d:%s", o.Place.ID, what)}
	}
	row := []chat.Button{button("here", "here")}
	if s == chat.PlaceVanished {
		row = append(row, button("topic", "new"), button("discard", "drop"))
	}
	r.Buttons = [][]chat.Button{row}
	return r
}

func topicName(p chat.Place) string {
	switch {
	case p.Title != "":
		return p.Title
	case p.Thread != "":
		return "#" + p.Thread
	}
	return "General"
}

// moved carries the chat over to its new address, where the row is sent next.
func (d *delivery) moved(e *chat.Error) time.Duration {
	o := d.out
	if e.To == nil || e.To.Chat == o.Place.Chat {
		return d.bury(e)
	}
	wait := d.store(func(ctx context.Context) error {
		return d.sender.ledger.Move(ctx, o.Place.Account, o.Place.Chat, *e.To)
	})
	if wait == 0 {
		wait = d.later(time.Now(), o.Unsure == nil, e)
	}
	if wait > 0 {
		return wait
	}
	d.works()
	d.sender.cfg.Log.InfoContext(d.sender.ctx, "a chat has a new address", "channel", d.name, "to", e.To.Chat)
	d.sender.wake(o.Place.Account + "/" + e.To.Chat)
	return 0
}

// noTopic ends a row that was to make a topic, and says why to who asked for
// it.
func (d *delivery) noTopic(e *chat.Error) time.Duration {
	o := d.out
	lang, name := i18n.Default, ""
	if t := o.Part.Topic; t != nil {
		name = t.Name
		if t.Lang != "" {
			lang = t.Lang
		}
	}
	key := "reply.topic_failed"
	switch e.Code {
	case chat.Denied:
		key = "reply.topic_denied"
	case chat.Unsupported:
		key = "reply.topic_none"
	case chat.Uncertain:
		key = "reply.topic_unsure"
	default:
	}
	detail := i18n.Detail(lang, e)
	if detail == "" {
		detail = i18n.T(lang, "reply.no_reason")
	}
	outs := d.say(o.Place, fmt.Sprintf("topic/%d", o.ID), chat.Reply{
		Kind: chat.ReplyNotice, Markdown: i18n.T(lang, key, "name", name, "detail", detail),
	})
	wait := d.store(func(ctx context.Context) error { return d.sender.ledger.Enqueue(ctx, outs) })
	if wait == 0 {
		wait = d.store(func(ctx context.Context) error {
			return d.sender.ledger.Bury(ctx, o.ID, chat.OutDropped, e.Error())
		})
	}
	if wait == 0 {
		d.works()
	}
	return wait
}

// say makes the rows of a notice.
func (d *delivery) say(p chat.Place, key string, r chat.Reply) []chat.Out {
	var outs []chat.Out
	for i, part := range d.adapter.Render(r) {
		outs = append(outs, chat.Out{
			Key: fmt.Sprintf("%s/%d", key, i+1), Place: p, Class: chat.OutNotice, Op: chat.OpPost, Part: part,
		})
	}
	return outs
}
