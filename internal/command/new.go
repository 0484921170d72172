package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// fresh is /new [text]: a new session; text is its first message.
func fresh(ctx context.Context, s *Set, c Call) (Result, error) { return begin(ctx, s, c, "new", "") }

// begin makes a new session, a fork of the agent's session of that id if there
// is one, says so, and gives it the words that came with the command.
func begin(ctx context.Context, s *Set, c Call, says, fork string) (Result, error) {
	before, err := replace(ctx, s, &c, clip(c.Arg), fork)
	if err != nil {
		return Result{}, err
	}
	r, err := replaced(ctx, s, c, before, c.text(says, "session", c.Conv.Session))
	if err != nil {
		return Result{}, err
	}
	if c.Arg == "" && len(c.In.Files) == 0 {
		return r, nil
	}
	in := chat.Input{Pieces: []chat.Piece{{Inbound: c.In.ID, Quote: c.In.Quote, Text: c.Arg, Files: c.In.Files}}}
	r.Wake, err = s.Desk.Submit(ctx, Request{Call: c, Input: in, Session: c.Conv.Session})
	return r, err
}

// replace makes a new session, by the wishes of c.Conv, the current one; c.Conv
// follows. It returns the session that was current before, 0 when there was
// none worth returning to: one without a single turn is kept instead of being
// replaced.
func replace(ctx context.Context, s *Set, c *Call, title, fork string) (before int64, err error) {
	cur, used, err := current(ctx, s, *c)
	if err != nil {
		return 0, err
	}
	if !used && cur.Serves(c.Conv) {
		return c.Conv.Previous, nil
	}
	made, err := s.Conversations.StartSession(ctx, chat.NewSession{
		Conversation: c.Conv.ID, Agent: c.Conv.Agent, Workspace: c.Conv.Workspace,
		Model: c.Conv.Model, Mode: c.Conv.Mode, Effort: c.Conv.Effort, Title: title, Fork: fork, Cause: c.In.ID,
	})
	if err != nil {
		return 0, fmt.Errorf("start session: %w", err)
	}
	before = c.Conv.Previous // it was made before the daemon died
	if made.ID != c.Conv.Session {
		before = c.Conv.Session
	}
	c.Conv.Session, c.Conv.Previous = made.ID, before
	if before != 0 {
		s.Desk.Retire(before)
	}
	return before, nil
}

// current returns the conversation's session, zero when there is none, and
// whether it ever had a turn.
func current(ctx context.Context, s *Set, c Call) (cur chat.Session, used bool, err error) {
	if c.Conv.Session == 0 {
		return chat.Session{}, false, nil
	}
	if cur, err = s.Conversations.SessionByID(ctx, c.Conv.Session); err != nil {
		return cur, false, fmt.Errorf("read session: %w", err)
	}
	switch _, err = s.Turns.LastTurn(ctx, cur.ID); chat.CodeOf(err) {
	case chat.CodeNone:
		return cur, true, nil
	case chat.Missing:
		return cur, false, nil
	default:
		return cur, false, fmt.Errorf("read last turn: %w", err)
	}
}

// replaced tells that the session was replaced: Undo, and that the turn of
// the earlier one goes on. row is what else is offered.
func replaced(ctx context.Context, s *Set, c Call, before int64, text string, row ...chat.Button) (Result, error) {
	if before == 0 {
		return notice(text), nil
	}
	switch t, err := s.Turns.Active(ctx, before); chat.CodeOf(err) {
	case chat.CodeNone:
		text += "\n" + c.text("old_goes_on")
		row = append(row, chat.Button{Label: c.text("button_stop"), Data: id("stop", t.ID), Style: "danger"})
	case chat.Missing:
	default:
		return Result{}, fmt.Errorf("read running turn: %w", err)
	}
	row = append(row, chat.Button{Label: c.text("button_undo"), Data: id("undo", before)})
	return notice(text, row), nil
}
