package reply

import (
	"context"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	// rescan is how often the outbox is searched for rows that nobody woke us
	// for: it costs one query and makes a forgotten wake-up a delay.
	rescan = time.Minute
)

// sender keeps one goroutine per channel that has something to send. What is
// idle costs nothing.
type sender struct {
	ledger   Ledger
	adapters map[string]platform.Adapter
	cfg      Config
	pace     *pacer
	signs    *signs
	running  chan struct{} // closed when Run has begun; ctx may be read then
	ctx      context.Context
	wg       sync.WaitGroup

	mu    sync.Mutex
	over  bool
	busy  map[string]*channel
	lives map[int64]*Live // of running turns, by turn
}

func newSender(l Ledger, adapters map[string]platform.Adapter, cfg Config) *sender {
	s := &sender{
		ledger: l, adapters: adapters, cfg: cfg, pace: newPacer(), running: make(chan struct{}),
		busy: map[string]*channel{}, lives: map[int64]*Live{},
	}
	s.signs = &signs{sender: s, off: cfg.NoReactions, rows: map[int64]*sign{}}
	return s
}

// spawn runs f beside the caller and reports whether it does: not at the end.
func (s *sender) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.wg.Go(f)
	return true
}

// told notes that a service wants nothing from us in a channel for a while, for
// this process and for one that follows it.
func (s *sender) told(channel string, after time.Duration) {
	until := s.pace.pause(channel, after+margin)
	if err := s.ledger.Told(context.WithoutCancel(s.ctx), channel, until); err != nil {
		s.cfg.Log.WarnContext(s.ctx, "a wait is not noted", "channel", channel, "err", err)
	}
}

func (s *sender) run(ctx context.Context) error {
	s.recall(ctx)
	s.gather(ctx)
	s.mu.Lock()
	s.ctx = ctx
	close(s.running)
	for _, c := range s.busy { // woken before we began
		s.wg.Go(c.work)
	}
	s.mu.Unlock()
	s.signs.open()
	complained := false
	for ctx.Err() == nil {
		channels, err := s.ledger.Channels(ctx)
		next := rescan
		if err != nil {
			next = firstRetry
			if !complained && ctx.Err() == nil {
				s.cfg.Log.ErrorContext(ctx, "outbox not read", "err", err)
			}
		}
		complained = err != nil
		for _, c := range channels {
			s.wake(c)
		}
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// recall takes over what an earlier process was told to wait. The rows that
// were told so may be closed by now; the chat has to wait all the same.
func (s *sender) recall(ctx context.Context) {
	waits, err := s.ledger.Waits(ctx)
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.ErrorContext(ctx, "earlier waits not read", "err", err)
	}
	for channel, until := range waits {
		if wait := time.Until(until); wait > 0 {
			s.pace.pause(channel, wait)
		}
	}
}

// gather has live messages ended that an earlier process left without an end.
func (s *sender) gather(ctx context.Context) {
	for name, a := range s.adapters {
		if !a.Traits().Finishes {
			continue
		}
		part, ok := one(a.Render(chat.Reply{Kind: chat.ReplyProgress, Markdown: i18n.T(s.cfg.Lang, "reply.restarted"), Silent: true}))
		if !ok {
			continue
		}
		part.Keep = true
		if err := s.ledger.Loose(ctx, name, part); err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "live messages without an end not read", "account", name, "err", err)
		}
	}
}

// started reports whether run was called.
func (s *sender) started() bool {
	select {
	case <-s.running:
		return true
	default:
		return false
	}
}

// wake makes sure that somebody looks at a channel.
func (s *sender) wake(name string) { s.visit(name, nil) }

// visit wakes a channel and gives it a message to edit.
func (s *sender) visit(name string, l *Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.busy[name]
	if c == nil {
		if s.over {
			return
		}
		account, _, _ := strings.Cut(name, "/")
		c = &channel{sender: s, name: name, account: account, poke: make(chan struct{}, 1)}
		s.busy[name] = c
		if s.started() {
			s.wg.Go(c.work)
		}
	}
	if l != nil {
		c.edits = append(c.edits, l)
	}
	c.wake()
}

// leave ends a channel's goroutine unless something came meanwhile.
func (s *sender) leave(c *channel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.poke) > 0 || len(c.edits) > 0 {
		return false
	}
	delete(s.busy, c.name)
	return true
}

// hurry lets the channels of an account try again at once.
func (s *sender) hurry(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.busy {
		if c.account == account {
			c.hurry.Store(true)
			c.wake()
		}
	}
}

// flush waits until no channel has anything to do now, or ctx ends.
func (s *sender) flush(ctx context.Context) {
	const glance = 20 * time.Millisecond
	t := time.NewTicker(glance)
	defer t.Stop()
	for s.pressed() || s.signs.pending() {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// pressed reports whether a channel has something to do within a second.
func (s *sender) pressed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.busy {
		if time.Until(c.waits) < time.Second {
			return true
		}
	}
	return false
}

// live returns the live message of a turn that runs in this process.
func (s *sender) live(turn int64) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[turn]
}

// release takes a live message out of the books; nil when it is not in them.
func (s *sender) release(turn int64) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lives[turn]
	delete(s.lives, turn)
	return l
}
