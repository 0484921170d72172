package codex

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

// scenario is a conversation that was recorded with the real CLI.
type scenario struct {
	name   string
	mode   string
	native string // resume this
	play   func(t *testing.T, s *stageHand)
}

var scenarios = []scenario{
	{name: "turns", play: func(t *testing.T, s *stageHand) {
		s.prompt(t, "remember the word plum", nil)
		s.prompt(t, "think deep\nsay thought", nil)
		s.set(t, chat.Settings{Model: "mock-small", Effort: "low", Mode: modeReadOnly})
		s.prompt(t, "model", nil)
		s.prompt(t, "/compact", nil)
		s.prompt(t, "what was the word?", nil)
	}},
	{name: "approvals", play: func(t *testing.T, s *stageHand) {
		s.prompt(t, "run touch approved", workertest.Allow)
		s.prompt(t, "run touch approved", workertest.Say(chat.Answer{Effect: chat.EffectSession}))
		s.prompt(t, "run touch approved", workertest.Say(chat.Answer{Effect: chat.EffectDeny, Text: "not today"}))
		s.prompt(t, "run touch approved", workertest.Nobody)
		s.set(t, chat.Settings{Model: "gpt-5.5"}) // it has a tool for patches
		s.prompt(t, "write a.txt hello\nsay patched", workertest.Allow)
		s.prompt(t, "write b.txt hello\nsay patched", workertest.Say(chat.Answer{Effect: chat.EffectDeny}))
	}},
	{name: "plan", mode: modePlan, play: func(t *testing.T, s *stageHand) {
		s.prompt(t, "ask", workertest.Say(chat.Answer{Effect: chat.EffectChoose, Values: map[string][]string{"colour": {"blue"}}}))
		s.prompt(t, "plan\nsay on we go", workertest.Allow)
		s.prompt(t, "say after", nil)
	}},
	{name: "interrupt", mode: modeYolo, play: func(t *testing.T, s *stageHand) {
		h := s.begin(t, "run timeout 90 tail -f /dev/null")
		h.Await(t, "tool", func(es []chat.Event) bool { return len(es) > 0 && es[len(es)-1].Kind == chat.EventTool })
		s.stop(t)
		s.prompt(t, "say after", nil)
	}},
	{name: "steer", play: func(t *testing.T, s *stageHand) {
		h := s.begin(t, "stream 50 20")
		h.AwaitText(t, "tick 2")
		if err := s.w.Steer(t.Context(), workertest.Input("say nudged")); err != nil {
			t.Error(err)
		}
		s.end(t)
	}},
	{name: "failures", play: func(t *testing.T, s *stageHand) {
		for _, text := range []string{"fail 401", "fail 404", "fail 429 0 quota", "fail 400", "fail 500 1\nsay fine", "cut", "say after"} {
			s.prompt(t, text, nil)
		}
	}},
	{name: "subagent", mode: modeYolo, play: func(t *testing.T, s *stageHand) {
		s.prompt(t, "task say from below\nsay tasked", nil)
		s.prompt(t, "say after", nil)
	}},
	{name: "unknown", native: "00000000-0000-4000-8000-000000000000"},
}

// stageHand plays a scenario and writes down what the driver makes of it.
type stageHand struct {
	w *Worker

	host   *workertest.Host
	cancel context.CancelCauseFunc
	result <-chan error

	mu  sync.Mutex
	out strings.Builder
}

func (sc scenario) spec(workspace string) worker.Spec {
	return worker.Spec{Session: 1, Workspace: workspace, Mode: sc.mode, NativeID: sc.native}
}

func (s *stageHand) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.out, format+"\n", args...)
}

func (s *stageHand) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *stageHand) set(t *testing.T, c chat.Settings) {
	t.Helper()
	applied, err := s.w.Set(t.Context(), c)
	s.note("set %+v: %s %v", c, applied, err)
}

func (s *stageHand) prompt(t *testing.T, text string, answer workertest.Answer) {
	t.Helper()
	s.host = workertest.NewHost(answer)
	s.start(t, text)
	s.end(t)
}

func (s *stageHand) begin(t *testing.T, text string) *workertest.Host {
	t.Helper()
	s.host = workertest.NewHost(nil)
	s.start(t, text)
	return s.host
}

func (s *stageHand) start(t *testing.T, text string) {
	t.Helper()
	s.note("prompt %q", text)
	s.cancel, s.result = workertest.Begin(t, s.w, text, s.host)
}

func (s *stageHand) stop(t *testing.T) {
	t.Helper()
	s.cancel(chat.E(chat.Stopped, "", nil))
	s.end(t)
}

// end waits for the end of the turn and writes its story.
func (s *stageHand) end(t *testing.T) {
	t.Helper()
	err := <-s.result
	for _, q := range s.host.Asked() {
		s.note("  asked %s %q: %q; %d options, %d queries", q.Kind, q.Title, q.Detail, len(q.Options), len(q.Queries))
	}
	words := ""
	for _, e := range s.host.Events() {
		if e.Kind == chat.EventText {
			words += e.Text
			continue
		}
		if words != "" {
			s.note("  text %q", words)
			words = ""
		}
		s.note("  %s", told(e))
	}
	if words != "" {
		s.note("  text %q", words)
	}
	s.note("  end %s %q; model %s, mode %s, effort %q", chat.CodeOf(err), chat.DetailOf(err), s.w.Info().Model, s.w.Info().Mode, s.w.Info().Effort)
}

// told is an event as the golden files have it.
func told(e chat.Event) string {
	switch {
	case e.Tool != nil:
		return fmt.Sprintf("tool %s %q %s", e.Tool.Name, e.Tool.Title, e.Tool.State)
	case e.Usage != nil:
		return fmt.Sprintf("usage %s in %d out %d, %d of %d", e.Usage.Model, e.Usage.In, e.Usage.Out, e.Usage.Used, e.Usage.Window)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %q", e.Kind, e.Code, e.Text))
}
