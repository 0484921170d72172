package reply

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// sender delivers the outbox: one goroutine for each channel that has
// something to send, none for the others.
type sender struct {
	ledger   Ledger
	adapters map[string]platform.Adapter
	lives    *lives
	pacer    *pacer
	cfg      Config
	log      *slog.Logger

	mu       sync.Mutex
	ctx      context.Context // of run; nil before
	stopped  bool
	channels map[string]*channel
	changed  chan struct{} // closed and replaced when a channel ends
	wg       sync.WaitGroup
}

// channel is one chat that has something to send.
type channel struct {
	name  string
	bell  chan struct{} // something may have changed; holds one ring
	again bool          // rung since it last looked; guarded by sender.mu
	tries int           // failures in a row
	rest  time.Time     // it waits for this time, and Flush does not wait for it
}

func newSender(l Ledger, adapters map[string]platform.Adapter, ls *lives, cfg Config) *sender {
	return &sender{
		ledger: l, adapters: adapters, lives: ls, pacer: newPacer(), cfg: cfg, log: cfg.Log,
		channels: map[string]*channel{}, changed: make(chan struct{}),
	}
}

// run starts with what an earlier life left, and ends when ctx has ended and
// nothing is in flight.
func (s *sender) run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	early := s.channels // rung before we ran
	for _, c := range early {
		s.start(c)
	}
	s.mu.Unlock()
	for try := 0; ; try++ {
		names, err := s.ledger.Channels(ctx)
		if err == nil {
			for _, n := range names {
				s.wake(n)
			}
			break
		}
		s.log.WarnContext(ctx, "outbox not readable yet", "err", err)
		if !sleep(ctx, nil, backoff(try)) {
			break
		}
	}
	<-ctx.Done()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// wake looks at a channel. It never blocks.
func (s *sender) wake(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	if c, ok := s.channels[name]; ok {
		c.again = true
		select {
		case c.bell <- struct{}{}:
		default:
		}
		return
	}
	c := &channel{name: name, bell: make(chan struct{}, 1)}
	s.channels[name] = c
	if s.ctx != nil {
		s.start(c)
	}
}

// start begins a channel's goroutine; the lock is held.
func (s *sender) start(c *channel) { s.wg.Go(func() { s.serve(s.ctx, c) }) }

// serve works off one channel: its rows first, then what is due of its live
// messages. It ends when there is nothing, looking once more before it does.
func (s *sender) serve(ctx context.Context, c *channel) {
	for ctx.Err() == nil {
		s.mu.Lock()
		c.again = false
		s.mu.Unlock()
		o, err := s.ledger.NextOut(ctx, c.name)
		switch {
		case err == nil:
			s.deliver(ctx, c, o)
		case chat.CodeOf(err) == chat.Missing:
			if s.refresh(ctx, c) {
				continue
			}
			if s.leave(c) {
				return
			}
		case ctx.Err() == nil:
			s.log.WarnContext(ctx, "outbox not readable", "channel", c.name, "err", err)
			s.restFor(ctx, c, backoff(c.tries))
			c.tries++
		}
	}
	s.mu.Lock()
	s.gone(c)
	s.mu.Unlock()
}

// leave ends a channel unless it was rung since it last looked.
func (s *sender) leave(c *channel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.again {
		return false
	}
	s.gone(c)
	return true
}

func (s *sender) gone(c *channel) {
	delete(s.channels, c.name)
	close(s.changed)
	s.changed = make(chan struct{})
}

// flush waits until no channel works, or those that do wait for a told time,
// or ctx ends.
func (s *sender) flush(ctx context.Context) {
	for {
		s.mu.Lock()
		busy := false
		for _, c := range s.channels {
			busy = busy || time.Until(c.rest) < time.Second
		}
		changed := s.changed
		s.mu.Unlock()
		if !busy {
			return
		}
		t := time.NewTimer(200 * time.Millisecond)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// restFor waits, but not beyond a ring or the end; c.rest tells others.
func (s *sender) restFor(ctx context.Context, c *channel, d time.Duration) {
	s.mu.Lock()
	c.rest = time.Now().Add(d)
	s.mu.Unlock()
	sleep(ctx, nil, d)
	s.mu.Lock()
	c.rest = time.Time{}
	s.mu.Unlock()
}

// sleep reports whether the time passed, or the bell rang, before ctx ended.
func sleep(ctx context.Context, bell <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-bell:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// signal gives a typing signal beside everything else.
func (s *sender) signal(l *Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.ctx == nil {
		return
	}
	ctx := s.ctx
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, signalBudget)
		defer cancel()
		if err := l.adapter.Signal(ctx, l.turn.Place, chat.Ref{}, chat.Signal{Kind: chat.SignalTyping}); err != nil && ctx.Err() == nil {
			l.muted()
			s.log.DebugContext(ctx, "no typing here", "turn", l.turn.ID, "err", err)
		}
	})
}

// introduce stores the first form of a live message, or finds the one that an
// earlier attempt at the turn has shown.
func (s *sender) introduce(l *Live, o chat.Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.ctx == nil {
		return
	}
	ctx := s.ctx
	s.wg.Go(func() {
		if ref, err := s.ledger.Shown(ctx, o.Turn); err == nil {
			l.accepted(ref, chat.Part{})
			l.mu.Lock()
			l.touch()
			l.mu.Unlock()
			return
		}
		if err := s.ledger.Enqueue(ctx, []chat.Out{o}); err != nil {
			s.log.DebugContext(ctx, "no live message", "turn", o.Turn, "err", err)
			return
		}
		s.wake(o.Place.Channel())
	})
}
