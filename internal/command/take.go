package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// mostForeign bounds the sessions from elsewhere in a list.
const mostForeign = 5

// foreign are the sessions that the conversation's agent keeps for its
// workspace and that no conversation has. Operators only: somebody's work in a
// terminal is not a chat's.
func foreign(ctx context.Context, s *Set, c Call) ([]worker.Native, error) {
	if !c.In.Role.Covers(chat.RoleOperator) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := s.Agents.Natives(ctx, c.Conv.Agent, c.Conv.Workspace)
	if chat.CodeOf(err) == chat.Unsupported {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the agent's sessions: %w", err)
	}
	known, err := s.Conversations.Natives(ctx, c.Conv.Agent, c.Conv.Workspace)
	if err != nil {
		return nil, fmt.Errorf("read native ids: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(n worker.Native) bool { return slices.Contains(known, n.ID) }), nil
}

// foreignLines shows them, for the end of /sessions.
func foreignLines(ctx context.Context, s *Set, c Call) (lines []string, rows [][]chat.Button) {
	all, err := foreign(ctx, s, c)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "sessions of an agent not listed", "agent", c.Conv.Agent, "err", err)
		return []string{"", c.text("foreign_unknown", "agent", s.agentTitle(c.Conv.Agent))}, nil
	}
	if len(all) == 0 {
		return nil, nil
	}
	lines = []string{"", c.text("foreign", "agent", s.agentTitle(c.Conv.Agent))}
	for i, n := range all {
		if i == mostForeign {
			lines = append(lines, "…")
			break
		}
		tag := nativeTag(n.ID)
		title := clip(n.Title)
		if title == "" {
			title = c.text("session_empty")
		}
		lines = append(lines, fmt.Sprintf("%s · %s · %s", tag[:6], title, c.ago(time.Since(n.Used))))
		rows = addButton(rows, 3, chat.Button{Label: c.text("button_take", "tag", tag[:6]), Data: "take:" + tag})
	}
	return lines, rows
}

// nativeTag names an agent's session in a button: ids are too long, or paths.
func nativeTag(native string) string {
	sum := sha256.Sum256([]byte(native))
	return hex.EncodeToString(sum[:8])
}

// take is /take id and [Take over]: a session that was begun elsewhere goes on
// here.
func take(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return sessions(ctx, s, c)
	}
	all, err := foreign(ctx, s, c)
	if err != nil {
		return Result{}, chat.E(chat.Unavailable, "", err)
	}
	i := slices.IndexFunc(all, func(n worker.Native) bool {
		return n.ID == c.Arg || len(c.Arg) >= 6 && strings.HasPrefix(nativeTag(n.ID), strings.ToLower(c.Arg))
	})
	if i < 0 {
		return c.say("take_gone"), nil
	}
	made, err := s.Conversations.StartSession(ctx, chat.NewSession{
		Conversation: c.Conv.ID, Agent: c.Conv.Agent, Workspace: c.Conv.Workspace, NativeID: all[i].ID,
		Model: c.Conv.Model, Mode: c.Conv.Mode, Effort: c.Conv.Effort, Title: clip(all[i].Title), Cause: c.In.ID,
	})
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Conflict:
		return c.say("take_gone"), nil
	default:
		return Result{}, fmt.Errorf("take session over: %w", err)
	}
	before := c.Conv.Session
	c.Conv.Session = made.ID
	if before != 0 {
		s.Desk.Retire(before)
	}
	return replaced(ctx, s, c, before, c.text("taken", "session", made.ID, "title", made.Title))
}
