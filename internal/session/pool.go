package session

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// phase is where a worker is in its life. An entry leaves the pool after
// closing, when the process is gone and nobody uses it any more.
type phase int

const (
	opening phase = iota
	live
	closing
)

// entry is one session's worker. The pool's lock guards it.
type entry struct {
	id     int64
	agent  string // known from the moment its process is started; likewise:
	only   bool   // the session lives in this process only
	phase  phase
	w      worker.Worker // nil while opening
	users  int           // turns that hold it by Acquire
	held   int           // others that hold it: turns of the agent's own, changes of settings
	stale  bool          // opened with settings that are no longer wanted
	openAt time.Time     // when its process was ready
	idleAt time.Time     // since when nobody uses it
	timer  *time.Timer   // ends the idle time; nil when not idle
	begun  bool          // its process is there, or about to be: it has a slot
	gone   bool          // the process is over
	// unwanted is set while opening: close it as soon as it is there.
	unwanted bool
	err      error // why it could not be opened, for those who wait for it
	abort    context.CancelCauseFunc
	ends     map[int]func(error) // of the turns that the agent started
}

func (e *entry) alive() bool {
	select {
	case <-e.w.Done():
		return false
	default:
		return true
	}
}

func (e *entry) idle() bool { return e.phase == live && e.users == 0 && e.held == 0 }

// pool holds the workers that there are. Its lock guards everything in it and
// is never held over I/O. Methods that end in "Locked" are called under it.
type pool struct {
	idleTime time.Duration
	log      *slog.Logger
	slots    *semaphore.Weighted // one per live process; nil = no cap
	wg       sync.WaitGroup      // openings, closings, watchers

	mu      sync.Mutex
	entries map[int64]*entry
	changed chan struct{} // closed and replaced whenever an entry changes
	starved int           // openings that wait for a slot
	closing int           // workers on their way out: slots that will be free
	turns   int           // numbers the turns that agents start
	closed  bool
	falls   map[int64]fall // by session: processes that died young
}

// take finds the session's entry: live (then its worker, now used by the
// caller), or fresh and the caller's to open, or in somebody else's hands
// (then wait). Which of these is decided under the lock: the entry may be
// another thing as soon as it returns.
func (p *pool) take(id int64) (e *entry, w worker.Worker, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e = p.entries[id]
	switch {
	case p.closed:
		return nil, nil, nil, chat.E(chat.Shutdown, "", nil)
	case e == nil:
		return p.reserveLocked(id), nil, nil, nil
	case e.phase == live && e.alive() && !e.stale:
		e.users++
		e.unwind()
		return e, e.w, nil, nil
	}
	return e, nil, p.changed, nil
}

// reserveLocked makes the entry that its caller will open.
func (p *pool) reserveLocked(id int64) *entry {
	e := &entry{id: id, phase: opening}
	p.entries[id] = e
	p.wg.Add(1) // until opened
	return e
}

// outcome is how the opening of e failed, for those who waited for it.
func (p *pool) outcome(e *entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.err
}

// opened ends a reservation. used says that its caller holds the worker.
func (p *pool) opened(e *entry, w worker.Worker, used bool, err error) {
	defer p.wg.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.shoutLocked()
	e.abort = nil
	if err != nil {
		e.phase, e.gone = closing, true
		if code := chat.CodeOf(err); code == chat.Crashed || code == chat.Protocol {
			p.fellLocked(e.id)
		}
		p.dropLocked(e)
		return
	}
	e.w, e.phase, e.openAt = w, live, time.Now()
	p.wg.Go(func() { p.watch(e) })
	switch {
	case e.unwanted || p.closed:
		p.retireLocked(e)
	case used:
		e.users++
	default:
		p.restLocked(e)
	}
}

// hold keeps the session's live worker; nil when there is none.
func (p *pool) hold(id int64) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[id]
	if e == nil || e.phase != live || !e.alive() {
		return nil
	}
	e.held++
	e.unwind()
	return e
}

func (p *pool) letGo(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.held--
	p.restLocked(e)
}

// restLocked is called when somebody let go of e: what happens to an idle
// worker is decided here.
func (p *pool) restLocked(e *entry) {
	defer p.shoutLocked()
	switch {
	case e.phase == closing:
		p.dropLocked(e)
	case !e.idle():
	case p.closed, e.stale, !e.alive(), p.starved > p.closing:
		p.retireLocked(e)
	default:
		e.idleAt = time.Now()
		if p.idleTime > 0 && !e.only {
			e.unwind()
			e.timer = time.AfterFunc(p.idleTime, func() { p.expire(e) })
		}
	}
}

func (e *entry) unwind() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// expire closes a worker that was idle for long enough.
func (p *pool) expire(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && e.idle() && time.Since(e.idleAt) >= p.idleTime {
		p.log.Debug("idle worker closed", "session", e.id)
		p.retireLocked(e)
	}
}

// watch notices that the process is gone, and collects what it left behind.
func (p *pool) watch(e *entry) {
	<-e.w.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.phase == live {
		p.log.Info("worker ended", "session", e.id, "busy", !e.idle())
		p.retireLocked(e)
	}
}

// retireLocked starts closing a live worker.
func (p *pool) retireLocked(e *entry) {
	if e.phase != live {
		return
	}
	if !e.alive() && time.Since(e.openAt) < steady {
		p.fellLocked(e.id)
	}
	e.phase = closing
	e.unwind()
	p.closing++
	p.wg.Go(func() {
		if err := e.w.Close(); err != nil {
			p.log.Warn("worker did not close cleanly", "session", e.id, "err", err)
		}
		p.buried(e)
	})
	p.shoutLocked()
}

// buried is called when the process is over.
func (p *pool) buried(e *entry) {
	p.mu.Lock()
	p.closing--
	e.gone = true
	ends := slices.Collect(maps.Values(e.ends))
	if p.slots != nil {
		p.slots.Release(1)
	}
	p.dropLocked(e)
	p.shoutLocked()
	p.mu.Unlock()
	for _, end := range ends {
		end(chat.E(chat.Crashed, "", nil))
	}
}

// dropLocked forgets an entry whose process is gone and that nobody uses.
func (p *pool) dropLocked(e *entry) {
	if e.gone && e.users == 0 && p.entries[e.id] == e {
		delete(p.entries, e.id)
	}
}

// dismissLocked ends e whatever it is doing.
func (p *pool) dismissLocked(e *entry, why error) {
	if e.abort != nil {
		e.abort(why)
	}
	e.unwanted = true
	p.retireLocked(e)
}

// oldestLocked returns the worker that has been idle for longest; one whose
// session would be lost with it only when there is no other.
func (p *pool) oldestLocked() *entry {
	var old *entry
	for _, e := range p.entries {
		if e.idle() && (old == nil || old.only && !e.only || old.only == e.only && e.idleAt.Before(old.idleAt)) {
			old = e
		}
	}
	return old
}

// shoutLocked wakes everybody who waits for a change.
func (p *pool) shoutLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}
