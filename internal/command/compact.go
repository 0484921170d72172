package command

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// compact is /compact [what to keep] and [Compact]: the agent shortens its
// memory of the session, by a command of its own.
func compact(ctx context.Context, s *Set, c Call) (Result, error) {
	session, about := int64(0), c.Arg
	if c.clicked() {
		t, err := turnOf(ctx, s, c, c.Arg)
		if err != nil {
			return Result{}, err
		}
		session, about = t.Session, ""
	}
	a := s.agent(c.Conv.Agent)
	if len(a.Can) > 0 && !a.Can.Has(worker.Compact) && !s.Passes(Call{Conv: c.Conv, Name: "compact"}) {
		return c.say("compact_cannot", "agent", a.Title), nil
	}
	text := "/compact"
	if about != "" {
		text += " " + about
	}
	in := chat.Input{Pieces: []chat.Piece{{Inbound: c.In.ID, Text: text}}}
	wake, err := s.Desk.Submit(ctx, Request{Call: c, Input: in, Session: session})
	return Result{Wake: wake}, err
}
