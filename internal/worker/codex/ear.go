package codex

import (
	"encoding/json"

	"cligate/internal/worker/rpc"
)

// ear hears what a server says and finds whom it concerns.
type ear struct{ *server }

var _ rpc.Handler = ear{}

// Notify implements rpc.Handler.
func (s ear) Notify(method string, params json.RawMessage) {
	if method == onLimits {
		var l limits
		if rpc.Decode(params, &l) == nil {
			s.limited(l)
		}
		return
	}
	var n note
	if err := rpc.Decode(params, &n); err != nil {
		s.log.DebugContext(s.life, "notification not understood", "method", method, "err", err)
		return
	}
	if method == onResolved {
		s.asks.withdraw(rpc.ID(n.Request))
		return
	}
	if w := s.find(n.Thread); w != nil {
		listener{w}.note(method, n)
		return
	}
	s.foreign(method, n)
}

// foreign takes what is told about a thread that is no session of ours: a
// sub-agent's. It belongs to whose turn it serves, and is shown nowhere.
func (s ear) foreign(method string, n note) {
	for _, w := range s.all() {
		if (listener{w}).kid(method, n) {
			return
		}
	}
}

// Skipped implements rpc.Handler. What the line said is lost; what it ended has
// ended.
func (s ear) Skipped(head []byte, size int64) {
	method := valueOf(head, "method")
	s.log.WarnContext(s.life, "line of the agent skipped", "method", method, "bytes", size)
	if method == "" {
		return
	}
	if id := idOf(head); id != "" && answerable(method) { // nobody can be shown it, and the agent waits
		s.tasks.Go(func() { s.asks.reply(id, asked{method: method}.no()) })
		return
	}
	for _, w := range s.all() {
		if (listener{w}).skipped(method, head, size) {
			return
		}
	}
}
