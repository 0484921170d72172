package claude

import (
	"context"
	"encoding/json"
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
	env    []string
	mode   string
	resume string // a session to resume instead of a new one
	play   func(t *testing.T, s *stage)
}

var scenarios = []scenario{
	{name: "turns", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say one two three four\nthink about it\nsay five")
		s.prompt(t, "tool 2\nsay six")
		s.prompt(t, "recall")
	}},
	{name: "approvals", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "run touch wanted")
		s.prompt(t, "run touch unwanted")
		s.prompt(t, "ask")
		s.prompt(t, "questions")
	}},
	{name: "plan", mode: "plan", env: []string{"ENABLE_TOOL_SEARCH=0"}, play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "plan\nsay on we go")
	}},
	{name: "interrupt", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.cancel(t, "stream 100 150", "tick 3")
		s.prompt(t, "say alive")
	}},
	{name: "failures", env: []string{"CLAUDE_CODE_MAX_RETRIES=1"}, play: func(t *testing.T, s *stage) {
		t.Helper()
		for _, f := range []string{"429", "529", "404", "400", "403", "500 1\nsay fine", "401"} {
			s.prompt(t, "fail "+f)
		}
	}},
	{name: "cut", env: []string{"CLAUDE_CODE_MAX_RETRIES=1"}, play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "cut")
	}},
	{name: "unasked", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "background python3 -c 'import time; time.sleep(1)'")
		<-s.ended
		s.prompt(t, "say next")
	}},
	{name: "steer", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.steer(t, "run python3 -c 'import time; time.sleep(1)'", "say steered between tools")
	}},
	{name: "commands", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say before")
		s.prompt(t, "/compact")
		s.prompt(t, "/clear")
		s.prompt(t, "recall")
	}},
	{name: "unknown", resume: "6e4f2f9e-8c8b-4f0c-9d53-3a0a9be6a001", play: func(*testing.T, *stage) {}},
}

// stage writes down what a host is told and asked.
type stage struct {
	w     *Worker
	ended chan error // ends of turns that nobody asked for

	mu    sync.Mutex
	lines []string
	extra []string // of turns that nobody asked for; they run beside the others
}

func newStage() *stage { return &stage{ended: make(chan error, 8)} }

func (s *stage) note(format string, args ...any) { s.write(&s.lines, format, args...) }

func (s *stage) write(to *[]string, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, fmt.Sprintf(format, args...))
}

func (s *stage) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(s.lines, s.extra...), "\n") + "\n"
}

// spec is what the scenario's worker is opened with.
func (s *stage) spec(sc scenario) worker.Spec {
	return worker.Spec{Session: 1, NativeID: sc.resume, Mode: sc.mode,
		Uninvited: func(context.Context) (worker.Host, func(error)) {
			s.write(&s.extra, "unasked")
			return logged{workertest.NewHost(s.decide), s, &s.extra}, func(err error) {
				s.write(&s.extra, "end %s", chat.CodeOf(err))
				s.ended <- err
			}
		}}
}

// logged is a host whose events are written down.
type logged struct {
	*workertest.Host
	s  *stage
	to *[]string
}

func (l logged) Emit(ctx context.Context, e chat.Event) error {
	l.s.write(l.to, "  %s", compact(e))
	return l.Host.Emit(ctx, e)
}

// compact is e without what is empty.
func compact(e chat.Event) string {
	parts := []string{string(e.Kind)}
	if e.Text != "" {
		parts = append(parts, fmt.Sprintf("%q", e.Text))
	}
	if e.Code != "" {
		parts = append(parts, string(e.Code))
	}
	if e.Tool != nil {
		parts = append(parts, fmt.Sprintf("%+v", *e.Tool))
	}
	if e.Usage != nil {
		parts = append(parts, fmt.Sprintf("%+v", *e.Usage))
	}
	return strings.Join(parts, " ")
}

func (s *stage) host() logged { return logged{workertest.NewHost(s.decide), s, &s.lines} }

// decide answers as the scenarios want it.
func (s *stage) decide(_ context.Context, q chat.Question) (chat.Answer, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return chat.Answer{}, err
	}
	s.note("  ask %s", line)
	switch {
	case q.Kind == chat.AskChoice && len(q.Queries) == 1:
		return chat.Answer{Option: "blue", Effect: chat.EffectChoose}, nil
	case q.Kind == chat.AskChoice:
		return chat.Answer{Values: map[string][]string{"0": {"red"}, "1": {"plum", "fig"}, "2": {"Zoe"}}}, nil
	case strings.Contains(q.Detail, "unwanted"):
		return chat.Answer{Effect: chat.EffectDeny, Text: "not today"}, nil
	}
	return chat.Answer{Effect: chat.EffectAllow}, nil
}

func (s *stage) prompt(t *testing.T, text string) {
	t.Helper()
	s.note("prompt %q", text)
	s.end(s.w.Prompt(t.Context(), workertest.Input(text), s.host()))
}

func (s *stage) end(err error) { s.note("end %s %q", chat.CodeOf(err), chat.DetailOf(err)) }

// cancel prompts and stops the turn when the answer contains after.
func (s *stage) cancel(t *testing.T, text, after string) {
	t.Helper()
	s.note("prompt %q", text)
	h := s.host()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	res := make(chan error, 1)
	go func() { res <- s.w.Prompt(ctx, workertest.Input(text), h) }() // received below
	h.AwaitText(t, after)
	cancel(errStop)
	s.end(<-res)
}

// steer prompts and puts another message in just before it approves of what
// the first wants to run.
func (s *stage) steer(t *testing.T, text, more string) {
	t.Helper()
	s.note("prompt %q", text)
	h := logged{workertest.NewHost(func(ctx context.Context, q chat.Question) (chat.Answer, error) {
		if err := s.w.Steer(ctx, workertest.Input(more)); err != nil {
			t.Error(err)
		}
		return s.decide(ctx, q)
	}), s, &s.lines}
	s.end(s.w.Prompt(t.Context(), workertest.Input(text), h))
}
