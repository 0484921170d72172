package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// phase is where a worker is in its life. An entry leaves the map after
// closing, when the process is gone and nobody uses it any more.
type phase int

const (
	opening phase = iota
	live
	closing
)

// entry is one session's worker. The Manager's lock guards it.
type entry struct {
	id     int64
	phase  phase
	w      worker.Worker // nil while opening
	users  int           // turns that hold it by Acquire
	held   int           // turns that the agent itself started
	stale  bool          // opened with settings that are no longer wanted
	idleAt time.Time     // since when nobody uses it
	timer  *time.Timer   // ends the idle time; nil when not idle
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

// shout wakes everybody who waits for a change; m.mu is held.
func (m *Manager) shout() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// use counts one more turn; m.mu is held.
func (m *Manager) use(e *entry) {
	e.users++
	e.unwind()
}

func (e *entry) unwind() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// rest is called when a turn let go of e: what happens to an idle worker is
// decided here. m.mu is held.
func (m *Manager) rest(e *entry) {
	defer m.shout()
	switch {
	case e.phase == closing:
		m.drop(e)
	case !e.idle():
	case m.closed, e.stale, !e.alive(), m.starved > m.closing:
		m.retire(e)
	default:
		e.idleAt = time.Now()
		if m.cfg.WorkerIdle > 0 {
			e.unwind()
			e.timer = time.AfterFunc(m.cfg.WorkerIdle, func() { m.expire(e) })
		}
	}
}

// expire closes a worker that was idle for long enough.
func (m *Manager) expire(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed && e.idle() && time.Since(e.idleAt) >= m.cfg.WorkerIdle {
		m.cfg.Log.Debug("idle worker closed", "session", e.id)
		m.retire(e)
	}
}

// retire starts closing a live worker; m.mu is held.
func (m *Manager) retire(e *entry) {
	if e.phase != live {
		return
	}
	e.phase = closing
	e.unwind()
	m.closing++
	m.wg.Go(func() {
		err := e.w.Close()
		if err != nil {
			m.cfg.Log.Warn("worker did not close cleanly", "session", e.id, "err", err)
		}
		m.mu.Lock()
		m.closing--
		e.gone = true
		ends := slices.Collect(maps.Values(e.ends))
		m.free()
		m.drop(e)
		m.shout()
		m.mu.Unlock()
		for _, end := range ends {
			end(chat.E(chat.Crashed, "", nil))
		}
	})
	m.shout()
}

// drop forgets an entry whose process is gone and that nobody uses; m.mu is
// held.
func (m *Manager) drop(e *entry) {
	if e.gone && e.users == 0 && m.entries[e.id] == e {
		delete(m.entries, e.id)
	}
}

// free gives the slot of a process back.
func (m *Manager) free() {
	if m.slots != nil {
		m.slots.Release(1)
	}
}

// watch notices that the process is gone.
func (m *Manager) watch(e *entry) {
	<-e.w.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.phase != live {
		return
	}
	m.cfg.Log.Info("worker ended", "session", e.id, "busy", !e.idle())
	m.retire(e) // collects what the process left behind
}

// oldest returns the worker that has been idle for longest; m.mu is held.
func (m *Manager) oldest() *entry {
	var old *entry
	for _, e := range m.entries {
		if e.idle() && (old == nil || e.idleAt.Before(old.idleAt)) {
			old = e
		}
	}
	return old
}

// dismiss ends e whatever it is doing; m.mu is held.
func (m *Manager) dismiss(e *entry, why error) {
	if e.abort != nil {
		e.abort(why)
	}
	e.unwanted = true
	m.retire(e)
}

// Forget closes the session's worker, busy or not, and waits until its process
// is gone. The session itself is untouched.
func (m *Manager) Forget(session int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[session]
	if e == nil {
		return
	}
	m.dismiss(e, chat.E(chat.Stopped, "", nil))
	for !e.gone {
		wait := m.changed
		m.mu.Unlock()
		<-wait
		m.mu.Lock()
	}
}
