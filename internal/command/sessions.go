package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
)

const pageSize = 10

// sessions is /sessions [page]: the conversation's sessions, last used first;
// then those that the agent keeps from elsewhere.
func sessions(ctx context.Context, s *Set, c Call) (Result, error) {
	page := int64(1)
	if c.Arg != "" {
		var err error
		if page, err = number(c.Arg); err != nil {
			return Result{}, err
		}
	}
	all, err := s.Conversations.Sessions(ctx, c.Conv.ID)
	if err != nil {
		return Result{}, fmt.Errorf("read sessions: %w", err)
	}
	pages := int64(len(all)+pageSize-1) / pageSize
	var more []string
	var takes [][]chat.Button
	if page == 1 {
		more, takes = foreignLines(ctx, s, c)
	}
	if len(all) == 0 && len(more) == 0 {
		return c.say("sessions_none"), nil
	}
	page = max(1, min(page, pages))
	from := int(page-1) * pageSize
	shown := all[from:min(from+pageSize, len(all))]
	lines := []string{c.text("sessions", "n", len(all))}
	var rows [][]chat.Button
	for _, one := range shown {
		line, err := line(ctx, s, c, one)
		if err != nil {
			return Result{}, err
		}
		lines = append(lines, line)
		if one.State == chat.SessionOpen && one.ID != c.Conv.Session {
			rows = addButton(rows, 5, chat.Button{Label: fmt.Sprintf("#%d", one.ID), Data: id("use", one.ID)})
		}
	}
	if pages > 1 {
		lines = append(lines, c.text("sessions_page", "page", page, "pages", pages))
	}
	return notice(strings.Join(append(lines, more...), "\n"), append(rows, takes...)...), nil
}

// addButton puts b into the last row while there is room in it.
func addButton(rows [][]chat.Button, perRow int, b chat.Button) [][]chat.Button {
	if n := len(rows); n > 0 && len(rows[n-1]) < perRow {
		rows[n-1] = append(rows[n-1], b)
		return rows
	}
	return append(rows, []chat.Button{b})
}

// line shows one session.
func line(ctx context.Context, s *Set, c Call, one chat.Session) (string, error) {
	title := one.Title
	if title == "" {
		switch t, err := s.Turns.LastTurn(ctx, one.ID); chat.CodeOf(err) {
		case chat.CodeNone:
			title = clip(summary(t.Input))
		case chat.Missing:
			title = c.text("session_empty")
		default:
			return "", fmt.Errorf("read last turn: %w", err)
		}
	}
	parts := []string{fmt.Sprintf("#%d", one.ID), s.agentTitle(one.Agent), s.workspaceName(one.Workspace), title, c.ago(time.Since(one.UsedAt))}
	if one.Adopted {
		parts = append(parts, c.text("session_adopted"))
	}
	if !one.ParkedAt.IsZero() {
		parts = append(parts, c.text("session_parked"))
	}
	switch {
	case one.ID == c.Conv.Session:
		parts = append(parts, c.text("session_current"))
	case one.State == chat.SessionLost:
		parts = append(parts, c.text("session_lost"))
	}
	return strings.Join(parts, " · "), nil
}

// ago says how long something is past, in one unit.
func (c Call) ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return c.text("ago_seconds", "n", max(0, int(d/time.Second)))
	case d < time.Hour:
		return c.text("ago_minutes", "n", int(d/time.Minute))
	case d < 48*time.Hour:
		return c.text("ago_hours", "n", int(d/time.Hour))
	}
	return c.text("ago_days", "n", int(d/(24*time.Hour)))
}
