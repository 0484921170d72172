package workertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Answer decides about a question.
type Answer func(ctx context.Context, q chat.Question) (chat.Answer, error)

// Allow allows everything.
func Allow(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{Effect: chat.EffectAllow}, nil
}

// Say answers every question with a.
func Say(a chat.Answer) Answer {
	return func(context.Context, chat.Question) (chat.Answer, error) { return a, nil }
}

// Nobody decides: every question ends with an error.
func Nobody(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Expired, "", errors.New("nobody answered"))
}

// Undecided leaves questions open until the agent withdraws them.
func Undecided(ctx context.Context, _ chat.Question) (chat.Answer, error) {
	<-ctx.Done()
	return chat.Answer{}, context.Cause(ctx)
}

// Host is a turn's host that remembers what it is told and answers as the test
// says.
type Host struct {
	answer Answer

	mu     sync.Mutex
	events []chat.Event
	asked  []chat.Question
	gone   int  // questions whose ctx ended
	over   bool // the turn is over
	late   int  // calls after that
	news   chan struct{}
}

var _ worker.Host = (*Host)(nil)

// NewHost returns a host that answers with answer; nil = Nobody.
func NewHost(answer Answer) *Host {
	if answer == nil {
		answer = Nobody
	}
	return &Host{answer: answer, news: make(chan struct{})}
}

// tell wakes whoever waits. h.mu is held.
func (h *Host) tell() {
	close(h.news)
	h.news = make(chan struct{})
}

// Emit implements worker.Host.
func (h *Host) Emit(_ context.Context, e chat.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		h.late++
		return nil
	}
	h.events = append(h.events, e)
	h.tell()
	return nil
}

// Ask implements worker.Host.
func (h *Host) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	h.mu.Lock()
	if h.over {
		h.late++
	}
	h.asked = append(h.asked, q)
	h.tell()
	h.mu.Unlock()
	a, err := h.answer(ctx, q)
	if ctx.Err() != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gone++
		h.tell()
	}
	return a, err
}

// end says that the turn is over.
func (h *Host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// Leave says that the turn is over: what comes later fails the test.
func (h *Host) Leave(t *testing.T) {
	t.Helper()
	h.end()
	t.Cleanup(func() {
		if n := h.Late(); n > 0 {
			t.Errorf("the host was used %d times after its turn", n)
		}
	})
}

// Text is the answer so far.
func (h *Host) Text() string { return text(h.Events(), "") }

// Blocks is the answer so far; each block that is closed ends with a bar.
func (h *Host) Blocks() string { return text(h.Events(), "|") }

func text(events []chat.Event, end string) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case chat.EventText:
			b.WriteString(e.Text)
		case chat.EventBreak:
			b.WriteString(end)
		default:
		}
	}
	return b.String()
}

// Events are the events so far.
func (h *Host) Events() []chat.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// Of returns the events of one kind.
func (h *Host) Of(k chat.EventKind) []chat.Event {
	return slices.DeleteFunc(h.Events(), func(e chat.Event) bool { return e.Kind != k })
}

// Asked are the questions so far.
func (h *Host) Asked() []chat.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Late is how often the host was used after its turn.
func (h *Host) Late() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.late
}

// Withdrawn is how many questions were withdrawn.
func (h *Host) Withdrawn() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone
}

// story tells what happened, for a failed test.
func (h *Host) story() string {
	var b strings.Builder
	for _, e := range h.Events() {
		fmt.Fprintf(&b, "%s %.60q; ", e.Kind, e.Text)
		if b.Len() > 2000 {
			break
		}
	}
	return fmt.Sprintf("%s %d asks", b.String(), len(h.Asked()))
}

// Await waits until ok holds for the events so far.
func (h *Host) Await(t *testing.T, what string, ok func(events []chat.Event) bool) {
	t.Helper()
	h.until(t, what, func() bool { return ok(h.events) })
}

// AwaitText waits until the answer contains s; an empty one is any text.
func (h *Host) AwaitText(t *testing.T, s string) {
	t.Helper()
	h.until(t, "text "+s, func() bool {
		all := text(h.events, "|")
		return all != "" && strings.Contains(all, s)
	})
}

// AwaitQuestions waits until n questions were asked.
func (h *Host) AwaitQuestions(t *testing.T, n int) {
	t.Helper()
	h.until(t, "question", func() bool { return len(h.asked) >= n })
}

// until waits until ok, which is called with h.mu held.
func (h *Host) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(patience())
	for {
		h.mu.Lock()
		good, news := ok(), h.news
		h.mu.Unlock()
		if good {
			return
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("no %s; so far: %s", what, h.story())
		}
	}
}
