package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// open opens the worker of a reserved entry, and ends the reservation. With
// used the caller holds it afterwards; without, it does not wait for a slot.
func (m *Manager) open(ctx context.Context, e *entry, used bool) (worker.Worker, error) {
	defer m.wg.Done()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	m.mu.Lock()
	e.abort = abort
	if m.closed {
		abort(chat.E(chat.Shutdown, "", nil))
	}
	m.mu.Unlock()

	w, err := m.launch(ctx, e, used)

	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.shout()
	e.abort = nil
	if err != nil {
		e.phase, e.gone = closing, true
		switch code := chat.CodeOf(err); {
		case ctx.Err() != nil && code != chat.NoSession:
			err = context.Cause(ctx)
		case code != chat.Full: // for those who wait there may be room
			e.err = err
		}
		m.drop(e)
		return nil, err
	}
	e.w, e.phase = w, live
	m.wg.Go(func() { m.watch(e) })
	why := context.Cause(ctx)
	switch {
	case e.unwanted || m.closed:
		m.retire(e)
	case used && why == nil:
		m.use(e)
	default:
		m.rest(e)
	}
	return w, why
}

// launch asks the driver for a worker once there is a slot for it.
func (m *Manager) launch(ctx context.Context, e *entry, patient bool) (worker.Worker, error) {
	s, err := m.ledger.SessionByID(ctx, e.id)
	if err != nil {
		return nil, fmt.Errorf("open session %d: %w", e.id, err)
	}
	driver, err := m.fit(s)
	if err != nil {
		return nil, err
	}
	if err := m.slot(ctx, e.id, patient); err != nil {
		return nil, err
	}
	w, err := m.call(ctx, driver, s, m.uninvited(e))
	if err != nil {
		m.free()
	}
	return w, err
}

// fit checks what an open would fail on for sure.
func (m *Manager) fit(s chat.Session) (worker.Driver, error) {
	driver, ok := m.drivers[s.Agent]
	if !ok {
		return nil, chat.E(chat.NotInstalled, s.Agent, nil)
	}
	if s.State == chat.SessionLost {
		return nil, chat.E(chat.NoSession, "", nil)
	}
	if !filepath.IsAbs(s.Workspace) {
		return nil, chat.E(chat.Unavailable, "workspace is not an absolute path: "+s.Workspace, nil)
	}
	info, err := os.Stat(s.Workspace)
	switch {
	case err != nil:
		return nil, chat.E(chat.Unavailable, "workspace is not there: "+s.Workspace, err)
	case !info.IsDir():
		return nil, chat.E(chat.Unavailable, "workspace is not a directory: "+s.Workspace, nil)
	}
	return driver, nil
}

// call runs the driver's Open under its deadline and notes what it reported.
func (m *Manager) call(
	ctx context.Context, d worker.Driver, s chat.Session, in func(context.Context) (worker.Host, func(error)),
) (worker.Worker, error) {
	begun := s.Begun
	if s.NativeID == "" && !begun {
		// Before, not after: a seed that may have arrived must not be used as new.
		if err := m.ledger.Begun(ctx, s.ID); err != nil {
			return nil, fmt.Errorf("begin session %d: %w", s.ID, err)
		}
	}
	limit, late := m.cfg.StartTimeout, chat.StartTimeout
	if s.NativeID != "" {
		limit, late = m.cfg.LoadTimeout, chat.LoadTimeout
	}
	start := time.Now()
	tooLate := chat.E(late, "", nil)
	timed, cancel := context.WithTimeoutCause(ctx, limit, tooLate)
	defer cancel()
	w, err := guarded(timed, d, worker.Spec{
		Session: s.ID, Workspace: s.Workspace, NativeID: s.NativeID, Seed: s.Seed, Begun: begun,
		Model: s.Model, Mode: s.Mode, Uninvited: in,
	})
	if err != nil {
		return nil, verdict(ctx, timed, tooLate, s, err)
	}
	if id := w.NativeID(); id != "" && id != s.NativeID {
		wishes := chat.Settings{Model: s.Model, Mode: s.Mode}
		if err := m.ledger.Bind(context.WithoutCancel(ctx), s.ID, id, wishes); err != nil {
			// The end of the turn writes the id again.
			m.cfg.Log.WarnContext(ctx, "native id not stored yet", "session", s.ID, "err", err)
		}
	}
	m.cfg.Log.InfoContext(ctx, "worker opened", "session", s.ID, "agent", s.Agent,
		"resumed", s.NativeID != "", "took", time.Since(start))
	return w, nil
}

// guarded keeps a defect in a driver from taking other sessions down.
func guarded(ctx context.Context, d worker.Driver, s worker.Spec) (w worker.Worker, err error) {
	defer func() {
		if p := recover(); p != nil {
			w, err = nil, fmt.Errorf("panic in a driver: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Open(ctx, s)
}

// verdict says why an open failed. Only a resume can find that the session is
// lost, and a clock of ours explains whatever the driver made of it.
func verdict(ctx, timed context.Context, tooLate *chat.Error, s chat.Session, err error) error {
	code := chat.CodeOf(err)
	switch {
	case code == chat.NoSession && s.NativeID != "":
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case context.Cause(timed) == error(tooLate):
		return chat.E(tooLate.Code, chat.DetailOf(err), err)
	case code == chat.NoSession:
		return chat.E(chat.AgentError, chat.DetailOf(err), err)
	case code == chat.TimedOut: // some deadline inside the driver, not the turn's
		return chat.E(chat.StartTimeout, chat.DetailOf(err), err)
	}
	return err
}

// slot waits for room for one more process. The worker that has been idle for
// longest makes room; when all are busy, the first one released does.
func (m *Manager) slot(ctx context.Context, session int64, patient bool) error {
	if m.slots == nil || m.slots.TryAcquire(1) {
		return nil
	}
	m.mu.Lock()
	victim := m.oldest()
	if victim == nil && !patient {
		m.mu.Unlock()
		return chat.E(chat.Full, "all workers are busy", nil)
	}
	m.starved++
	if victim != nil {
		m.retire(victim)
	}
	m.mu.Unlock()

	if victim == nil && m.cfg.Waiting != nil {
		m.cfg.Waiting(session)
	}
	err := m.slots.Acquire(ctx, 1)

	m.mu.Lock()
	m.starved--
	m.mu.Unlock()
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}
