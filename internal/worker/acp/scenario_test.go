package acp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// scenario is something to do with an agent. It is played with the real CLI to
// record a transcript (record_test.go), and again and again with the
// transcript (replay_test.go).
type scenario struct {
	name   string
	before string // said in a session that is left and then loaded
	wish   chat.Settings
	play   func(t *testing.T, s *stage)
}

// scenarios are played with every agent; what an agent cannot do it says.
var scenarios = []scenario{
	{name: "turns", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "think deep\nsay one two three four")
		s.prompt(t, "run touch wanted")
		s.prompt(t, "run touch unwanted")
		s.prompt(t, "ask")
		s.prompt(t, "todo\nsay planned")
	}},
	{name: "load", before: "remember the word plum", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "what was the word?")
	}},
	{name: "interrupt", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say first")
		s.cancel(t, "stream 100 150", "tick 3")
		s.prompt(t, "say alive")
	}},
	{name: "plan", wish: chat.Settings{Mode: "plan"}, play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say in plan mode")
	}},
	{name: "failures", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say first")
		for _, f := range []string{"400", "404", "401"} {
			s.prompt(t, "fail "+f)
		}
	}},
}

// recorded are the agents of which there are transcripts.
var recorded = []string{"gemini", "qwen", "copilot"}

// stage writes down what a host is told and asked.
type stage struct {
	w *Worker

	mu    sync.Mutex
	lines []string
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *stage) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n") + "\n"
}

func (s *stage) prompt(t *testing.T, text string) {
	t.Helper()
	s.note("> %s", strings.ReplaceAll(text, "\n", " ⏎ "))
	h := workertest.NewHost(s.decide)
	err := s.w.Prompt(t.Context(), ask(text), h)
	s.tell(h, err)
}

// cancel stops a turn when it has said something.
func (s *stage) cancel(t *testing.T, text, at string) {
	t.Helper()
	s.note("> %s, stopped", text)
	ctx, cancel := context.WithCancelCause(t.Context())
	h, over := workertest.NewHost(s.decide), make(chan error, 1)
	go func() { over <- s.w.Prompt(ctx, ask(text), h) }() // ends with the turn
	h.AwaitText(t, at)
	cancel(chat.E(chat.Stopped, "", nil))
	s.tell(h, <-over)
}

// decide allows what is wanted, and answers questions with their last option.
func (s *stage) decide(_ context.Context, q chat.Question) (chat.Answer, error) {
	s.note("asked: %s tool %q title %q detail %q", q.Kind, q.Tool, q.Title, q.Detail)
	for _, o := range q.Options {
		s.note("  option %q %s", o.ID, o.Effect)
	}
	a := chat.Answer{Effect: chat.EffectAllow, Values: map[string][]string{}}
	if strings.Contains(q.Detail+q.Title, "unwanted") {
		a.Effect = chat.EffectDeny
	}
	for _, query := range q.Queries {
		s.note("  query %q %q multi %v free %v options %d", query.Header, query.Text, query.Multi, query.Free, len(query.Options))
		if n := len(query.Options); n > 0 {
			a.Effect, a.Values[query.ID] = chat.EffectChoose, []string{query.Options[n-1].Value()}
		}
	}
	return a, nil
}

// tell writes down what a turn was: pieces of text are put together, because
// how they come is chance.
func (s *stage) tell(h *workertest.Host, err error) {
	text := ""
	flush := func() {
		if text != "" {
			s.note("text %q", text)
		}
		text = ""
	}
	for _, e := range h.Events() {
		if e.Kind == chat.EventText {
			text += e.Text
			continue
		}
		flush()
		switch e.Kind {
		case chat.EventTool:
			s.note("tool %q %q %s", e.Tool.Name, e.Tool.Title, e.Tool.State)
		case chat.EventPlan:
			s.note("plan %+v", e.Plan)
		case chat.EventUsage:
			u := *e.Usage
			s.note("usage model %q in %v out %v window %d used %v", u.Model, u.In > 0, u.Out > 0, u.Window, u.Used > 0)
		default:
			s.note("%s %q %s", e.Kind, e.Text, e.Code)
		}
	}
	flush()
	s.note("= %s %q", chat.CodeOf(err), chat.DetailOf(err))
	i := s.w.Info()
	s.note("mode %q model %q of %d modes, %d models", i.Mode, i.Model, len(i.Modes), len(i.Models))
}

// spec is what the scenario's worker is opened with.
func (sc scenario) spec(id, dir string) worker.Spec {
	return worker.Spec{Session: 1, Workspace: dir, NativeID: id, Model: sc.wish.Model, Mode: sc.wish.Mode}
}
