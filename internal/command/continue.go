package command

import (
	"context"

	"cligate/internal/chat"
)

// resume is /continue and [Continue]: a new turn that goes on where the named
// one was interrupted. Where others ran since then, the agent and the author are
// told which one that is.
func resume(ctx context.Context, s *Set, c Call) (Result, error) {
	t, no, err := ended(ctx, s, c)
	if err != nil || no != nil {
		return deref(no), err
	}
	if t.State == chat.TurnSucceeded {
		return c.say("continue_none"), nil
	}
	prompt, told := c.text("continue_prompt"), Result{}
	if s.overtaken(ctx, t) {
		prompt = c.text("continue_prompt_of", "text", summary(t.Input))
		told = c.say("continue_of", "n", t.ID, "text", clip(summary(t.Input)))
	}
	r, err := choose(ctx, s, c, t, choiceContinue, chat.Input{Pieces: []chat.Piece{{Text: prompt}}})
	r.Replies = told.Replies
	return r, err
}
