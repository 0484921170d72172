package turn

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// plan is what becomes of a session's mode when a person says yes to a plan:
// the agent leaves the mode in which it only plans, and must not be put back
// into it when its process is opened the next time.
type plan struct {
	accepted bool
	wish     string // the mode that was stored for the session then
	mode     string // the mode that the agent was in
}

// accept notes the yes. What cannot be read now is as the turn found it.
func (h *host) accept(ctx context.Context) {
	n := h.run
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if now, err := n.books.Threads.SessionByID(context.WithoutCancel(ctx), s.ID); err == nil {
		s = now
	}
	info, _ := n.sessions.Live(s.ID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan = plan{accepted: true, wish: s.Mode, mode: info.Mode}
}

// left is the change of mode to store: none unless a plan was accepted and the
// agent has left the mode it was in. A mode in which it asks nobody is never
// one that a yes to a plan leads to.
func (p plan) left(now string) *chat.ModeChange {
	if !p.accepted || now == "" || now == p.mode || worker.Unasked(now) {
		return nil
	}
	return &chat.ModeChange{From: p.wish, To: now}
}

// newMode is the change of the session's mode that ends with the turn. A crash
// loses it: then the agent plans once more, and asks once more.
func (n *run) newMode() *chat.ModeChange {
	n.host.mu.Lock()
	p := n.host.plan
	n.host.mu.Unlock()
	mode := n.result.mode
	if mode == "" { // it was not we who prompted
		info, _ := n.sessions.Live(n.session.ID)
		mode = info.Mode
	}
	return p.left(mode)
}
