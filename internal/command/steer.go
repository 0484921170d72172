package command

import (
	"context"
	"fmt"

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
		agent, err := s.agentOf(ctx, running[0])
		return c.say("instead_cannot", "agent", agent), err
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
	return steered(ctx, s, c, wake, said)
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
		return steered(ctx, s, c, t.Session, said)
	case chat.Conflict:
		return c.say("cancel_late", "n", t.ID), nil
	default:
		return Result{}, err
	}
}

// steered says what became of words that were to be put in, and has the queue
// of their session looked at.
func steered(ctx context.Context, s *Set, c Call, session int64, said Steering) (Result, error) {
	var r Result
	if said == SteerCannot { // the rest is told when it is known, or needs no words
		agent, err := s.agentOf(ctx, session)
		if err != nil {
			return Result{}, err
		}
		r = c.say("steer_cannot", "agent", agent)
	}
	r.Wake = session
	return r, nil
}

// agentOf is the name, for people, of the agent of a session. It need not be
// that of the conversation, which may have been changed while a turn runs.
func (s *Set) agentOf(ctx context.Context, session int64) (string, error) {
	x, err := s.Conversations.SessionByID(ctx, session)
	if err != nil {
		return "", fmt.Errorf("read session: %w", err)
	}
	return s.agentTitle(x.Agent), nil
}
