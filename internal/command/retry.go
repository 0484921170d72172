package command

import (
	"context"

	"cligate/internal/chat"
)

// retry is /retry and [Retry]: the same input once more.
func retry(ctx context.Context, s *Set, c Call) (Result, error) {
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil {
		return deref(r), err
	}
	in := chat.Input{Pieces: make([]chat.Piece, len(t.Input.Pieces))}
	copy(in.Pieces, t.Input.Pieces)
	for i := range in.Pieces {
		in.Pieces[i].Inbound = 0 // the messages stay bound to the old turn
	}
	if len(in.Pieces) == 0 {
		return c.say("retry_none"), nil
	}
	return choose(ctx, s, c, t, choiceRetry, in)
}
