package router

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"cligate/internal/chat"
)

const (
	asideAtOnce = 2  // commands that are carried out beside the router
	asideMost   = 16 // those, and the ones that wait for it
)

// aside carries out commands that may take long, while the router goes on. The
// message that orders one, which is the command or the press that lets an old
// one run, stays new until it has ended: after a crash it is carried out again,
// and what it says is committed with its end, once.
type aside struct {
	trouble *trouble
	wg      *sync.WaitGroup
	slots   chan struct{}

	mu   sync.Mutex
	busy map[int64]bool // messages
}

func newAside(t *trouble, wg *sync.WaitGroup) *aside {
	return &aside{trouble: t, wg: wg, slots: make(chan struct{}, asideAtOnce), busy: map[int64]bool{}}
}

// now returns the messages that are being worked on.
func (a *aside) now() map[int64]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.busy)
}

// start does f, which ends in and the messages that it lets run, beside the
// router, and again until it succeeds or is given up. chat.Full: too many wait
// already. Only the router's own goroutine calls it.
func (a *aside) start(ctx context.Context, in chat.Inbound, f func() error, runs ...chat.Inbound) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.busy)+len(runs) >= asideMost {
		return chat.E(chat.Full, strconv.Itoa(asideMost), nil)
	}
	all := append(slices.Clone(runs), in)
	for _, x := range all {
		a.busy[x.ID] = true
	}
	a.wg.Go(func() {
		defer a.done(all)
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		case <-ctx.Done():
			return
		}
		for n := 1; !a.trouble.attempt(ctx, in, f); n++ {
			timer := time.NewTimer(backoff(n))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
	})
	return nil
}

func (a *aside) done(ins []chat.Inbound) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, in := range ins {
		delete(a.busy, in.ID)
	}
}
