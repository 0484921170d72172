package receive

import (
	"sync"

	"cligate/internal/chat"
)

// memoMost bounds how many presses are remembered.
const memoMost = 4096

// memo remembers what came of presses, by their event. Adding a piece to an
// answer twice would take it away again; the ledger's compare-and-set keeps
// whole answers from being given twice, but not pieces. It need not outlive the
// process: no ask does.
type memo struct {
	mu   sync.Mutex
	acks map[int64]*outcome
	ids  []int64 // oldest first
}

type outcome struct {
	over chan struct{} // closed when ack and err are set
	ack  chat.Ack
	err  error
}

// do returns what f returned for that event; f runs once, unless it fails.
func (m *memo) do(event int64, f func() (chat.Ack, error)) (chat.Ack, error) {
	m.mu.Lock()
	o, known := m.acks[event]
	if !known {
		o = &outcome{over: make(chan struct{})}
		m.acks[event] = o
		if m.ids = append(m.ids, event); len(m.ids) > memoMost {
			delete(m.acks, m.ids[0])
			m.ids = m.ids[1:]
		}
	}
	m.mu.Unlock()
	if known {
		<-o.over
		return o.ack, o.err
	}
	defer close(o.over)
	o.ack, o.err = f()
	if o.err != nil {
		m.mu.Lock()
		delete(m.acks, event)
		m.mu.Unlock()
	}
	return o.ack, o.err
}
