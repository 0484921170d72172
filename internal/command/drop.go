package command

import "context"

// drop is [Drop]: the turn is left as it is.
func drop(ctx context.Context, s *Set, c Call) (Result, error) {
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil {
		return deref(r), err
	}
	if err := note(ctx, s, t, choiceDrop); err != nil {
		return Result{}, err
	}
	if s.overtaken(ctx, t) {
		return c.say("dropped_of", "n", t.ID, "text", clip(summary(t.Input))), nil
	}
	return c.say("dropped"), nil
}
