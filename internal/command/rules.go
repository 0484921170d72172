package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
)

// rules is /rules [remove n] and [Remove]: what is allowed here beyond one
// request.
func rules(ctx context.Context, s *Set, c Call) (Result, error) {
	ref := c.Arg
	if !c.clicked() {
		var remove bool
		if ref, remove = strings.CutPrefix(ref, "remove"); !remove && ref != "" {
			return failed(chat.Invalid, clip(ref))
		}
	}
	if ref != "" {
		return dropRule(ctx, s, c, ref)
	}
	all, err := s.Rules.Rules(ctx, c.Conv.ID, c.Conv.Session)
	if err != nil {
		return Result{}, fmt.Errorf("read rules: %w", err)
	}
	if len(all) == 0 {
		return c.say("rules_none"), nil
	}
	lines := []string{c.text("rules", "n", len(all))}
	var rows [][]chat.Button
	for i, r := range all {
		if i == pageSize {
			lines = append(lines, "…")
			break
		}
		scope := c.text("rule_always", "agent", s.agentTitle(r.Agent))
		if r.Session != 0 {
			scope = c.text("rule_session", "session", r.Session)
		}
		what := clip(r.Question.Tool + " " + firstOf(r.Question.Detail, r.Question.Title))
		lines = append(lines, fmt.Sprintf("#%d · %s · %s · %s · %s", r.ID, what, scope, name(r.By), c.ago(time.Since(r.At))))
		rows = addButton(rows, 2, chat.Button{Label: c.text("button_remove", "n", r.ID), Data: id("rule", r.ID)})
	}
	return notice(strings.Join(lines, "\n"), rows...), nil
}

func dropRule(ctx context.Context, s *Set, c Call, ref string) (Result, error) {
	n, err := number(ref)
	if err != nil {
		return Result{}, err
	}
	switch err := s.Rules.Drop(ctx, c.Conv.ID, n, c.In.Sender); chat.CodeOf(err) {
	case chat.CodeNone:
		return c.say("rule_removed", "n", n), nil
	case chat.Missing:
		return c.say("rule_gone", "n", n), nil
	default:
		return Result{}, fmt.Errorf("remove rule: %w", err)
	}
}

// firstOf is the first text that says something.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
