package command

import (
	"context"

	"cligate/internal/chat"
)

// steer is /steer text: the words go into the turn that runs, where the agent
// takes some; otherwise they wait their turn.
func steer(ctx context.Context, s *Set, c Call) (Result, error) { return putIn(ctx, s, c, false) }

// instead is /instead text: the running turn drops what it does and goes on
// with the words. An agent that cannot do that is not given them at all: they
// mean something else after what they were to replace.
func instead(ctx context.Context, s *Set, c Call) (Result, error) { return putIn(ctx, s, c, true) }

// putIn gives words to the running turn.
func putIn(ctx context.Context, s *Set, c Call, now bool) (Result, error) {
	if c.Arg == "" && len(c.In.Files) == 0 {
		if now {
			return c.say("instead_what"), nil
		}
		return c.say("steer_what"), nil
	}
	running, err := s.Desk.Running(ctx, c.Conv)
	if err != nil {
		return Result{}, err
	}
	if now && len(running) > 0 && !s.Desk.Replaces(running[0]) {
		return c.say("instead_cannot", "agent", s.agentTitle(c.Conv.Agent)), nil
	}
	req := Request{Call: c, Bound: true, Instead: now, Input: chat.Input{Pieces: []chat.Piece{
		{Inbound: c.In.ID, Quote: c.In.Quote, Text: c.Arg, Files: c.In.Files},
	}}}
	if len(running) > 0 {
		req.Session = running[0]
	}
	wake, said, err := s.Desk.Steer(ctx, req)
	if err != nil {
		return Result{}, err
	}
	return steered(s, c, wake, said), nil
}

// now is [Now]: a turn that waits goes into the one that runs.
func now(ctx context.Context, s *Set, c Call) (Result, error) {
	t, err := turnOf(ctx, s, c, c.Arg)
	if err != nil {
		return Result{}, err
	}
	switch {
	case !may(c, t):
		return failed(chat.Denied, "")
	case t.State != chat.TurnQueued:
		return c.say("cancel_late", "n", t.ID), nil
	}
	said, err := s.Desk.Give(ctx, t)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		if said == SteerIdle {
			return c.say("steer_idle"), nil
		}
		return steered(s, c, t.Session, said), nil
	case chat.Conflict:
		return c.say("cancel_late", "n", t.ID), nil
	default:
		return Result{}, err
	}
}

// steered says what became of words that were to be put in.
func steered(s *Set, c Call, wake int64, said Steering) Result {
	var r Result
	if said == SteerCannot { // the rest is told when it is known, or needs no words
		r = c.say("steer_cannot", "agent", s.agentTitle(c.Conv.Agent))
	}
	r.Wake = wake
	return r
}
