package command

import (
	"context"
	"fmt"
)

// undo is /undo and the [Undo] button: back to the session before the last
// replacement.
func undo(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.clicked() {
		return use(ctx, s, c)
	}
	if c.Conv.Previous == 0 {
		return c.say("undo_none"), nil
	}
	cur, err := s.Conversations.SessionByID(ctx, c.Conv.Session)
	if err != nil {
		return Result{}, fmt.Errorf("read session: %w", err)
	}
	// An earlier session that came into use after this command was stored: the
	// command was carried out before the daemon died. Once more would turn it
	// into its opposite.
	if cur.CreatedAt.Before(c.In.At) && !cur.UsedAt.Before(c.In.At) {
		return c.say("use_already", "session", cur.ID), nil
	}
	return goTo(ctx, s, c, c.Conv.Previous, "")
}
