package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// cancel is /cancel n and [Remove]: one waiting turn is taken back.
func cancel(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return queue(ctx, s, c)
	}
	t, err := turnOf(ctx, s, c, c.Arg)
	if err != nil {
		return Result{}, err
	}
	if !may(c, t) {
		return failed(chat.Denied, "")
	}
	switch err := s.Queue.Withdraw(ctx, t.ID, nil); {
	case err == nil, t.State == chat.TurnWithdrawn:
		r := c.say("cancel", "n", t.ID, "text", clip(summary(t.Input)))
		r.Wake = t.Session // a turn may have waited for this one
		return r, nil
	case chat.CodeOf(err) == chat.Conflict:
		return c.say("cancel_late", "n", t.ID), nil
	default:
		return Result{}, fmt.Errorf("withdraw turn: %w", err)
	}
}

// turnOf returns the turn that arg names; it must be the conversation's own.
func turnOf(ctx context.Context, s *Set, c Call, arg string) (chat.Turn, error) {
	n, err := number(arg)
	if err != nil {
		return chat.Turn{}, err
	}
	t, err := s.Turns.TurnByID(ctx, n)
	if err != nil {
		return t, fmt.Errorf("read turn: %w", err)
	}
	if t.Conversation != c.Conv.ID {
		return chat.Turn{}, chat.E(chat.Missing, "", nil)
	}
	return t, nil
}

// may reports whether the caller may take back or repeat t: it is theirs, or
// nobody's, or they are an operator.
func may(c Call, t chat.Turn) bool {
	return c.In.Role.Covers(chat.RoleOperator) || t.By.ID == "" || t.By.ID == c.In.Sender.ID
}
