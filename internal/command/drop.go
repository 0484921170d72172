package command

import "context"

// drop is [Drop]: the turn is left as it is.
func drop(ctx context.Context, s *Set, c Call) (Result, error) {
	t, no, err := ended(ctx, s, c)
	if err != nil || no != nil {
		return deref(no), err
	}
	if err := note(ctx, s, t, choiceDrop); err != nil {
		return Result{}, err
	}
	r := c.say("dropped")
	if s.overtaken(ctx, t) {
		r = c.say("dropped_of", "n", t.ID, "text", clip(summary(t.Input)))
	}
	r.Chosen = t.ID
	return r, nil
}
