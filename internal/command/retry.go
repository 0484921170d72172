package command

import (
	"context"
)

// retry is /retry and [Retry]: the same input once more. Where other turns ran
// since then, its author is told which one that is.
func retry(ctx context.Context, s *Set, c Call) (Result, error) {
	t, no, err := ended(ctx, s, c)
	if err != nil || no != nil {
		return deref(no), err
	}
	in := again(t.Input)
	if len(in.Pieces) == 0 {
		return c.say("retry_none"), nil
	}
	told := Result{}
	if s.overtaken(ctx, t) {
		told = c.say("retry_of", "n", t.ID, "text", clip(summary(t.Input)))
	}
	r, err := choose(ctx, s, c, t, choiceRetry, in)
	r.Replies = told.Replies
	return r, err
}
