package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/i18n"
)

// asks are what a session asks its client.
type asks struct{ *session }

// permit asks the client for leave to make a call.
func (s asks) permit(ctx context.Context, call map[string]any) (bool, error) {
	picked, err := s.pick(ctx, call, []map[string]any{
		{"optionId": "allow", "name": i18n.T(s.lang, "demo.allow"), "kind": "allow_once"},
		{"optionId": "always", "name": i18n.T(s.lang, "demo.always"), "kind": "allow_always"},
		{"optionId": "reject", "name": i18n.T(s.lang, "demo.reject"), "kind": "reject_once"},
	})
	return picked == "allow" || picked == "always", err
}

// pick sends a permission request and returns the chosen option; none when the
// turn was cancelled.
func (s asks) pick(ctx context.Context, call map[string]any, options []map[string]any) (string, error) {
	var r struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	err := s.agent.ask(ctx, "session/request_permission", map[string]any{
		"sessionId": s.book.id, "toolCall": call, "options": options,
	}, &r)
	if ctx.Err() != nil || r.Outcome.Outcome != "selected" {
		return "", err
	}
	return r.Outcome.Option, err
}

// question asks the client a question: as a form where it can show one, else
// as a choice of permissions.
func (s asks) question(ctx context.Context, text string) error {
	if text == "" {
		text = i18n.T(s.lang, "demo.colour")
	}
	colours := []string{"red", "green", "blue"}
	s.agent.mu.Lock()
	forms := s.agent.forms
	s.agent.mu.Unlock()
	var chosen string
	var err error
	if forms {
		chosen, err = s.form(ctx, text, colours)
	} else {
		var options []map[string]any
		for _, c := range colours {
			options = append(options, map[string]any{"optionId": c, "name": s.colour(c), "kind": "allow_once"})
		}
		chosen, err = s.pick(ctx, map[string]any{
			"toolCallId": fmt.Sprintf("question-%d", s.book.turns()), "title": text, "kind": "other",
		}, options)
	}
	switch {
	case err != nil || ctx.Err() != nil:
	case chosen == "":
		s.tell("unanswered")
	case slices.Contains(colours, chosen):
		s.tell("chose", "choice", s.colour(chosen))
	default:
		s.tell("chose", "choice", chosen)
	}
	return err
}

func (s asks) colour(name string) string { return i18n.T(s.lang, "demo."+name) }

// form asks one question with elicitation/create.
func (s asks) form(ctx context.Context, text string, colours []string) (string, error) {
	var got struct {
		Colour string `json:"colour"`
		Other  string `json:"colour_other"`
	}
	err := s.elicit(ctx, text, map[string]any{
		"colour":       map[string]any{"type": "string", "title": text, "oneOf": s.constants(colours)},
		"colour_other": map[string]any{"type": "string"},
	}, &got)
	return cmp.Or(got.Colour, got.Other), err
}

// constants are values of a form, with their names for people.
func (s asks) constants(colours []string) (list []any) {
	for _, c := range colours {
		list = append(list, map[string]any{"const": c, "title": s.colour(c)})
	}
	return list
}

// questions asks three things in one form: a choice, a choice of several, and
// a free one.
func (s asks) questions(ctx context.Context) error {
	s.agent.mu.Lock()
	forms := s.agent.forms
	s.agent.mu.Unlock()
	if !forms {
		s.tell("noforms")
		return nil
	}
	colours := []string{"red", "green", "blue"}
	var got struct {
		One     string   `json:"a_colour"`
		Several []string `json:"b_colours"`
		Own     string   `json:"c_name"`
	}
	err := s.elicit(ctx, i18n.T(s.lang, "demo.questions"), map[string]any{
		"a_colour":  map[string]any{"type": "string", "title": i18n.T(s.lang, "demo.colour"), "oneOf": s.constants(colours)},
		"b_colours": map[string]any{"type": "array", "title": i18n.T(s.lang, "demo.colours"), "items": map[string]any{"anyOf": s.constants(colours)}},
		"c_name":    map[string]any{"type": "string", "title": i18n.T(s.lang, "demo.name")},
	}, &got)
	switch chosen := append([]string{got.One, got.Own}, got.Several...); {
	case err != nil || ctx.Err() != nil:
	case strings.Join(chosen, "") == "":
		s.tell("unanswered")
	default:
		var names []string
		for _, c := range chosen {
			switch {
			case slices.Contains(colours, c):
				names = append(names, s.colour(c))
			case c != "":
				names = append(names, c)
			}
		}
		s.tell("chose", "choice", strings.Join(names, ", "))
	}
	return err
}

// elicit shows a form; what was filled in is read into got.
func (s asks) elicit(ctx context.Context, text string, properties map[string]any, got any) error {
	var r struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	err := s.agent.ask(ctx, "elicitation/create", map[string]any{
		"sessionId": s.book.id, "mode": "form", "message": text,
		"toolCallId":      fmt.Sprintf("question-%d", s.book.turns()),
		"requestedSchema": map[string]any{"type": "object", "properties": properties},
	}, &r)
	if err == nil && r.Action == "accept" {
		_ = json.Unmarshal(r.Content, got) // what cannot be read is no answer
	}
	return err
}

// plan presents a plan and waits for a yes. Carrying it out takes no time.
func (s asks) plan(ctx context.Context) error {
	steps := []string{i18n.T(s.lang, "demo.step1"), i18n.T(s.lang, "demo.step2")}
	s.steps(steps, "pending")
	picked, err := s.pick(ctx, map[string]any{
		"toolCallId": fmt.Sprintf("plan-%d", s.book.turns()), "title": i18n.T(s.lang, "demo.plan"), "kind": "switch_mode",
		"content": []any{map[string]any{
			"type": "content", "content": map[string]any{"type": "text", "text": "1. " + steps[0] + "\n2. " + steps[1]},
		}},
	}, []map[string]any{
		{"optionId": "go", "name": i18n.T(s.lang, "demo.go"), "kind": "allow_once"},
		{"optionId": "stay", "name": i18n.T(s.lang, "demo.stay"), "kind": "reject_once"},
	})
	switch {
	case err != nil || ctx.Err() != nil:
	case picked == "go":
		s.steps(steps, "completed")
		s.tell("planned")
	default:
		s.tell("unplanned")
	}
	return err
}

// steps shows the plan's steps.
func (s asks) steps(steps []string, status string) {
	var entries []any
	for _, text := range steps {
		entries = append(entries, map[string]any{"content": text, "status": status, "priority": "medium"})
	}
	s.update(map[string]any{"sessionUpdate": "plan", "entries": entries})
}
