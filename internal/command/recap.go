package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// recap is [With a recap]: a new session begins with what was said before it.
func recap(ctx context.Context, s *Set, c Call) (Result, error) {
	session, err := owned(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	switch _, err := s.Turns.LastTurn(ctx, session); chat.CodeOf(err) {
	case chat.CodeNone:
		return c.say("recap_late", "agent", c.Conv.Agent), nil
	case chat.Missing:
	default:
		return Result{}, fmt.Errorf("read last turn: %w", err)
	}
	if err := s.Conversations.Recap(ctx, session); err != nil {
		return Result{}, fmt.Errorf("order a recap: %w", err)
	}
	return c.say("recap_set"), nil
}
