package claude

import (
	"cmp"
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
		s.deny = true
		s.prompt(t, "plan\nsay not yet")
		s.deny = false
		s.prompt(t, "plan\nsay on we go")
		s.note("mode %s", s.w.Info().Mode)
	}},
	{name: "settings", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.set(t, chat.Settings{Effort: "low"})
		s.set(t, chat.Settings{Effort: "nonsense"})
		s.set(t, chat.Settings{Mode: "acceptEdits", Model: "sonnet"})
		s.set(t, chat.Settings{Mode: "bypassPermissions"})
		s.prompt(t, "model")
		s.set(t, chat.Settings{})
	}},
	{name: "files", play: func(t *testing.T, s *stage) {
		t.Helper()
		in := workertest.Input("seen")
		in.Pieces[0].Files = []chat.FileRef{{Path: "testdata/dot.png"}, {Path: "testdata/page.pdf"}, {Path: "testdata/notes.txt", Name: "notes"}}
		s.note("prompt with files")
		s.end(s.w.Prompt(t.Context(), in, s.host()))
	}},
	{name: "replace", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.replace(t, "stream 100 150", "tick 3", "say instead")
		s.prompt(t, "say alive")
	}},
	{name: "subagent", env: []string{"ENABLE_TOOL_SEARCH=0"}, play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "task say words of a helper")
		<-s.ended
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
		s.steer(t, "run sleep 1", "say steered between tools") // it asks nobody
	}},
	{name: "commands", play: func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "say before")
		s.prompt(t, "/compact")
		s.prompt(t, "/clear")
		s.prompt(t, "recall")
		s.prompt(t, "/cost")
	}},
	{name: "unknown", resume: "6e4f2f9e-8c8b-4f0c-9d53-3a0a9be6a001", play: func(*testing.T, *stage) {}},
}

// stage writes down what a host is told and asked.
type stage struct {
	w     *Worker
	ended chan error // ends of turns that nobody asked for
	deny  bool       // every question is answered with no

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
	return worker.Spec{Session: 1, NativeID: sc.resume, Mode: cmp.Or(sc.mode, modeAsk),
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
	case s.deny:
		return chat.Answer{Effect: chat.EffectDeny, Text: "shorter, please"}, nil
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

// set changes settings and writes down what the agent says afterwards.
func (s *stage) set(t *testing.T, to chat.Settings) {
	t.Helper()
	applied, err := s.w.Set(t.Context(), to)
	i := s.w.Info()
	s.note("set %+v: %s %s; model %s, mode %s, effort %s of %v", to, applied, chat.CodeOf(err), i.Model, i.Mode, i.Effort, i.Efforts)
}

// replace prompts and says something else when the answer contains after.
func (s *stage) replace(t *testing.T, text, after, other string) {
	t.Helper()
	s.note("prompt %q", text)
	h := s.host()
	res := make(chan error, 1)
	go func() { res <- s.w.Prompt(t.Context(), workertest.Input(text), h) }() // received below
	h.AwaitText(t, after)
	if err := s.w.Replace(t.Context(), workertest.Input(other)); err != nil {
		t.Error(err)
	}
	s.end(<-res)
}

// steer prompts and puts another message in while the tool runs that the first
// wants.
func (s *stage) steer(t *testing.T, text, more string) {
	t.Helper()
	s.note("prompt %q", text)
	h := s.host()
	res := make(chan error, 1)
	go func() { res <- s.w.Prompt(t.Context(), workertest.Input(text), h) }() // received below
	h.Await(t, "tool", func(es []chat.Event) bool { return len(es) > 0 && es[len(es)-1].Kind == chat.EventTool })
	if err := s.w.Steer(t.Context(), workertest.Input(more)); err != nil {
		t.Error(err)
	}
	s.end(<-res)
}
