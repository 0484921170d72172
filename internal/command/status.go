package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
)

// status is /status: what is true now.
func status(ctx context.Context, s *Set, c Call) (Result, error) {
	lines := []string{
		c.text("status_agent", "agent", s.agentTitle(c.Conv.Agent), "model", modelSetting().now(s, c)),
		c.text("status_settings", "mode", modeSetting().now(s, c), "effort", effortSetting().now(s, c)),
		c.text("status_workspace", "workspace", s.workspaceName(c.Conv.Workspace), "path", c.Conv.Workspace),
	}
	cur, _, err := current(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	if !cur.Serves(c.Conv) {
		return notice(strings.Join(append(lines, c.text("status_no_session")), "\n")), nil
	}
	lines = append(lines, sessionLine(s, c, cur))
	more, err := turnLines(ctx, s, c, cur)
	if err != nil {
		return Result{}, err
	}
	return notice(strings.Join(append(lines, more...), "\n")), nil
}

func sessionLine(s *Set, c Call, cur chat.Session) string {
	native := clip(cur.NativeID) // the agent chose it
	if native == "" {
		native = c.text("status_no_native")
	}
	key := "status_asleep"
	if !cur.Begun && cur.NativeID == "" {
		key = "status_unopened"
	}
	if !cur.ParkedAt.IsZero() {
		key = "status_parked"
	}
	if _, live := s.Workers.Live(cur.ID); live {
		key = "status_live"
	}
	return c.text("status_session", "session", cur.ID, "native", native, "worker", c.text(key))
}

// turnLines tells what runs, what waits, and what the last turn used.
func turnLines(ctx context.Context, s *Set, c Call, cur chat.Session) ([]string, error) {
	running, err := s.Desk.Running(ctx, c.Conv)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, session := range running {
		t, err := s.Turns.Active(ctx, session)
		if chat.CodeOf(err) == chat.Missing {
			continue // it has just begun, or just ended
		}
		if err != nil {
			return nil, fmt.Errorf("read running turn: %w", err)
		}
		key := "status_running"
		if t.State == chat.TurnWaiting {
			key = "status_waiting"
		}
		lines = append(lines, c.text(key, "n", t.ID, "session", session, "for", elapsed(t.StartedAt), "text", clip(summary(t.Input))))
	}
	if len(lines) == 0 {
		lines = append(lines, c.text("status_idle"))
	}
	waiting, err := s.Turns.Queued(ctx, cur.ID)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	held := 0
	for _, t := range waiting {
		if t.Held {
			held++
		}
	}
	lines = append(lines, c.text("status_queue", "n", len(waiting)-held, "held", held))
	switch last, err := s.Turns.LastTurn(ctx, cur.ID); chat.CodeOf(err) {
	case chat.CodeNone:
		if u := usage(c, last.Usage); u != "" {
			lines = append(lines, c.text("status_usage")+" "+u)
		}
	case chat.Missing:
	default:
		return nil, fmt.Errorf("read last turn: %w", err)
	}
	sum, err := s.Spending.Spent(ctx, cur.ID, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("read what the session used: %w", err)
	}
	if u := usage(c, sum); u != "" {
		lines = append(lines, c.text("status_sum")+" "+u)
	}
	return lines, nil
}

func elapsed(since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, time.Since(since)).Truncate(time.Second)
}

// usage shows figures, as far as the agent gave them.
func usage(c Call, u chat.Usage) string {
	if u.In == 0 && u.Out == 0 && u.CostUSD == 0 {
		return ""
	}
	text := c.text("status_tokens", "in", u.In, "out", u.Out)
	if u.CostUSD > 0 {
		text += " · " + fmt.Sprintf("$%.4f", u.CostUSD)
	}
	if u.Window > 0 && u.Used > 0 {
		text += " · " + c.text("status_window", "percent", 100*u.Used/u.Window)
	}
	return text
}
