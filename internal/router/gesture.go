package router

import (
	"context"
	"fmt"
	"strconv"

	"cligate/internal/chat"
)

// gesture takes a sign that somebody put on a message that waits. Only its
// author and operators are obeyed; on everything else it means nothing, and
// nothing is said about it: people react to messages for many reasons.
func (c changes) gesture(ctx context.Context, in chat.Inbound) error {
	done := func() error { return c.end.settle(ctx, in, chat.InboundDone, chat.CodeNone) }
	all, err := c.desk.Inbox.Versions(ctx, in.Place.ID, in.Ref.ID)
	switch {
	case err != nil:
		return fmt.Errorf("find the message of a gesture: %w", err)
	case len(all) == 0, all[0].Sender.ID != in.Sender.ID && !in.Role.Covers(chat.RoleOperator):
		return done()
	}
	if chat.Gesture(in.Data) == chat.GestureRemove {
		return c.recall(ctx, in)
	}
	t, err := c.desk.History.TurnOfMessage(ctx, in.Place.ID, in.Ref.ID)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return done()
	case err != nil:
		return fmt.Errorf("find the turn of a message: %w", err)
	case t.State != chat.TurnQueued:
		return done()
	}
	return c.intake.command(ctx, in, "now", strconv.FormatInt(t.ID, 10))
}
