package turn

import (
	"slices"
	"sync"

	"cligate/internal/chat"
)

// Board tells running turns that their asks were decided. It only wakes: the
// ledger's row is the decision. The zero value is ready.
type Board struct {
	mu      sync.Mutex
	waiters map[int64][]chan chat.Ask
}

// Decided wakes who waits for a. It is called after the decision was
// committed, never blocks, and may be called for asks that nobody waits for.
func (b *Board) Decided(a chat.Ask) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ch := range b.waiters[a.ID] {
		ch <- a // has room for it
	}
	delete(b.waiters, a.ID)
}

// await returns a channel that receives the decided ask, and the way to stop
// waiting.
func (b *Board) await(id int64) (decided <-chan chat.Ask, leave func()) {
	ch := make(chan chat.Ask, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters == nil {
		b.waiters = map[int64][]chan chat.Ask{}
	}
	b.waiters[id] = append(b.waiters[id], ch)
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiters[id] = slices.DeleteFunc(b.waiters[id], func(c chan chat.Ask) bool { return c == ch })
		if len(b.waiters[id]) == 0 {
			delete(b.waiters, id)
		}
	}
}
