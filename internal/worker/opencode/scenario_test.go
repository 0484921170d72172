package opencode

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

// scenario is something to do with a session. It is played with the real CLI to
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
		s.prompt(t, "todo\nsay six")
		s.prompt(t, "recall")
	}},
	{"asks", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "run echo wanted")
		s.prompt(t, "ask")
		s.deny = true
		s.prompt(t, "run echo unwanted")
		s.prompt(t, "ask")
	}},
	{"failures", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "fail 401")
		s.prompt(t, "fail 404")
		s.prompt(t, "say alive")
	}},
	{"helper", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "task run echo from below\nsay after")
	}},
	{"compact", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "remember the word plum")
		s.prompt(t, "/compact")
		s.prompt(t, "what was the word?")
	}},
	{"settings", func(t *testing.T, s *stage) {
		t.Helper()
		s.set(t, chat.Settings{Model: "mock/mock-small", Effort: "high"})
		s.set(t, chat.Settings{Mode: "plan"})
		s.prompt(t, "model")
	}},
	{"cut", func(t *testing.T, s *stage) {
		t.Helper()
		s.prompt(t, "cut")
		s.prompt(t, "say alive")
	}},
	{"steer", func(t *testing.T, s *stage) {
		t.Helper()
		s.steer(t, "slow 20 150", "say nudged")
		s.prompt(t, "recall")
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
	deny bool

	mu    sync.Mutex
	out   strings.Builder
	asked []string // in a turn; when they come between other things is chance
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.out, format+"\n", args...)
}

func (s *stage) end(err error) {
	for _, q := range s.asked {
		s.note("  %s", q)
	}
	s.asked = nil
	s.note("end %s %q", chat.CodeOf(err), chat.DetailOf(err))
}

func (s *stage) ask(q chat.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("ask %s %s %q %q %+v", q.Kind, q.Tool, q.Title, q.Detail, q.Queries))
}

func (s *stage) prompt(t *testing.T, text string) {
	t.Helper()
	s.note("prompt %q", text)
	s.end(s.w.Prompt(t.Context(), workertest.Input(text), s))
}

// stop ends a turn as soon as it asks for leave.
func (s *stage) stop(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s.note("prompt %q, which is stopped", text)
	s.end(s.w.Prompt(ctx, workertest.Input(text), stopper{s, cancel}))
}

// steer puts words into a turn when it has begun to speak.
func (s *stage) steer(t *testing.T, text, words string) {
	t.Helper()
	s.note("prompt %q, steered with %q", text, words)
	h := steerer{s, make(chan struct{}, 1)}
	result := make(chan error, 1)
	go func() { // ends with the turn at the latest
		<-h.text
		result <- s.w.Steer(t.Context(), workertest.Input(words))
	}()
	err := s.w.Prompt(t.Context(), workertest.Input(text), h)
	s.note("  steered %s", chat.CodeOf(<-result))
	s.end(err)
}

// steerer tells when there is text.
type steerer struct {
	*stage
	text chan struct{}
}

// Emit implements worker.Host.
func (s steerer) Emit(ctx context.Context, e chat.Event) error {
	if e.Kind == chat.EventText {
		select {
		case s.text <- struct{}{}:
		default:
		}
	}
	return s.stage.Emit(ctx, e)
}

func (s *stage) set(t *testing.T, c chat.Settings) {
	t.Helper()
	applied, err := s.w.Set(t.Context(), c)
	s.note("set %+v: %s %s", c, applied, chat.CodeOf(err))
}

// Emit implements worker.Host.
func (s *stage) Emit(_ context.Context, e chat.Event) error {
	switch {
	case e.Tool != nil:
		s.note("  tool %s %q %s", e.Tool.Name, e.Tool.Title, e.Tool.State)
	case e.Usage != nil:
		u := *e.Usage
		u.Took = 0
		s.note("  usage %+v", u)
	case e.Plan != nil:
		s.note("  plan %+v", e.Plan)
	default:
		s.note("  %s %q %s", e.Kind, e.Text, e.Code)
	}
	return nil
}

// Ask implements worker.Host.
func (s *stage) Ask(_ context.Context, q chat.Question) (chat.Answer, error) {
	s.ask(q)
	switch {
	case s.deny:
		return chat.Answer{Effect: chat.EffectDeny, Text: "not today"}, nil
	case q.Kind == chat.AskChoice:
		return chat.Answer{Effect: chat.EffectChoose, Values: map[string][]string{"0": {"blue"}}}, nil
	}
	return chat.Answer{Effect: chat.EffectAllow}, nil
}

// stopper stops the turn when it is asked.
type stopper struct {
	*stage
	cancel context.CancelCauseFunc
}

// Ask implements worker.Host.
func (s stopper) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	s.ask(q)
	s.cancel(chat.E(chat.Stopped, "", errors.New("a person said stop")))
	<-ctx.Done()
	return chat.Answer{}, context.Cause(ctx)
}
