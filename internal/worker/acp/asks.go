package acp

import (
	"context"
	"sync"
)

// asks are the questions of a turn, from the agent's request until our answer
// has been written.
type asks struct {
	ctx  context.Context // ends with the turn, and when it is cancelled
	stop context.CancelFunc
	all  sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // by the id of the request
	over bool
}

func newAsks(ctx context.Context) *asks {
	a := &asks{}
	a.ctx, a.stop = context.WithCancel(ctx)
	return a
}

// closed reports whether the turn asks nothing any more.
func (a *asks) closed() bool { return a.ctx.Err() != nil }

// begin opens a question; false = the turn asks nothing any more.
func (a *asks) begin(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.closed() || a.open[id] {
		return false
	}
	if a.open == nil {
		a.open = map[string]bool{}
	}
	a.open[id] = true
	a.all.Add(1)
	return true
}

// end closes a question.
func (a *asks) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] {
		delete(a.open, id)
		a.all.Done()
	}
}

// wait waits until every answer has been written, or could not be; nothing is
// asked any more then.
func (a *asks) wait() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.all.Wait()
}
