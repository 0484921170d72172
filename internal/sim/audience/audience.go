// Package audience is a worker.Host for tests of agent drivers: it remembers
// what it is told and answers as the test says. Only tests use it.
package audience

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Host = (*Audience)(nil)

// Answer decides about a question.
type Answer func(ctx context.Context, q chat.Question) (chat.Answer, error)

// patience is how long Await waits.
const patience = 30 * time.Second

// Audience is a host.
type Audience struct {
	answer Answer

	mu     sync.Mutex
	events []chat.Event
	asked  []chat.Question
	news   chan struct{} // closed and replaced whenever something comes
	over   bool
	late   int
}

// New returns an audience that answers with answer; nil = every question is an
// error, as when nobody decides.
func New(answer Answer) *Audience { return &Audience{answer: answer, news: make(chan struct{})} }

// Allow allows everything.
func Allow(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{Effect: chat.EffectAllow}, nil
}

// Say answers every question with a.
func Say(a chat.Answer) Answer {
	return func(context.Context, chat.Question) (chat.Answer, error) { return a, nil }
}

// Emit implements worker.Host.
func (a *Audience) Emit(_ context.Context, e chat.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		a.late++
	}
	a.events = append(a.events, e)
	a.tell()
	return nil
}

// Ask implements worker.Host.
func (a *Audience) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q)
	a.tell()
	a.mu.Unlock()
	if a.answer == nil {
		return chat.Answer{}, chat.E(chat.Internal, "nobody answers in this test", nil)
	}
	return a.answer(ctx, q)
}

// tell wakes who waits; a.mu is held.
func (a *Audience) tell() {
	close(a.news)
	a.news = make(chan struct{})
}

// Leave says that the turn is over: what comes later fails the test.
func (a *Audience) Leave(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	t.Cleanup(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.late > 0 {
			t.Errorf("%d events after the end of the turn", a.late)
		}
	})
}

// Await waits until ok holds for the events so far.
func (a *Audience) Await(t *testing.T, what string, ok func(events []chat.Event) bool) {
	t.Helper()
	late := time.After(patience)
	for {
		a.mu.Lock()
		good, news := ok(a.events), a.news
		a.mu.Unlock()
		if good {
			return
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("no %s in time; text so far: %q", what, a.Text())
		}
	}
}

// AwaitText waits until the answer contains s.
func (a *Audience) AwaitText(t *testing.T, s string) {
	t.Helper()
	a.Await(t, s, func(es []chat.Event) bool { return strings.Contains(Text(es), s) })
}

// AwaitQuestions waits until n questions were asked.
func (a *Audience) AwaitQuestions(t *testing.T, n int) {
	t.Helper()
	a.Await(t, "question", func([]chat.Event) bool { return len(a.asked) >= n })
}

// Text is the answer; a closed block ends with a bar.
func (a *Audience) Text() string { return Text(a.Events()) }

// Text is the answer in events; a closed block ends with a bar.
func Text(events []chat.Event) string {
	var sb strings.Builder
	for _, e := range events {
		switch e.Kind {
		case chat.EventText:
			sb.WriteString(e.Text)
		case chat.EventBreak:
			sb.WriteString("|")
		default:
		}
	}
	return sb.String()
}

// Events returns everything so far.
func (a *Audience) Events() []chat.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// Of returns the events of one kind.
func (a *Audience) Of(k chat.EventKind) []chat.Event {
	return slices.DeleteFunc(a.Events(), func(e chat.Event) bool { return e.Kind != k })
}

// Asked returns the questions so far.
func (a *Audience) Asked() []chat.Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Input is an input of one text.
func Input(text string) chat.Input { return chat.Input{Pieces: []chat.Piece{{Text: text}}} }

// Prompt runs a whole turn.
func Prompt(t *testing.T, w worker.Worker, text string, answer Answer) (*Audience, error) {
	t.Helper()
	a := New(answer)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := w.Prompt(ctx, Input(text), a)
	a.Leave(t)
	return a, err
}

// Begin starts a turn and returns how to cancel it, and its result.
func Begin(t *testing.T, w worker.Worker, text string, a *Audience) (cancel context.CancelCauseFunc, result <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	res := make(chan error, 1)
	go func() { // ends with the turn
		err := w.Prompt(ctx, Input(text), a)
		a.Leave(t)
		res <- err
	}()
	return cancel, res
}
