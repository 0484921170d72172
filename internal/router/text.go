package router

import (
	"context"
	"errors"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
)

// text takes a new message: a command, an answer, or a part of a turn.
func (r *Router) text(ctx context.Context, in chat.Inbound) error {
	if name, arg, ok := command.Parse(in.Text); ok {
		return r.command(ctx, in, name, arg)
	}
	if !in.Role.Covers(chat.RoleMember) {
		return r.refuse(ctx, in, []int64{in.ID}, chat.Conversation{}, chat.E(chat.Denied, "", nil))
	}
	if done, err := r.answer(ctx, in); done || err != nil {
		return err
	}
	var all error
	for _, b := range r.bursts.add(in, time.Now()) {
		all = errors.Join(all, r.flush(ctx, b))
	}
	if all == nil && r.bursts.holds(in.ID) {
		r.warm(ctx, in)
	}
	return all
}

// command carries out a slash command. One that is not ours goes to the agent
// when the agent has it; otherwise it starts nothing.
func (r *Router) command(ctx context.Context, in chat.Inbound, name, arg string) error {
	if err := r.flushAuthor(ctx, in); err != nil {
		return err
	}
	conv, err := r.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	c := command.Call{In: in, Conv: conv, Lang: r.desk.lang(conv, in.Sender), Name: name, Arg: arg}
	switch {
	case r.set.Has(name):
		res, err := r.set.Run(ctx, c)
		if err != nil {
			return r.refuse(ctx, in, []int64{in.ID}, conv, err)
		}
		if err := r.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, r.unbutton(ctx, in), res.Replies...); err != nil {
			return err
		}
		if res.Wake != 0 {
			r.desk.lanes.Wake(res.Wake)
		}
		return nil
	case !in.Role.Covers(chat.RoleMember):
		return r.refuse(ctx, in, []int64{in.ID}, conv, chat.E(chat.Denied, "", nil))
	case r.set.Passes(c):
		return r.flush(ctx, &burst{author: authorOf(in), rows: []chat.Inbound{in}})
	}
	return r.settle(ctx, in, chat.InboundDone, chat.CodeNone, r.set.Unknown(c).Replies...)
}

// flushAuthor makes the turn of what the author of in said just before.
func (r *Router) flushAuthor(ctx context.Context, in chat.Inbound) error {
	if b := r.bursts.take(authorOf(in)); b != nil {
		return r.flush(ctx, b)
	}
	return nil
}

// flushAll makes the turns of bursts whose time has come and reports whether
// all could be made; the messages of the others are looked at again.
func (r *Router) flushAll(ctx context.Context, bs []*burst) bool {
	ok := true
	for _, b := range bs {
		ok = r.attempt(ctx, b.rows[0], func() error { return r.flush(ctx, b) }) && ok
	}
	return ok
}

// flush makes one turn of the messages of a burst, in the order in which they
// were sent.
func (r *Router) flush(ctx context.Context, b *burst) error { return r.turn(ctx, b, false) }

func (r *Router) turn(ctx context.Context, b *burst, exempt bool) error {
	rows := sorted(b.rows)
	o := order{in: rows[0], exempt: exempt}
	for _, in := range rows {
		o.inbound = append(o.inbound, in.ID)
		o.input.Pieces = append(o.input.Pieces, piece(in))
	}
	session, err := r.desk.place(ctx, o)
	if err != nil {
		return r.refuse(ctx, rows[0], append(o.inbound, b.edits...), chat.Conversation{}, err)
	}
	r.desk.lanes.Wake(session)
	if len(b.edits) > 0 {
		return r.desk.Inbox.Settle(ctx, b.edits, chat.InboundDone, chat.CodeNone, nil)
	}
	return nil
}

func piece(in chat.Inbound) chat.Piece {
	return chat.Piece{Inbound: in.ID, Speaker: speaker(in), Quote: in.Quote, Text: in.Text, Files: in.Files}
}

// warm has the session's process opened while the message waits for
// companions. What goes wrong is found again by the turn.
func (r *Router) warm(ctx context.Context, in chat.Inbound) {
	c, err := r.desk.Conversations.ConversationByID(ctx, in.Conversation)
	if err != nil || c.Session == 0 {
		return
	}
	if s, err := r.desk.Conversations.SessionByID(ctx, c.Session); err == nil && s.Serves(c) {
		r.desk.workers.Warm(ctx, s)
	}
}
