package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// clearQueue is [Clear], which removes what is held, and /queue clear, which
// removes all that waits. Members remove their own messages only.
func clearQueue(ctx context.Context, s *Set, c Call) (Result, error) {
	session, err := owned(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	waiting, err := s.Turns.Queued(ctx, session)
	if err != nil {
		return Result{}, fmt.Errorf("read queue: %w", err)
	}
	removed, others := 0, 0
	for _, t := range waiting {
		switch {
		case c.clicked() && !t.Held:
		case !may(c, t):
			others++
		default:
			if err := s.Queue.Withdraw(ctx, t.ID, nil); err == nil {
				removed++
			} else if chat.CodeOf(err) != chat.Conflict { // it has started meanwhile
				return Result{}, fmt.Errorf("withdraw turn %d: %w", t.ID, err)
			}
		}
	}
	r := c.say("queue_cleared", "n", removed)
	if others > 0 {
		r = c.say("queue_cleared_own", "n", removed, "others", others)
	}
	r.Wake = session
	return r, nil
}
