package command

import (
	"context"

	"cligate/internal/chat"
)

// planMode is how agents call the mode in which they plan and change nothing.
const planMode = "plan"

// plan is /plan [text]: the agent plans before it acts; text is the first
// thing to plan.
func plan(ctx context.Context, s *Set, c Call) (Result, error) {
	text := c.Arg
	c.Arg = planMode
	r, err := modeSetting().run(ctx, s, c)
	if err != nil || text == "" && len(c.In.Files) == 0 {
		return r, err
	}
	if conv, err := s.Conversations.ConversationByID(ctx, c.Conv.ID); err != nil || conv.Mode != planMode {
		return r, err // it cannot plan: nothing is run in another mode instead
	}
	in := chat.Input{Pieces: []chat.Piece{{Inbound: c.In.ID, Quote: c.In.Quote, Text: text, Files: c.In.Files}}}
	r.Wake, err = s.Desk.Submit(ctx, Request{Call: c, Input: in})
	return r, err
}
