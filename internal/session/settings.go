package session

import (
	"context"
	"fmt"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Live returns what the session's live worker said about itself; false when
// its process is not alive or not ready.
func (m *Manager) Live(session int64) (worker.Info, bool) {
	m.pool.mu.Lock()
	e := m.pool.entries[session]
	if e == nil || e.phase != live || e.stale || !e.alive() {
		m.pool.mu.Unlock()
		return worker.Info{}, false
	}
	w := e.w
	m.pool.mu.Unlock()
	return w.Info(), true
}

// Count returns how many processes there are and how many of them a turn uses.
func (m *Manager) Count() (all, busy int) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	for _, e := range m.pool.entries {
		if e.gone || !e.begun {
			continue
		}
		all++
		if !e.idle() {
			busy++
		}
	}
	return all, busy
}

// Set changes one setting of a session and says when that applies; an empty
// value is the default. A live worker is asked; where there is none, or it does
// not answer, the value is stored and the next open states it. After an error
// nothing is stored. chat.Unasked: the operator does not allow the mode.
func (m *Manager) Set(ctx context.Context, session int64, k chat.Setting, value string) (chat.Applied, error) {
	s, err := m.open.ledger.SessionByID(ctx, session)
	if err != nil {
		return "", fmt.Errorf("set session %d: %w", session, err)
	}
	if k == chat.SettingMode && worker.Unasked(value) && !m.cfg.Agents.Unattended[s.Agent] {
		return "", chat.E(chat.Unasked, value, nil)
	}
	e := m.pool.hold(session)
	if e == nil {
		return chat.AppliedReopen, m.wish(ctx, session, k, value)
	}
	defer m.pool.letGo(e)
	applied := chat.AppliedReopen // the agent's own default is known to the next process only
	if v := s.Wishes().With(k, value).Or(m.cfg.Agents.Defaults[s.Agent]).Get(k); v != "" {
		applied, err = e.w.Set(ctx, chat.Settings{}.With(k, v))
	}
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Unsupported, chat.ModelUnknown, chat.Invalid:
		return "", fmt.Errorf("set session %d: %w", session, err)
	default: // no answer: its process is dying, or stuck
		m.cfg.Log.WarnContext(ctx, "worker does not take settings", "session", session, "err", err)
		applied = chat.AppliedReopen
	}
	if err := m.wish(context.WithoutCancel(ctx), session, k, value); err != nil {
		return "", err
	}
	if applied == chat.AppliedReopen {
		m.pool.mu.Lock()
		e.stale = true // it serves until it is released, and no longer
		m.pool.mu.Unlock()
	}
	return applied, nil
}

// wish stores what the next open of a session states.
func (m *Manager) wish(ctx context.Context, session int64, k chat.Setting, value string) error {
	if err := m.open.ledger.Wish(ctx, session, k, value); err != nil {
		return fmt.Errorf("store the %s of session %d: %w", k, session, err)
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if e := m.pool.entries[session]; e != nil && e.phase == opening {
		e.stale = true // it may have read the old ones
	}
	return nil
}

// uninvited keeps the worker from being closed while a turn runs that its
// agent started, and ends that turn when the process is gone.
func (m *Manager) uninvited(e *entry) func(context.Context) (worker.Host, func(error)) {
	if m.cfg.Uninvited == nil {
		return nil
	}
	enter := m.cfg.Uninvited(e.id)
	return func(ctx context.Context) (worker.Host, func(error)) {
		m.pool.mu.Lock()
		e.held++
		e.unwind()
		m.pool.mu.Unlock()
		host, end := enter(ctx)
		if host == nil {
			m.pool.letGo(e)
			return nil, func(error) {}
		}
		return host, m.attach(e, end)
	}
}

// attach makes sure that end is called once, by the driver or by us.
func (m *Manager) attach(e *entry, end func(error)) func(error) {
	var once sync.Once
	m.pool.mu.Lock()
	m.pool.turns++
	key := m.pool.turns
	closer := func(err error) {
		once.Do(func() {
			end(err)
			m.pool.mu.Lock()
			delete(e.ends, key)
			m.pool.mu.Unlock()
			m.pool.letGo(e)
		})
	}
	if e.ends == nil {
		e.ends = map[int]func(error){}
	}
	e.ends[key] = closer
	gone := e.gone
	m.pool.mu.Unlock()
	if gone {
		closer(chat.E(chat.Crashed, "", nil))
	}
	return closer
}
