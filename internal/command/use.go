package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// use is /use n and the buttons of /sessions: an earlier session becomes
// current.
func use(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return sessions(ctx, s, c)
	}
	n, err := number(c.Arg)
	if err != nil {
		return Result{}, err
	}
	return goTo(ctx, s, c, n, "")
}

// goTo makes an earlier session current and says so, after what is said first.
// The wishes are those that it was opened with: others would not be true of it.
func goTo(ctx context.Context, s *Set, c Call, n int64, first string) (Result, error) {
	before := c.Conv.Session
	if n == before {
		return c.say("use_already", "session", n), nil
	}
	if r, err := dangerous(ctx, s, c, n); r != nil || err != nil {
		return deref(r), err
	}
	sess, err := s.Conversations.UseSession(ctx, c.Conv.ID, n)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.NoSession:
		return c.say("use_lost", "session", n), nil
	case chat.Missing:
		return c.say("use_missing", "session", n), nil
	default:
		return Result{}, fmt.Errorf("use session: %w", err)
	}
	c.Conv.Agent, c.Conv.Workspace = sess.Agent, sess.Workspace
	c.Conv = c.Conv.Wish(sess.Wishes())
	return replaced(ctx, s, c, before, first+c.text("use", "session", n, "agent", s.agentTitle(sess.Agent), "workspace", s.workspaceName(sess.Workspace)))
}

// dangerous refuses to return to a session in which the agent acts without
// asking, unless the owner does.
func dangerous(ctx context.Context, s *Set, c Call, n int64) (*Result, error) {
	if c.In.Role.Covers(chat.RoleOwner) {
		return nil, nil
	}
	sess, err := s.Conversations.SessionByID(ctx, n)
	switch {
	case chat.CodeOf(err) == chat.Missing, err == nil && (sess.Conversation != c.Conv.ID || !worker.Unasked(sess.Mode)):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read session: %w", err)
	}
	r := c.say("mode_owner", "mode", sess.Mode, "agent", s.agentTitle(sess.Agent))
	return &r, nil
}
