package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Refusal returns what c would be told if it were carried out now, when it
// would come to nothing: its button is of no use any more (spent), or whoever
// pressed it may not do that. An empty text: as far as is known, nothing speaks
// against it. It changes nothing, and an error is trouble of ours.
func (s *Set) Refusal(ctx context.Context, c Call) (text string, spent bool, err error) {
	p, ok := s.find(c.Name)
	if !ok {
		return "", false, nil
	}
	if !c.In.Role.Covers(p.least) {
		return "", false, chat.E(chat.Denied, "", nil)
	}
	if p.check == nil {
		return "", false, nil
	}
	r, err := p.check(ctx, s, c)
	if err != nil || r == nil || len(r.Replies) == 0 {
		return "", false, err
	}
	return r.Replies[0].Markdown, true, nil
}

// refused is the answer of a check that finds something.
func (c Call) refused(key string, args ...any) (*Result, error) {
	r := c.say(key, args...)
	return &r, nil
}

// stoppable checks [Stop].
func stoppable(ctx context.Context, s *Set, c Call) (*Result, error) {
	t, err := turnOf(ctx, s, c, c.Arg)
	if err != nil || !t.State.Final() {
		return nil, err
	}
	return c.refused("stop_over")
}

// removable checks what can be done about one waiting turn.
func removable(ctx context.Context, s *Set, c Call) (*Result, error) {
	t, err := turnOf(ctx, s, c, c.Arg)
	switch {
	case err != nil:
		return nil, err
	case !may(c, t):
		return nil, chat.E(chat.Denied, "", nil)
	case t.State != chat.TurnQueued:
		return c.refused("cancel_late", "n", t.ID)
	}
	return nil, nil
}

// chooseable checks [Retry] and [Drop].
func chooseable(ctx context.Context, s *Set, c Call) (*Result, error) {
	_, r, err := ended(ctx, s, c)
	return r, err
}

// renewable checks what is offered about a session that its agent has lost.
func renewable(ctx context.Context, s *Set, c Call) (*Result, error) {
	c.Arg, _, _ = strings.Cut(c.Arg, ":")
	return chooseable(ctx, s, c)
}

// continuable checks [Continue].
func continuable(ctx context.Context, s *Set, c Call) (*Result, error) {
	t, r, err := ended(ctx, s, c)
	if err != nil || r != nil || t.State != chat.TurnSucceeded {
		return r, err
	}
	return c.refused("continue_none")
}

// releasable checks [Run].
func releasable(ctx context.Context, s *Set, c Call) (*Result, error) {
	session, err := owned(ctx, s, c)
	if err != nil {
		return nil, err
	}
	waiting, err := s.Turns.Queued(ctx, session)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read queue: %w", err)
	case !slices.ContainsFunc(waiting, func(t chat.Turn) bool { return t.Held }):
		return c.refused("queue_none_held")
	}
	return nil, nil
}

// mine checks what is about a session of the conversation.
func mine(ctx context.Context, s *Set, c Call) (*Result, error) {
	_, err := owned(ctx, s, c)
	return nil, err
}

// usable checks the buttons of /sessions, and [Undo].
func usable(ctx context.Context, s *Set, c Call) (*Result, error) {
	n, err := number(c.Arg)
	if err != nil {
		return nil, err
	}
	if n == c.Conv.Session {
		return c.refused("use_already", "session", n)
	}
	sess, err := s.Conversations.SessionByID(ctx, n)
	switch {
	case chat.CodeOf(err) == chat.Missing, err == nil && sess.Conversation != c.Conv.ID:
		return c.refused("use_missing", "session", n)
	case err != nil:
		return nil, fmt.Errorf("read session: %w", err)
	case sess.State == chat.SessionLost:
		return c.refused("use_lost", "session", n)
	}
	return dangerous(ctx, s, c, n)
}

// allowed checks the buttons of a setting.
func (p setting) allowed(_ context.Context, s *Set, c Call) (*Result, error) {
	name, err := word(c.Arg)
	if err != nil {
		return nil, err
	}
	offered := p.offered(s, c)
	if name == defaultName && !slices.Contains(offered, name) {
		name = ""
	}
	if r, no := p.refuse(s, c, name, offered); no {
		return &r, nil
	}
	return nil, nil
}

// compactable checks [Compact].
func compactable(ctx context.Context, s *Set, c Call) (*Result, error) {
	if _, err := turnOf(ctx, s, c, c.Arg); err != nil {
		return nil, err
	}
	a := s.agent(c.Conv.Agent)
	if len(a.Can) > 0 && !a.Can.Has(worker.Compact) && !s.Passes(Call{Conv: c.Conv, Name: "compact"}) {
		return c.refused("compact_cannot", "agent", a.Title)
	}
	return nil, nil
}

// settable checks the buttons of a setting of the chat.
func settable(_ context.Context, _ *Set, c Call) (*Result, error) {
	if !c.In.Role.Covers(chat.RoleOperator) {
		return nil, chat.E(chat.Denied, "", nil)
	}
	return nil, nil
}
