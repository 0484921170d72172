package command

import (
	"context"
	"fmt"
	"strings"

	"cligate/internal/chat"
)

// renew is [New session, with a recap] and [New session, empty]: what to do
// about a session that its agent has lost. The turn that found it out is run in
// the new one; what was held behind it stays so.
func renew(ctx context.Context, s *Set, c Call) (Result, error) {
	ref, how, _ := strings.Cut(c.Arg, ":")
	c.Arg = ref
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil {
		return deref(r), err
	}
	if t.Reason != chat.NoSession {
		return c.say("retry_none"), nil
	}
	next, err := s.Conversations.Lose(ctx, t.Session)
	if err != nil {
		return Result{}, fmt.Errorf("replace lost session: %w", err)
	}
	if how == "empty" {
		if err := s.Conversations.Recapped(ctx, next.ID); err != nil {
			return Result{}, fmt.Errorf("leave the recap out: %w", err)
		}
	}
	wake, err := s.Desk.Submit(ctx, Request{Call: c, Input: again(t.Input), Session: next.ID, Names: t.ID})
	if err != nil {
		return Result{}, err
	}
	if err := note(ctx, s, t, choiceRenew); err != nil {
		return Result{}, err
	}
	res := c.say("new", "session", next.ID)
	res.Wake, res.Chosen = wake, t.ID
	return res, nil
}

// again is the same input once more; its messages stay bound to the old turn.
func again(in chat.Input) chat.Input {
	pieces := make([]chat.Piece, len(in.Pieces))
	copy(pieces, in.Pieces)
	for i := range pieces {
		pieces[i].Inbound = 0
	}
	return chat.Input{Pieces: pieces}
}
