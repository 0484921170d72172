package command

import (
	"context"

	"cligate/internal/worker"
)

// fork is /fork [text]: a new session that knows all that was said in the
// current one, which stays as it is; text is its first message.
func fork(ctx context.Context, s *Set, c Call) (Result, error) {
	cur, used, err := current(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	origin := cur.NativeID
	if !used { // a fork in which nothing was said yet is what is wanted, once more
		origin = cur.Fork
	}
	if !cur.Serves(c.Conv) || origin == "" {
		return c.say("fork_none"), nil
	}
	if a := s.agent(c.Conv.Agent); len(a.Can) > 0 && !a.Can.Has(worker.Fork) {
		return c.say("fork_cannot", "agent", a.Title), nil
	}
	return begin(ctx, s, c, "fork", origin)
}
