package demo

import (
	"cmp"
	"context"
	"fmt"
	"os"
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

// acts are what a session does when it is asked to.
type acts struct{ *session }

// obey does what a phrase asks for. An error fails the prompt.
func (s acts) obey(ctx context.Context, p phrase) error {
	switch p.verb {
	case "tool", "ask":
		defer s.close(ctx, p)
		return s.list(ctx, p.verb == "ask")
	case "question":
		return asks(s).question(ctx, p.rest)
	case "questions":
		return asks(s).questions(ctx)
	case "plan":
		return asks(s).plan(ctx)
	case "fail":
		s.say(i18n.T(s.lang, "demo.failing") + "\n\n")
		return failureOf(p.rest)
	case "crash":
		s.say(i18n.T(s.lang, "demo.crashing") + "\n\n")
		fmt.Fprintln(os.Stderr, "demo agent: crash, as asked for")
		s.agent.crash()
	case "stream":
		s.stream(ctx, p.number(20, mostPieces))
		s.close(ctx, p)
	case "slow":
		s.slow(ctx, p.number(5, mostSeconds))
		s.close(ctx, p)
	case "work":
		s.work(ctx, p.number(10, mostSeconds))
		s.close(ctx, p)
	case "long":
		s.long(ctx, p.number(200, mostLines), p.tail())
	case "files":
		s.files(ctx, p, textBody, ".txt")
	case "photos":
		s.files(ctx, p, imageBody, ".png")
	case "latefile":
		s.late(ctx, p)
	case "later":
		s.agent.later(s.session, s.lang, p.number(5, mostSeconds))
		s.tell("later")
	default:
		s.answer(p)
	}
	return nil
}

// answer does what takes no time.
func (s acts) answer(p phrase) {
	switch p.verb {
	case "remember":
		s.tell("remember", "word", s.book.word())
	case "recall":
		s.recall()
	case "echo":
		s.say(p.rest)
	case "think":
		s.update(chunk("agent_thought_chunk", cmp.Or(p.rest, i18n.T(s.lang, "demo.thinking"))))
		s.tell("thought")
	case "model":
		set := s.settings()
		s.tell("settings", "model", set.model, "mode", set.mode, "effort", set.effort)
	case "seen":
		s.say(fmt.Sprintf("images %d documents %d", s.seen.images, s.seen.documents))
	case "compact":
		s.tell("compacted")
	case "markdown":
		s.tell("markdown")
	default:
		s.talk()
	}
}

// failureOf is a failure of a class, in the words that agents have for it, or
// in the words that are given.
func failureOf(class string) error {
	switch class {
	case "login":
		return &failure{codeAuth, "Authentication required"}
	case "quota":
		return &failure{codeInternal, "429 rate limit reached, try again in 30 minutes"}
	case "overload":
		return &failure{codeInternal, "529 the model is overloaded"}
	case "model":
		return &failure{codeInternal, "404 model not found: demo-huge"}
	case "context":
		return &failure{codeInternal, "400 prompt is too long: 210000 tokens, the maximum is 200000"}
	case "network":
		return &failure{codeInternal, "fetch failed: ECONNRESET"}
	}
	return &failure{codeInternal, strings.TrimSpace(class + " demo failure, as asked for")}
}

func (s acts) recall() {
	if w := s.book.word(); w != "" {
		s.tell("recall", "word", w)
	} else {
		s.tell("forgot")
	}
}

// talk is the answer to everything else: who this is, what it remembers, what
// it can show, and how to get a real agent.
func (s acts) talk() {
	s.tell("hello", "turn", s.book.turns())
	if w := s.book.word(); w != "" {
		s.tell("remembers", "word", w)
	}
	s.tell("help")
}

// stream sends pieces with a pause after each.
func (s acts) stream(ctx context.Context, n int) {
	for i := 1; i <= n && pause(ctx, 20*time.Millisecond); i++ {
		s.say(fmt.Sprintf("%s %d ", i18n.T(s.lang, "demo.piece"), i))
	}
}

// slow thinks for a while before it answers.
func (s acts) slow(ctx context.Context, seconds int) {
	s.update(chunk("agent_thought_chunk", i18n.T(s.lang, "demo.thinking")))
	if pause(ctx, time.Duration(seconds)*time.Second) {
		s.tell("slow", "seconds", seconds)
	}
}

// long answers with many lines. With a mark each line ends with the mark and
// its number, so that one can see whether all have arrived.
func (s acts) long(ctx context.Context, n int, mark string) {
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
func (s acts) close(ctx context.Context, p phrase) {
	if mark := p.tail(); mark != "" && ctx.Err() == nil {
		s.say(fmt.Sprintf("\n\n%s-1", mark))
	}
}

// list is the demo's tool: it lists the workspace, with or without asking.
func (s acts) list(ctx context.Context, ask bool) error {
	if s.settings().mode == modePlan {
		s.tell("planning")
		return nil
	}
	s.tell("looking")
	call := map[string]any{
		"toolCallId": fmt.Sprintf("list-%d", s.book.turns()), "title": "ls " + s.dir, "kind": "read",
		"rawInput": map[string]any{"command": "ls " + s.dir},
	}
	s.tool(call, "tool_call", "pending", "")
	if ask && s.settings().mode != modeYolo {
		allowed, err := asks(s).permit(ctx, call)
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

// work is a tool that takes long. It does nothing, and ends with the turn.
func (s acts) work(ctx context.Context, seconds int) {
	call := map[string]any{
		"toolCallId": fmt.Sprintf("work-%d", s.book.turns()), "title": fmt.Sprintf("wait %d", seconds), "kind": "execute",
		"rawInput": map[string]any{"command": fmt.Sprintf("wait %d", seconds)},
	}
	s.tool(call, "tool_call", "in_progress", "")
	if !pause(ctx, time.Duration(seconds)*time.Second) {
		s.tool(call, "tool_call_update", "failed", "")
		return
	}
	s.tool(call, "tool_call_update", "completed", "")
	s.tell("slow", "seconds", seconds)
}

func (s acts) tool(call map[string]any, kind, status, output string) {
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
