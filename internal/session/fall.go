package session

import (
	"context"
	"time"

	"cligate/internal/chat"
)

const (
	// steady is how long a process has to live for its death to be no sign of
	// one that cannot live. One that survives a turn is trusted at once.
	steady    = 10 * time.Second
	fallLeast = time.Second // the pause after the second death in a row
	fallMost  = time.Minute
	fallPast  = 10 * time.Minute // so long ago that it does not count any more
)

// fall is the deaths of a session's processes that were hardly there, one
// after the other.
type fall struct {
	n  int
	at time.Time // of the last one
}

// pause is how long after the last death the next process is started. The
// first one is no reason to wait.
func (f fall) pause() time.Duration {
	if f.n < 2 {
		return 0
	}
	return min(fallLeast<<min(f.n-2, 10), fallMost)
}

// fellLocked notes a death.
func (p *pool) fellLocked(session int64) {
	for id, f := range p.falls {
		if time.Since(f.at) > fallPast {
			delete(p.falls, id)
		}
	}
	p.falls[session] = fall{n: p.falls[session].n + 1, at: time.Now()}
}

// recover waits before a session gets its next process, when the earlier ones
// died as soon as they were there. Without patience it does not wait.
func (p *pool) recover(ctx context.Context, session int64, patient bool) error {
	p.mu.Lock()
	f := p.falls[session]
	p.mu.Unlock()
	wait := f.pause() - time.Since(f.at)
	if wait <= 0 {
		return nil
	}
	if !patient {
		return chat.E(chat.Full, "its processes died", nil)
	}
	p.log.InfoContext(ctx, "worker is not reopened at once", "session", session, "deaths", f.n, "pause", wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
