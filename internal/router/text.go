package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/command"
)

// intake takes new words: commands, answers, and what turns are made of.
type intake struct {
	desk    *desk
	end     *ender
	set     *command.Set
	answers answers
	bursts  bursts
	aside   *aside
	ready   []*burst // complete, their turns are about to be made
}

// text takes a new message: a command, an answer, or a part of a turn.
func (k *intake) text(ctx context.Context, in chat.Inbound) error {
	if name, arg, ok := command.Parse(in.Text); ok {
		return k.command(ctx, in, name, arg)
	}
	if !in.Role.Covers(chat.RoleMember) {
		return k.end.refuse(ctx, in, []int64{in.ID}, chat.Conversation{}, chat.E(chat.Denied, "", nil))
	}
	if in.Unread != "" && in.Text == "" && in.Quote == "" && len(in.Files) == 0 {
		return k.end.tell(ctx, in, chat.InboundDone, "unread", "kind", in.Unread)
	}
	if in.Quote == "" && len(in.Files) == 0 && unreadable(in.Text) {
		return k.end.tell(ctx, in, chat.InboundDone, "nothing")
	}
	if done, err := k.answers.take(ctx, in); done || err != nil {
		return err
	}
	to, err := k.thread(ctx, in)
	if err != nil {
		return err
	}
	k.ready = append(k.ready, k.bursts.add(in, to, time.Now())...)
	if to.session == 0 && k.bursts.holds(in.ID) {
		k.warm(ctx, in)
	}
	return nil
}

// unreadable reports whether a text has nothing that a reader sees.
func unreadable(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Variation_Selector) ||
			strings.ContainsRune("\u2800\u3164\uffa0\u115f\u1160\u034f", r) // blanks that count as letters and symbols
	}) == ""
}

// take removes and returns the complete bursts of a conversation; 0 = of all.
func (k *intake) take(conversation int64) (bs []*burst) {
	k.ready = slices.DeleteFunc(k.ready, func(b *burst) bool {
		mine := conversation == 0 || b.rows[0].Conversation == conversation
		if mine {
			bs = append(bs, b)
		}
		return mine
	})
	return bs
}

// command carries out a slash command. One that is not ours goes to the agent
// when the agent has it; otherwise it starts nothing.
func (k *intake) command(ctx context.Context, in chat.Inbound, name, arg string) error {
	if err := k.flushAuthor(ctx, in); err != nil {
		return err
	}
	c, err := k.call(ctx, in, name, arg)
	if err != nil {
		return err
	}
	conv := c.Conv
	switch {
	case k.set.Slow(name):
		return k.slow(ctx, in, func() error { return k.carry(ctx, c) })
	case k.set.Has(name):
		return k.carry(ctx, c)
	case !in.Role.Covers(chat.RoleMember):
		return k.end.refuse(ctx, in, []int64{in.ID}, conv, chat.E(chat.Denied, "", nil))
	case k.set.Passes(c):
		return k.turn(ctx, &burst{author: authorOf(in), rows: []chat.Inbound{in}, bare: true}, false)
	}
	return k.end.settle(ctx, in, chat.InboundDone, chat.CodeNone, k.set.Unknown(c).Replies...)
}

// call is a command as it is to be carried out.
func (k *intake) call(ctx context.Context, in chat.Inbound, name, arg string) (command.Call, error) {
	conv, err := k.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return command.Call{}, err
	}
	return command.Call{In: in, Conv: conv, Lang: k.desk.lang(conv, in.Sender), Name: name, Arg: arg}, nil
}

// slow has f carried out beside the router: commands that may take long, which
// in orders. It is the only way in which they are.
func (k *intake) slow(ctx context.Context, in chat.Inbound, f func() error, runs ...chat.Inbound) error {
	if err := k.aside.start(ctx, in, f, runs...); err != nil {
		return k.end.refuse(ctx, in, []int64{in.ID}, chat.Conversation{}, err)
	}
	return nil
}

// carry carries out a command of ours.
func (k *intake) carry(ctx context.Context, c command.Call) error {
	res, err := k.set.Run(ctx, c)
	if err == nil {
		err = ctx.Err() // what it says was found out in a hurry; the next life does it properly
	}
	if err != nil {
		return k.end.refuse(ctx, c.In, []int64{c.In.ID}, c.Conv, err)
	}
	if err := k.end.settleWith(ctx, c.In, []int64{c.In.ID}, chat.InboundDone, chat.CodeNone, k.more(ctx, c.In, res), res.Replies...); err != nil {
		return err
	}
	if res.Wake != 0 {
		k.desk.lanes.Wake(res.Wake)
	}
	return nil
}

// more is what is committed with the end of a command beside its replies.
func (k *intake) more(ctx context.Context, in chat.Inbound, res command.Result) []chat.Out {
	outs := messages{k.desk}.unbutton(ctx, in)
	if res.Chosen != 0 && in.Kind != chat.KindClick {
		outs = append(outs, messages{k.desk}.chosen(ctx, in, res.Chosen)...)
	}
	if res.Topic == nil {
		return outs
	}
	t := res.Topic.Topic
	key := res.Topic.Key
	if key == "" {
		key = fmt.Sprintf("in/%d/topic", in.ID)
	}
	for _, o := range k.desk.voice.Compose(in.Place, 0, key+"/hello", chat.OutNotice, res.Topic.Greeting) {
		t.Greeting = append(t.Greeting, o.Part)
	}
	return append(outs, chat.Out{
		Key: key, Place: in.Place, Class: chat.OutNotice, Op: chat.OpTopic, Part: chat.Part{Topic: &t}, State: chat.OutPending,
	})
}

// flushAuthor makes the turn of what the author of in said just before.
func (k *intake) flushAuthor(ctx context.Context, in chat.Inbound) error {
	if b := k.bursts.take(authorOf(in)); b != nil {
		return k.turn(ctx, b, false)
	}
	return nil
}

// turn makes one turn of the messages of a burst, in the order in which they
// were sent. An exempt one is taken although the queue is full.
func (k *intake) turn(ctx context.Context, b *burst, exempt bool) error {
	rows := sorted(b.rows)
	o := order{in: rows[0], exempt: exempt}
	for _, in := range rows {
		o.inbound = append(o.inbound, in.ID)
	}
	pieces, to, err := k.pieces(ctx, rows)
	if err != nil {
		return err
	}
	if b.bare && len(pieces) > 0 {
		pieces[0].Speaker = ""
	}
	o.input.Pieces, o.session = pieces, to.session
	session, err := k.desk.place(ctx, o)
	if err != nil {
		return k.end.refuse(ctx, rows[0], append(o.inbound, b.edits...), chat.Conversation{}, err)
	}
	k.desk.lanes.Wake(session)
	if to.lost {
		k.replaced(ctx, rows[0])
	}
	if len(b.edits) > 0 {
		return k.desk.Inbox.Settle(ctx, b.edits, chat.InboundDone, chat.CodeNone, nil)
	}
	return nil
}

func piece(in chat.Inbound) chat.Piece {
	p := chat.Piece{Inbound: in.ID, Speaker: speaker(in), Quote: in.Quote, Source: in.Source, Text: in.Text, Files: in.Files}
	if in.Unread != "" && in.Text == "" {
		p.Text = "[" + in.Unread + ": this cannot be read here]"
	}
	return p
}

// warm has the session's process opened while the message waits for
// companions. What goes wrong is found again by the turn.
func (k *intake) warm(ctx context.Context, in chat.Inbound) {
	c, err := k.desk.Conversations.ConversationByID(ctx, in.Conversation)
	if err != nil || c.Session == 0 {
		return
	}
	// What was handed over is looked at before it is opened.
	if s, err := k.desk.Conversations.SessionByID(ctx, c.Session); err == nil && s.Serves(c) && s.ParkedAt.IsZero() {
		k.desk.workers.Warm(ctx, s)
	}
}
