package reply

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
)

const (
	typingEvery   = 4 * time.Second
	signalTimeout = 5 * time.Second
)

// typist keeps the platform's sign of life up while a turn runs. It stops for
// good at the first error, and with its context.
type typist struct {
	live   *Live
	wg     sync.WaitGroup
	last   time.Time
	busy   atomic.Bool
	failed atomic.Bool
}

// tick gives the sign when it is due.
func (t *typist) tick(ctx context.Context) {
	l := t.live
	l.mu.Lock()
	waiting := l.story.state.waiting
	l.mu.Unlock()
	if !l.traits.Typing || waiting || t.failed.Load() || time.Since(t.last) < typingEvery || !t.busy.CompareAndSwap(false, true) {
		return
	}
	a, ok := l.sender.adapters[l.turn.Place.Account]
	if !ok {
		return
	}
	t.last = time.Now()
	t.wg.Go(func() {
		defer t.busy.Store(false)
		ctx, cancel := context.WithTimeout(ctx, signalTimeout)
		defer cancel()
		if err := a.Signal(ctx, l.turn.Place, chat.Ref{}, chat.Signal{Kind: chat.SignalTyping}); err != nil {
			t.failed.Store(true)
			if chat.CodeOf(err) == chat.Wait {
				l.sender.told(l.turn.Place.Channel(), chat.AfterOf(err))
			}
		}
	})
}

// next is when to look again.
func (t *typist) next() time.Duration { return max(time.Until(t.last.Add(typingEvery)), typingEvery/8) }

func (t *typist) wait() { t.wg.Wait() }
