package router

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// edit takes the new text of an earlier message. What waits is changed; what
// runs is not, and that is said once.
func (r *Router) edit(ctx context.Context, in chat.Inbound) error {
	if b, i := r.bursts.with(in.Place.ID, in.Ref.ID); b != nil && b.author == authorOf(in) {
		b.rows[i].Text = in.Text
		b.edits = append(b.edits, in.ID)
		return nil
	}
	old, err := r.asked(ctx, in)
	if err != nil {
		return err
	}
	if old.ID != 0 {
		return r.rewrite(ctx, in, old)
	}
	_, err = r.desk.Inbox.Revise(ctx, in.Place.ID, in.Ref.ID, in.Text)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return r.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	case chat.Missing:
		return r.late(ctx, in, "edit_late")
	}
	return fmt.Errorf("revise message: %w", err)
}

// rewrite takes the new text of a message that its author was asked about and
// that never ran, as a message of now.
func (r *Router) rewrite(ctx context.Context, in, old chat.Inbound) error {
	if err := r.desk.Inbox.Settle(ctx, []int64{old.ID}, chat.InboundWithdrawn, chat.CodeNone, nil); err != nil {
		return fmt.Errorf("withdraw message: %w", err)
	}
	return r.text(ctx, in)
}

// recall takes back an earlier message. What waits is removed.
func (r *Router) recall(ctx context.Context, in chat.Inbound) error {
	done := []int64{in.ID}
	row, err := r.asked(ctx, in)
	if err != nil {
		return err
	}
	if b, i := r.bursts.with(in.Place.ID, in.Ref.ID); b != nil {
		row = b.rows[i]
		if b.rows = slices.Delete(b.rows, i, i+1); len(b.rows) == 0 {
			r.bursts.take(b.author)
			done = append(done, b.edits...)
		}
	}
	if row.ID != 0 {
		if err := r.desk.Inbox.Settle(ctx, []int64{row.ID}, chat.InboundWithdrawn, chat.CodeNone, nil); err != nil {
			return fmt.Errorf("withdraw message: %w", err)
		}
		return r.settleWith(ctx, in, done, chat.InboundDone, chat.CodeNone, nil)
	}
	turn, err := r.desk.Inbox.Recall(ctx, in.Place.ID, in.Ref.ID)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		r.left(ctx, turn)
		return r.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	case chat.Missing:
		return r.late(ctx, in, "recall_late")
	}
	return fmt.Errorf("recall message: %w", err)
}

// asked returns the message, among those that their author is asked about,
// that in changes; zero when it is none of them.
func (r *Router) asked(ctx context.Context, in chat.Inbound) (chat.Inbound, error) {
	rows, err := r.desk.Inbox.Aged(ctx, in.Place.ID)
	if err != nil {
		return chat.Inbound{}, fmt.Errorf("read old messages: %w", err)
	}
	for _, old := range rows {
		if old.Ref.ID == in.Ref.ID && old.Ref.ID != "" {
			return old, nil
		}
	}
	return chat.Inbound{}, nil
}

// left sees to what waited for a turn that is gone from the queue, if it is.
func (r *Router) left(ctx context.Context, turn int64) {
	if t, err := r.desk.Turns.TurnByID(ctx, turn); err == nil && t.State.Final() {
		r.desk.notices.over(turn)
		r.desk.lanes.rouse(0)
	}
}

// late ends a change that came when its message ran already: said once for a
// turn, and not at all when the turn is over.
func (r *Router) late(ctx context.Context, in chat.Inbound, key string) error {
	t, err := r.desk.History.TurnOfMessage(ctx, in.Place.ID, in.Ref.ID)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return fmt.Errorf("find the turn of the message: %w", err)
	}
	if err != nil || t.State.Final() {
		return r.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	c, err := r.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	text := i18n.T(r.desk.lang(c, in.Sender), "router."+key)
	outs := r.desk.voice.Compose(in.Place, 0, fmt.Sprintf("%s/%d", key, t.ID), chat.OutNotice,
		chat.Reply{Kind: chat.ReplyNotice, Markdown: text, ReplyTo: in.Ref})
	return r.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, outs)
}
