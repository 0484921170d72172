package workertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Host records a turn and answers what it asks.
type Host struct {
	// Answer answers a question. nil = the question stays open until its ctx
	// ends.
	Answer func(q chat.Question) (chat.Answer, error)

	mu     sync.Mutex
	events []chat.Event
	asks   []chat.Question
	gone   int  // questions whose ctx ended
	ended  bool // the turn is over
	late   int  // calls after that
	change chan struct{}
}

var _ worker.Host = (*Host)(nil)

// NewHost returns a host that leaves questions open.
func NewHost() *Host { return &Host{change: make(chan struct{})} }

// Answering returns a host that gives every question the same answer.
func Answering(a chat.Answer) *Host {
	h := NewHost()
	h.Answer = func(chat.Question) (chat.Answer, error) { return a, nil }
	return h
}

// changed wakes whoever waits. h.mu is held.
func (h *Host) changed() {
	close(h.change)
	h.change = make(chan struct{})
}

// Emit implements worker.Host.
func (h *Host) Emit(_ context.Context, e chat.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		h.late++
		return nil
	}
	h.events = append(h.events, e)
	h.changed()
	return nil
}

// Ask implements worker.Host.
func (h *Host) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	h.mu.Lock()
	if h.ended {
		h.late++
	}
	h.asks = append(h.asks, q)
	h.changed()
	answer := h.Answer
	h.mu.Unlock()
	if answer != nil {
		return answer(q)
	}
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone++
	h.changed()
	return chat.Answer{}, context.Cause(ctx)
}

func (h *Host) over() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
}

// Text is the answer so far.
func (h *Host) Text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, e := range h.events {
		if e.Kind == chat.EventText {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// Asks are the questions so far.
func (h *Host) Asks() []chat.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]chat.Question(nil), h.asks...)
}

// Events are the events so far.
func (h *Host) Events() []chat.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]chat.Event(nil), h.events...)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, e := range h.events {
		fmt.Fprintf(&b, "%s %.60q; ", e.Kind, e.Text)
		if b.Len() > 2000 {
			break
		}
	}
	return fmt.Sprintf("%s %d asks", b.String(), len(h.asks))
}

// until waits until ok.
func (h *Host) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(limit)
	for {
		h.mu.Lock()
		change := h.change
		h.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("no %s; so far: %s", what, h.story())
		}
	}
}

var errNobody = chat.E(chat.Expired, "", errors.New("nobody answered"))
