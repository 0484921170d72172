package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
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
// The wishes for model and mode are those that it was opened with: others would
// not be true of it.
func goTo(ctx context.Context, s *Set, c Call, n int64, first string) (Result, error) {
	before := c.Conv.Session
	if n == before {
		return c.say("use_already", "session", n), nil
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
	c.Conv.Model, c.Conv.Mode = sess.Model, sess.Mode
	if err := s.Conversations.Set(ctx, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep wishes: %w", err)
	}
	return replaced(ctx, s, c, before, first+c.text("use", "session", n, "agent", s.agentTitle(sess.Agent), "workspace", s.workspaceName(sess.Workspace)))
}
