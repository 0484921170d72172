package demo

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"cligate/internal/i18n"
)

// Bounds of what may be asked for.
const (
	mostPieces  = 20_000
	mostSeconds = 3600
	mostLines   = 50_000
	mostNames   = 40
)

// obey does what a phrase asks for. An error fails the prompt.
func (s *session) obey(ctx context.Context, p phrase) error {
	switch p.verb {
	case "remember":
		s.tell("remember", "word", s.book.word())
	case "recall":
		s.recall()
	case "echo":
		s.say(p.rest)
	case "stream":
		s.stream(ctx, p.number(20, mostPieces))
		s.close(ctx, p)
	case "slow":
		s.slow(ctx, p.number(5, mostSeconds))
		s.close(ctx, p)
	case "tool":
		defer s.close(ctx, p)
		return s.list(ctx, false)
	case "ask":
		defer s.close(ctx, p)
		return s.list(ctx, true)
	case "question":
		return s.question(ctx, p.rest)
	case "long":
		s.long(ctx, p.number(200, mostLines), p.tail())
	case "markdown":
		s.tell("markdown")
	case "fail":
		s.say(i18n.T(s.lang, "demo.failing") + "\n\n")
		return &failure{codeInternal, strings.TrimSpace(p.rest + " demo failure, as asked for")}
	case "crash":
		s.say(i18n.T(s.lang, "demo.crashing") + "\n\n")
		fmt.Fprintln(os.Stderr, "demo agent: crash, as asked for")
		s.agent.crash()
	default:
		s.talk()
	}
	return nil
}

func (s *session) recall() {
	if w := s.book.word(); w != "" {
		s.tell("recall", "word", w)
	} else {
		s.tell("forgot")
	}
}

// talk is the answer to everything else: who this is, what it remembers, what
// it can show, and how to get a real agent.
func (s *session) talk() {
	s.tell("hello", "turn", s.book.turns())
	if w := s.book.word(); w != "" {
		s.tell("remembers", "word", w)
	}
	s.tell("help")
}

// stream sends pieces with a pause after each.
func (s *session) stream(ctx context.Context, n int) {
	for i := 1; i <= n && pause(ctx, 20*time.Millisecond); i++ {
		s.say(fmt.Sprintf("%s %d ", i18n.T(s.lang, "demo.piece"), i))
	}
}

// slow thinks for a while before it answers.
func (s *session) slow(ctx context.Context, seconds int) {
	s.update(chunk("agent_thought_chunk", i18n.T(s.lang, "demo.thinking")))
	if pause(ctx, time.Duration(seconds)*time.Second) {
		s.tell("slow", "seconds", seconds)
	}
}

// long answers with many lines. With a mark each line ends with the mark and
// its number, so that one can see whether all have arrived.
func (s *session) long(ctx context.Context, n int, mark string) {
	for i := 1; i <= n && ctx.Err() == nil; i++ {
		line := fmt.Sprintf("- **%d** %s", i, i18n.T(s.lang, "demo.line"))
		if mark != "" {
			line += fmt.Sprintf(" %s-%d", mark, i)
		}
		s.say(line + "\n")
	}
}

// close ends an answer with the mark that the prompt gave for it, numbered as
// the lines of a long answer are.
func (s *session) close(ctx context.Context, p phrase) {
	if mark := p.tail(); mark != "" && ctx.Err() == nil {
		s.say(fmt.Sprintf("\n\n%s-1", mark))
	}
}

// list is the demo's tool: it lists the workspace, with or without asking.
func (s *session) list(ctx context.Context, ask bool) error {
	s.tell("looking")
	call := map[string]any{
		"toolCallId": fmt.Sprintf("list-%d", s.book.turns()), "title": "ls " + s.dir, "kind": "read",
		"rawInput": map[string]any{"command": "ls " + s.dir},
	}
	s.tool(call, "tool_call", "pending", "")
	if ask {
		allowed, err := s.permit(ctx, call)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if !allowed {
			s.tool(call, "tool_call_update", "failed", "")
			s.tell("denied")
			return nil
		}
	}
	s.tool(call, "tool_call_update", "in_progress", "")
	names, err := names(s.dir)
	if err != nil {
		s.tool(call, "tool_call_update", "failed", err.Error())
		s.tell("unreadable")
		return nil // that is an answer, too
	}
	s.tool(call, "tool_call_update", "completed", strings.Join(names, "\n"))
	if len(names) == 0 {
		s.tell("empty")
		return nil
	}
	s.tell("listed", "names", "```\n"+strings.Join(names, "\n")+"\n```")
	return nil
}

func (s *session) tool(call map[string]any, kind, status, output string) {
	u := map[string]any{"sessionUpdate": kind, "status": status}
	for k, v := range call {
		u[k] = v
	}
	if output != "" {
		u["content"] = []any{map[string]any{
			"type": "content", "content": map[string]any{"type": "text", "text": output},
		}}
	}
	s.update(u)
}

// permit asks the client for leave to make a call.
func (s *session) permit(ctx context.Context, call map[string]any) (bool, error) {
	picked, err := s.pick(ctx, call, []map[string]any{
		{"optionId": "allow", "name": i18n.T(s.lang, "demo.allow"), "kind": "allow_once"},
		{"optionId": "always", "name": i18n.T(s.lang, "demo.always"), "kind": "allow_always"},
		{"optionId": "reject", "name": i18n.T(s.lang, "demo.reject"), "kind": "reject_once"},
	})
	return picked == "allow" || picked == "always", err
}

// pick sends a permission request and returns the chosen option; none when the
// turn was cancelled.
func (s *session) pick(ctx context.Context, call map[string]any, options []map[string]any) (string, error) {
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
func (s *session) question(ctx context.Context, text string) error {
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

func (s *session) colour(name string) string { return i18n.T(s.lang, "demo."+name) }

// form asks with elicitation/create.
func (s *session) form(ctx context.Context, text string, colours []string) (string, error) {
	var options []any
	for _, c := range colours {
		options = append(options, map[string]any{"const": c, "title": s.colour(c)})
	}
	var r struct {
		Action  string `json:"action"`
		Content struct {
			Colour string `json:"colour"`
			Other  string `json:"colour_other"`
		} `json:"content"`
	}
	err := s.agent.ask(ctx, "elicitation/create", map[string]any{
		"sessionId": s.book.id, "mode": "form", "message": text,
		"toolCallId": fmt.Sprintf("question-%d", s.book.turns()),
		"requestedSchema": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"colour":       map[string]any{"type": "string", "title": text, "oneOf": options},
				"colour_other": map[string]any{"type": "string"},
			},
		},
	}, &r)
	if err != nil || r.Action != "accept" {
		return "", err
	}
	return cmp.Or(r.Content.Colour, r.Content.Other), nil
}

// names lists a folder, folders with a slash.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if len(out) == mostNames {
			return append(out, "…"), nil
		}
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	return out, nil
}
