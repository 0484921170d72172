package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
)

// defaultModel is the word for the agent's own choice.
const defaultModel = "default"

// patience bounds what a command asks of a live process: the router's other
// conversations wait meanwhile.
const patience = 2 * time.Second

// model is /model [name]: the model of this conversation. The session is kept
// unless its agent declares the change incompatible.
func model(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return offerModels(s, c), nil
	}
	name, err := word(c.Arg)
	if err != nil {
		return Result{}, err
	}
	c.Conv.Model = name
	if name == defaultModel {
		c.Conv.Model = ""
	}
	applied, err := applyModel(ctx, s, c, name)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Unsupported:
		if len(models(s, c)) == 0 { // nor would a new session take it
			return c.say("model_fixed", "agent", s.agentTitle(c.Conv.Agent)), nil
		}
		return changeModel(ctx, s, c, name)
	case chat.ModelUnknown, chat.Invalid:
		return unknown(c, "model_unknown", name, models(s, c)), nil
	default:
		return Result{}, fmt.Errorf("set the model: %w", err)
	}
	if err := s.Conversations.Set(ctx, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep wishes: %w", err)
	}
	return c.say("model_set", "model", name, "when", c.text("applies_"+string(applied))), nil
}

// applyModel tells the session's worker, if there is one.
func applyModel(ctx context.Context, s *Set, c Call, name string) (chat.Applied, error) {
	if c.Conv.Session == 0 {
		return chat.AppliedNext, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Workers.Set(ctx, c.Conv.Session, chat.Settings{Model: name})
}

// changeModel replaces the session: its agent cannot change the model of a
// session that has begun.
func changeModel(ctx context.Context, s *Set, c Call, name string) (Result, error) {
	if err := s.Conversations.Set(ctx, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep wishes: %w", err)
	}
	before, err := replace(ctx, s, &c, "")
	if err != nil {
		return Result{}, err
	}
	text := c.text("model_replaced", "model", name) + "\n" + c.text("new", "session", c.Conv.Session)
	return replaced(ctx, s, c, before, text)
}

// models are the names that the agent offers, as far as is known.
func models(s *Set, c Call) []string {
	if info, ok := s.Workers.Live(c.Conv.Session); ok && len(info.Models) > 0 {
		return info.Models
	}
	for _, a := range s.Agents.List() {
		if a.Name == c.Conv.Agent {
			return a.Models
		}
	}
	return nil
}

func offerModels(s *Set, c Call) Result {
	now := c.Conv.Model
	if info, ok := s.Workers.Live(c.Conv.Session); ok && info.Model != "" {
		now = info.Model
	}
	if now == "" {
		now = c.text("model_default")
	}
	names := models(s, c)
	lines := []string{c.text("model_now", "model", now)}
	if len(names) == 0 {
		return notice(lines[0] + "\n" + c.text("model_none"))
	}
	lines = append(lines, c.text("model_choose"), strings.Join(names, ", "))
	var rows [][]chat.Button
	for _, n := range append(slices.Clone(names), defaultModel) {
		if data := "model:" + n; len(data) <= maxData && argRule.MatchString(n) {
			rows = addButton(rows, 2, chat.Button{Label: n, Data: data})
		}
	}
	return notice(strings.Join(lines, "\n"), rows...)
}
