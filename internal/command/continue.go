package command

import (
	"context"

	"cligate/internal/chat"
)

// resume is /continue and [Continue]: a new turn that goes on where the named
// one was interrupted.
func resume(ctx context.Context, s *Set, c Call) (Result, error) {
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil {
		return deref(r), err
	}
	if t.State == chat.TurnSucceeded {
		return c.say("continue_none"), nil
	}
	in := chat.Input{Pieces: []chat.Piece{{Text: c.text("continue_prompt")}}}
	return choose(ctx, s, c, t, choiceContinue, in)
}
