package session

import (
	"context"

	"cligate/internal/chat"
)

// slot waits for room for one more process. The worker that has been idle for
// longest makes room; when all are busy, the first one released does. Without
// patience it does not wait for a busy one. waiting is called before it does.
func (p *pool) slot(ctx context.Context, patient bool, waiting func()) error {
	if p.slots == nil || p.slots.TryAcquire(1) {
		return nil
	}
	p.mu.Lock()
	victim := p.oldestLocked()
	if victim == nil && !patient {
		p.mu.Unlock()
		return chat.E(chat.Full, "all workers are busy", nil)
	}
	p.starved++
	if victim != nil {
		p.retireLocked(victim)
	}
	p.mu.Unlock()

	if victim == nil {
		waiting()
	}
	err := p.slots.Acquire(ctx, 1)

	p.mu.Lock()
	p.starved--
	p.mu.Unlock()
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// free gives the slot of a process back that was not started after all.
func (p *pool) free() {
	if p.slots != nil {
		p.slots.Release(1)
	}
}
