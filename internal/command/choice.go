package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// What can be chosen about a turn that did not come to its natural end.
const (
	choiceContinue = "continue"
	choiceRetry    = "retry"
	choiceRenew    = "renew"
	choiceDrop     = "drop"
)

func deref(r *Result) Result {
	if r == nil {
		return Result{}
	}
	return *r
}

// ended returns the turn that the call is about, the last one of the session
// when it names none. A result instead of a turn says why there is none to
// choose about.
func ended(ctx context.Context, s *Set, c Call) (chat.Turn, *Result, error) {
	refuse := func(key string, args ...any) (chat.Turn, *Result, error) {
		r := c.say(key, args...)
		return chat.Turn{}, &r, nil
	}
	var t chat.Turn
	var err error
	switch {
	case c.Arg != "":
		t, err = turnOf(ctx, s, c, c.Arg)
	case c.Conv.Session == 0:
		return refuse("retry_none")
	default:
		t, err = s.latest(ctx, c)
		if chat.CodeOf(err) == chat.Missing {
			return refuse("retry_none")
		}
	}
	switch {
	case err != nil:
		return t, nil, fmt.Errorf("read turn: %w", err)
	case !t.State.Final():
		return refuse("retry_runs")
	case t.Choice != "":
		return refuse("chosen", "choice", c.text("choice_"+t.Choice))
	case !may(c, t):
		return t, nil, chat.E(chat.Denied, "", nil)
	}
	return t, nil, nil
}

// latest is the turn that a command is about which names none: the last one of
// the session. Where that leaves nothing to continue or to drop, it is the
// newest one that was cut off and is still open, whatever was said since.
func (s *Set) latest(ctx context.Context, c Call) (chat.Turn, error) {
	t, err := s.Turns.LastRun(ctx, c.Conv.Session)
	if err != nil || c.Name != "continue" && c.Name != "drop" {
		return t, err
	}
	if t.State.Final() && t.State != chat.TurnSucceeded && t.Choice == "" {
		return t, nil
	}
	open, err := s.Turns.CutOff(ctx, c.Conv.Session)
	if chat.CodeOf(err) == chat.Missing {
		return t, nil
	}
	return open, err
}

// overtaken reports whether other turns of the session ran since t.
func (s *Set) overtaken(ctx context.Context, t chat.Turn) bool {
	last, err := s.Turns.LastRun(ctx, t.Session)
	return err == nil && last.ID != t.ID
}

// choose orders the turn that continues or repeats t, in t's session, and
// notes the choice: in this order, so that a refused turn leaves the buttons
// alive. Calls for one conversation come one after the other.
func choose(ctx context.Context, s *Set, c Call, t chat.Turn, choice string, in chat.Input) (Result, error) {
	req := Request{Call: c, Input: in, Session: t.Session, Names: t.ID}
	switch sess, err := s.Conversations.SessionByID(ctx, t.Session); {
	case err != nil:
		return Result{}, fmt.Errorf("read session: %w", err)
	case sess.State != chat.SessionOpen:
		req.Session = 0
	}
	wake, err := s.Desk.Submit(ctx, req)
	if err != nil {
		return Result{}, err
	}
	if err := note(ctx, s, t, choice); err != nil {
		return Result{}, err
	}
	return Result{Wake: wake, Chosen: t.ID}, nil
}

// note keeps the choice. A turn that offers none (it succeeded) is left alone.
func note(ctx context.Context, s *Set, t chat.Turn, choice string) error {
	switch err := s.Queue.Choose(ctx, t.ID, choice); chat.CodeOf(err) {
	case chat.CodeNone, chat.Conflict, chat.Missing:
		return nil
	default:
		return fmt.Errorf("note choice: %w", err)
	}
}
