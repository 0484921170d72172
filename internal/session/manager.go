// Package session keeps workers for sessions. A session is durable; its worker
// is a cache of it: a live one is reused, a known session is resumed, a new one
// is started. Idle workers are closed after a while and above a cap, and
// nobody notices: the next turn resumes.
//
// It stands between the router's lanes and the drivers. It guarantees that a
// session never has two processes at once, that the number of live processes
// never exceeds the cap, and that a failure to open (a timeout, a refused key,
// a crash) never invalidates a session: only an agent's definite "no such
// session" is reported as chat.NoSession.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Config are the knobs of a Manager.
type Config struct {
	StartTimeout time.Duration // for starting a new session; 0 = 30 s
	LoadTimeout  time.Duration // for resuming one, which may load a long history; 0 = 90 s
	WorkerIdle   time.Duration // an idle worker is closed after it; 0 = never
	MaxWorkers   int           // cap on live processes; 0 = none
	// Uninvited makes the way in for turns that the session's agent starts by
	// itself; nil drops them.
	Uninvited func(session int64) func(ctx context.Context) (worker.Host, func(error))
	// Waiting is told when a session has to wait because every worker is busy;
	// nil = nobody is told. It must not block.
	Waiting func(session int64)
	Log     *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	if c.StartTimeout < 0 || c.LoadTimeout < 0 || c.WorkerIdle < 0 || c.MaxWorkers < 0 {
		return fmt.Errorf("session: negative limits: start %v, load %v, idle %v, workers %d",
			c.StartTimeout, c.LoadTimeout, c.WorkerIdle, c.MaxWorkers)
	}
	return nil
}

func (c Config) filled() Config {
	if c.StartTimeout == 0 {
		c.StartTimeout = 30 * time.Second
	}
	if c.LoadTimeout == 0 {
		c.LoadTimeout = 90 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Manager hands out workers. It may be used from many goroutines.
type Manager struct {
	ledger  Ledger
	drivers map[string]worker.Driver
	cfg     Config
	slots   *semaphore.Weighted // one per live process; nil = no cap
	wg      sync.WaitGroup      // openings, closings, watchers

	mu      sync.Mutex
	entries map[int64]*entry
	changed chan struct{} // closed and replaced whenever an entry changes
	starved int           // openings that wait for a slot
	closing int           // workers on their way out: slots that will be free
	turns   int           // numbers the turns that agents start
	closed  bool
}

// New makes a Manager. The caller must Close it.
func New(ledger Ledger, drivers map[string]worker.Driver, cfg Config) *Manager {
	m := &Manager{
		ledger:  ledger,
		drivers: drivers,
		cfg:     cfg.filled(),
		entries: map[int64]*entry{},
		changed: make(chan struct{}),
	}
	if cfg.MaxWorkers > 0 {
		m.slots = semaphore.NewWeighted(int64(cfg.MaxWorkers))
	}
	return m
}

// Acquire returns the live worker of s: the one that is there, or one opened
// by resume, or a new one. It blocks while the session's previous process is
// closing, while it is opened by somebody else, and while the cap is reached;
// ctx ends that. Each success needs one Release.
//
// chat.NoSession means that the agent definitely has lost the session; after
// every other error the session is as good as before.
func (m *Manager) Acquire(ctx context.Context, s chat.Session) (worker.Worker, error) {
	for {
		e, wait, err := m.take(s.ID)
		switch {
		case err != nil:
			return nil, err
		case wait != nil:
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if err := m.outcome(e); err != nil {
				return nil, err
			}
		case e.phase == opening: // ours to open
			return m.open(ctx, e, true)
		default:
			return e.w, nil
		}
	}
}

// take finds the session's entry: live and now used by the caller, or fresh
// and the caller's to open, or in somebody else's hands (then wait).
func (m *Manager) take(id int64) (e *entry, wait <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e = m.entries[id]
	switch {
	case m.closed:
		return nil, nil, chat.E(chat.Shutdown, "", nil)
	case e == nil:
		return m.reserve(id), nil, nil
	case e.phase == live && e.alive() && !e.stale:
		m.use(e)
		return e, nil, nil
	}
	return e, m.changed, nil
}

// outcome is how the opening of e failed, for those who waited for it.
func (m *Manager) outcome(e *entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.err
}

// reserve makes the entry that its caller will open; m.mu is held.
func (m *Manager) reserve(id int64) *entry {
	e := &entry{id: id, phase: opening}
	m.entries[id] = e
	m.wg.Add(1) // until the opening is over
	return e
}

// Release gives a worker back. It may be closed from now on.
func (m *Manager) Release(session int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[session]; e != nil && e.users > 0 {
		e.users--
		m.rest(e)
	}
}

// Warm opens the session's worker ahead of its turn, if there is room. It
// returns at once; what goes wrong is found again by Acquire.
func (m *Manager) Warm(ctx context.Context, s chat.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.entries[s.ID] != nil {
		return
	}
	e := m.reserve(s.ID)
	m.wg.Go(func() {
		if _, err := m.open(context.WithoutCancel(ctx), e, false); err != nil {
			m.cfg.Log.DebugContext(ctx, "worker not opened ahead", "session", s.ID, "err", err)
		}
	})
}

// Close closes all workers at once and waits until every process is gone.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	for _, e := range m.entries {
		m.dismiss(e, chat.E(chat.Shutdown, "", nil))
	}
	m.mu.Unlock()
	m.wg.Wait()
}
