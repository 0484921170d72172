package command

import (
	"context"
)

// retry is /retry and [Retry]: the same input once more.
func retry(ctx context.Context, s *Set, c Call) (Result, error) {
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil {
		return deref(r), err
	}
	in := again(t.Input)
	if len(in.Pieces) == 0 {
		return c.say("retry_none"), nil
	}
	return choose(ctx, s, c, t, choiceRetry, in)
}
