package router

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// changes takes what people do to messages that they have sent.
type changes struct {
	desk   *desk
	end    *ender
	intake *intake
	chosen map[string]int64 // about an edit of a message of a turn: the version that it was chosen for
}

// edit takes the new text of an earlier message. What waits is changed; what
// runs is not, and that is said once.
func (c changes) edit(ctx context.Context, in chat.Inbound) error {
	all, err := c.desk.Inbox.Versions(ctx, in.Place.ID, in.Ref.ID)
	if err != nil {
		return fmt.Errorf("read the message that was edited: %w", err)
	}
	before := slices.DeleteFunc(all, func(v chat.Inbound) bool { return v.ID >= in.ID })
	switch {
	case len(before) == 0 && !in.Place.Direct && in.Addressed:
		return c.intake.text(ctx, in) // only now it was for the bot
	case len(before) == 0 && !in.Place.Direct: // talk of which the bot knew nothing: a better word makes it no request
		return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	case len(before) > 0 && same(newest(before).Message, in.Message):
		return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	if b, i := c.intake.bursts.with(in.Place.ID, in.Ref.ID); b != nil && b.author == authorOf(in) {
		row := &b.rows[i]
		row.Text, row.Files, row.Unread = in.Text, chat.RevisedFiles(row.Files, in.Files), in.Unread
		b.edits = append(b.edits, in.ID)
		return nil
	}
	old, err := c.asked(ctx, in)
	if err != nil {
		return err
	}
	if old.ID != 0 {
		return c.rewrite(ctx, in, old)
	}
	_, err = c.desk.Inbox.Revise(ctx, in.Place.ID, in.Ref.ID, in.Message)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	case chat.Missing:
		return c.late(ctx, in, "edit_late")
	default:
		return fmt.Errorf("revise message: %w", err)
	}
}

// rewrite takes the new text of a message that its author was asked about and
// that never ran, as a message of now.
func (c changes) rewrite(ctx context.Context, in, old chat.Inbound) error {
	if err := c.desk.Inbox.Settle(ctx, []int64{old.ID}, chat.InboundWithdrawn, chat.CodeNone, nil); err != nil {
		return fmt.Errorf("withdraw message: %w", err)
	}
	return c.intake.text(ctx, in)
}

// recall takes back an earlier message. What waits is removed.
func (c changes) recall(ctx context.Context, in chat.Inbound) error {
	done := []int64{in.ID}
	row, err := c.asked(ctx, in)
	if err != nil {
		return err
	}
	if b, i := c.intake.bursts.with(in.Place.ID, in.Ref.ID); b != nil {
		row = b.rows[i]
		if b.rows = slices.Delete(b.rows, i, i+1); len(b.rows) == 0 {
			c.intake.bursts.take(b.author)
			done = append(done, b.edits...)
		}
	}
	if row.ID != 0 {
		if err := c.desk.Inbox.Settle(ctx, []int64{row.ID}, chat.InboundWithdrawn, chat.CodeNone, nil); err != nil {
			return fmt.Errorf("withdraw message: %w", err)
		}
		return c.end.settleWith(ctx, in, done, chat.InboundDone, chat.CodeNone, nil)
	}
	turn, err := c.desk.Inbox.Recall(ctx, in.Place.ID, in.Ref.ID)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		c.left(ctx, turn)
		return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	case chat.Missing:
		if in.Kind == chat.KindGesture { // a sign on what runs, or ran, means nothing
			return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
		}
		return c.late(ctx, in, "recall_late")
	default:
		return fmt.Errorf("recall message: %w", err)
	}
}

// asked returns the message, among those that their author is asked about,
// that in changes; zero when it is none of them.
func (c changes) asked(ctx context.Context, in chat.Inbound) (chat.Inbound, error) {
	rows, err := c.desk.Inbox.Aged(ctx, in.Place.ID)
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
func (c changes) left(ctx context.Context, turn int64) {
	if t, err := c.desk.Turns.TurnByID(ctx, turn); err == nil && t.State.Final() {
		c.desk.notices.over(turn, chat.SignNone)
		c.desk.voice.Wake(t.Place)
		c.desk.lanes.rouse(0)
	}
}

// late ends a change that came when its message ran already: said once for a
// turn, and not at all when the turn is over.
func (c changes) late(ctx context.Context, in chat.Inbound, key string) error {
	t, err := c.desk.History.TurnOfMessage(ctx, in.Place.ID, in.Ref.ID)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return fmt.Errorf("find the turn of the message: %w", err)
	}
	if err != nil || t.State.Final() {
		return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	conv, err := c.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	text := i18n.T(c.desk.lang(conv, in.Sender), "router."+key)
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: text, ReplyTo: in.Ref}
	if in.Kind == chat.KindEdit {
		r.Buttons = c.offer(t, in, c.desk.lang(conv, in.Sender))
	} else {
		r.ReplyTo = chat.Ref{} // it is not there any more
		stop := chat.Button{Label: i18n.T(c.desk.lang(conv, in.Sender), "router.button_stop"), Data: fmt.Sprintf("stop:%d", t.ID), Style: "danger"}
		r.Buttons = [][]chat.Button{{stop}}
	}
	outs := c.desk.voice.Compose(in.Place, 0, fmt.Sprintf("%s/%d", key, t.ID), chat.OutNotice, r)
	return c.end.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, outs)
}
