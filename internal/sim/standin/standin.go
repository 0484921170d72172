// Package standin is what the stand-ins for chat services share: rules that
// can be switched off, failures that are to come, a journal of what was asked.
package standin

import (
	"slices"
	"sync"
	"time"
)

// Rulebook knows which rules are in force. Its zero value has all of them.
type Rulebook[R comparable] struct {
	mu  sync.Mutex
	off map[R]bool
}

// Without switches rules off, to prove that tests notice.
func (b *Rulebook[R]) Without(rules ...R) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off == nil {
		b.off = map[R]bool{}
	}
	for _, r := range rules {
		b.off[r] = true
	}
}

// On reports whether a rule is in force.
func (b *Rulebook[R]) On(r R) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.off[r]
}

// Journal is what was asked of a server.
type Journal[C any] struct {
	mu    sync.Mutex
	calls []C
}

// Calls returns what was asked so far.
func (j *Journal[C]) Calls() []C {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.calls)
}

// Note adds a call.
func (j *Journal[C]) Note(c C) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, c)
}

// Wait blocks until ok, called with no lock held, says so or the limit passes.
func Wait(limit time.Duration, ok func() bool) bool {
	end := time.Now().Add(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(end) {
			return false
		}
		<-tick.C
	}
	return true
}
