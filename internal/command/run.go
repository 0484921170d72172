package command

import (
	"context"
	"fmt"
)

// release is [Run] and /queue run: what was held runs.
func release(ctx context.Context, s *Set, c Call) (Result, error) {
	session, err := owned(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	n, err := s.Queue.Release(ctx, session)
	if err != nil {
		return Result{}, fmt.Errorf("release queue: %w", err)
	}
	if n == 0 {
		return c.say("queue_none_held"), nil
	}
	r := c.say("queue_runs", "n", n)
	r.Wake = session
	return r, nil
}
