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
	Agents       Agents        // what the operator set about agents
	// Uninvited makes the way in for turns that the session's agent starts by
	// itself; nil drops them.
	Uninvited func(session int64) func(ctx context.Context) (worker.Host, func(error))
	// Opened is told what an agent said about itself when it was opened; nil =
	// nobody is told. It must not block.
	Opened func(agent string, i worker.Info)
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
	pool *pool
	open opener
	cfg  Config
}

// New makes a Manager. The caller must Close it.
func New(ledger Ledger, drivers map[string]worker.Driver, cfg Config) *Manager {
	cfg = cfg.filled()
	p := &pool{idleTime: cfg.WorkerIdle, log: cfg.Log, entries: map[int64]*entry{}, changed: make(chan struct{}), falls: map[int64]fall{}}
	if cfg.MaxWorkers > 0 {
		p.slots = semaphore.NewWeighted(int64(cfg.MaxWorkers))
	}
	return &Manager{pool: p, open: opener{ledger: ledger, drivers: drivers, cfg: cfg}, cfg: cfg}
}

// Acquire returns the live worker of s: the one that is there, or one opened
// by resume, or a new one. It blocks while the session's previous process is
// closing, while it is opened by somebody else, while the cap is reached, and
// for a while after processes that died as soon as they were there; ctx ends
// that. Each success needs one Release.
//
// chat.NoSession means that the agent definitely has lost the session; after
// every other error the session is as good as before.
func (m *Manager) Acquire(ctx context.Context, s chat.Session) (worker.Worker, error) {
	for {
		e, w, wait, err := m.pool.take(s.ID)
		switch {
		case err != nil:
			return nil, err
		case w != nil:
			return w, nil
		case wait == nil: // ours to open
			return m.launch(ctx, e, true)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := m.pool.outcome(e); err != nil {
			return nil, err
		}
	}
}

// launch opens the worker of a reserved entry. With used the caller holds it
// afterwards; without, it does not wait for a slot.
func (m *Manager) launch(ctx context.Context, e *entry, used bool) (worker.Worker, error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	m.pool.mu.Lock()
	e.abort = abort
	if m.pool.closed {
		abort(chat.E(chat.Shutdown, "", nil))
	}
	m.pool.mu.Unlock()

	w, err := m.start(ctx, e, used)
	switch code := chat.CodeOf(err); {
	case err == nil:
		err = context.Cause(ctx) // too late: it stays, for the next one
		m.pool.opened(e, w, used && err == nil, nil)
		return w, err
	case ctx.Err() != nil && code != chat.NoSession:
		err = context.Cause(ctx)
	case code != chat.Full: // for those who wait there may be room
		m.pool.mu.Lock()
		e.err = err
		m.pool.mu.Unlock()
	}
	m.pool.opened(e, nil, false, err)
	return nil, err
}

// start asks the driver for a worker once there is a slot for it.
func (m *Manager) start(ctx context.Context, e *entry, patient bool) (worker.Worker, error) {
	s, d, err := m.open.check(ctx, e.id)
	if err != nil {
		return nil, err
	}
	if err := m.pool.recover(ctx, e.id, patient); err != nil {
		return nil, err
	}
	err = m.pool.slot(ctx, patient, func() {
		if m.cfg.Waiting != nil {
			m.cfg.Waiting(e.id)
		}
	})
	if err != nil {
		return nil, err
	}
	m.pool.mu.Lock()
	e.begun, e.agent, e.only = true, s.Agent, m.cfg.Agents.Forgets != nil && m.cfg.Agents.Forgets(s.Agent)
	m.pool.mu.Unlock()
	w, err := m.open.call(ctx, d, s, m.uninvited(e))
	if err != nil {
		m.pool.free()
		return nil, err
	}
	return w, nil
}

// Release gives a worker back. It may be closed from now on.
func (m *Manager) Release(session int64) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if e := m.pool.entries[session]; e != nil && e.users > 0 {
		e.users--
		if e.phase == live && e.alive() { // it has survived a turn
			delete(m.pool.falls, session)
		}
		m.pool.restLocked(e)
	}
}

// Warm opens the session's worker ahead of its turn, if there is room. It
// returns at once; what goes wrong is found again by Acquire.
func (m *Manager) Warm(ctx context.Context, s chat.Session) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if m.pool.closed || m.pool.entries[s.ID] != nil {
		return
	}
	e := m.pool.reserveLocked(s.ID)
	m.pool.wg.Go(func() {
		if _, err := m.launch(context.WithoutCancel(ctx), e, false); err != nil {
			m.cfg.Log.DebugContext(ctx, "worker not opened ahead", "session", s.ID, "err", err)
		}
	})
}

// Forget closes the session's worker, busy or not, and waits until its process
// is gone. The session itself is untouched.
func (m *Manager) Forget(session int64) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	e := m.pool.entries[session]
	if e == nil {
		return
	}
	m.pool.dismissLocked(e, chat.E(chat.Stopped, "", nil))
	for !e.gone {
		wait := m.pool.changed
		m.pool.mu.Unlock()
		<-wait
		m.pool.mu.Lock()
	}
}

// Recycle closes the workers of an agent that are live: at once those that
// are idle, the others as soon as nobody uses them. What they hold in memory,
// old credentials say, is gone with them. One whose session would be lost with
// it stays.
func (m *Manager) Recycle(agent string) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	for _, e := range m.pool.entries {
		if e.phase != live || e.agent != agent || e.only {
			continue
		}
		e.stale = true
		if e.idle() {
			m.pool.retireLocked(e)
		}
	}
}

// Close closes all workers at once and waits until every process is gone.
func (m *Manager) Close() {
	m.pool.mu.Lock()
	m.pool.closed = true
	for _, e := range m.pool.entries {
		m.pool.dismissLocked(e, chat.E(chat.Shutdown, "", nil))
	}
	m.pool.mu.Unlock()
	m.pool.wg.Wait()
}
