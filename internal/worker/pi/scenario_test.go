package pi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker/workertest"
)

// scenario is something to do with an agent. It is played with the real CLI to
// record what both sides say (record_test.go), and again and again with the
// recording (replay_test.go).
type scenario struct {
	name string
	play func(t *testing.T, s *stage)
}

var scenarios = []scenario{
	{"turns", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "think deep\nsay five")
		s.prompt(t, "run echo six\nsay seven")
		s.prompt(t, "recall")
	}},
	{"failures", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "fail 401")
		s.prompt(t, "fail 404")
		s.prompt(t, "fail 529 4\nsay at last")
	}},
	{"compact", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "remember the word plum")
		s.prompt(t, "/compact")
		s.prompt(t, "what was the word?")
	}},
	{"stop", func(t *testing.T, s *stage) {
		t.Helper()
		s.stop(t, "run timeout 60 tail -f /dev/null")
		s.prompt(t, "say alive")
	}},
}

// stage is where a scenario is played: it writes down what the driver reports.
type stage struct {
	w    *Worker
	halt context.CancelCauseFunc // called when a tool runs; nil = never

	mu  sync.Mutex
	out strings.Builder
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.out, format+"\n", args...)
}

func (s *stage) end(err error) { s.note("end %s %q", chat.CodeOf(err), chat.DetailOf(err)) }

func (s *stage) prompt(t *testing.T, text string) {
	t.Helper()
	s.note("prompt %q", text)
	s.end(s.w.Prompt(t.Context(), workertest.Input(text), s))
}

// stop ends a turn as soon as its tool runs.
func (s *stage) stop(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s.halt = cancel
	s.note("prompt %q, which is stopped", text)
	s.end(s.w.Prompt(ctx, workertest.Input(text), s))
	s.halt = nil
}

// Emit implements worker.Host.
func (s *stage) Emit(_ context.Context, e chat.Event) error {
	switch {
	case e.Tool != nil:
		s.note("  tool %s %q %s", e.Tool.Name, e.Tool.Title, e.Tool.State)
		if s.halt != nil && e.Tool.State == chat.ToolRunning {
			s.halt(chat.E(chat.Stopped, "", errors.New("a person said stop")))
		}
	case e.Usage != nil:
		u := *e.Usage
		u.Took = 0
		s.note("  usage %+v", u)
	default:
		s.note("  %s %q %s", e.Kind, e.Text, e.Code)
	}
	return nil
}

// Ask implements worker.Host.
func (s *stage) Ask(_ context.Context, q chat.Question) (chat.Answer, error) {
	s.note("  ask %+v", q)
	return chat.Answer{Effect: chat.EffectDeny}, nil
}
