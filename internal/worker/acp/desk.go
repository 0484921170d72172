package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/worker"
)

// desk takes what the agent says by itself and hands it to the turn that runs.
type desk struct {
	session *session
	log     *slog.Logger

	mu   sync.Mutex
	turn *turn // nil between turns
}

var _ peer = (*desk)(nil)

// begin makes a turn the running one.
func (d *desk) begin(ctx context.Context, host worker.Host) (*turn, error) {
	t := newTurn(ctx, host, d.session.cfg.Speaks, d.log)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn != nil {
		return nil, chat.E(chat.Conflict, "", errors.New("a prompt is running"))
	}
	d.turn = t
	return t, nil
}

// finish ends what t left open. After that its host is not used any more.
func (d *desk) finish(t *turn) {
	d.mu.Lock()
	d.turn = nil
	d.mu.Unlock()
	t.close()
}

// notify takes a notification of the agent.
func (d *desk) notify(method string, params json.RawMessage) {
	if method != "session/update" {
		d.log.Debug("unknown notification of the agent", "method", method)
		return
	}
	n, err := decode[updateNote](params)
	if err != nil {
		d.log.Debug("unreadable update of the agent", "err", err)
		return
	}
	if !d.session.take(n) {
		return
	}
	d.mu.Lock()
	t := d.turn
	d.mu.Unlock()
	if t != nil {
		t.take(n.Update)
	} else if n.Update.Kind == "agent_message_chunk" {
		d.log.Debug("text of the agent outside a turn")
	}
}

// skipped is told about a line over the cap.
func (d *desk) skipped(method string, size int64) {
	d.log.Warn("line of the agent is too large and was skipped", "method", method, "size", size)
}

// What the agent may ask of a person.
const (
	methodPermission = "session/request_permission"
	methodForm       = "elicitation/create"
)

// request answers a request of the agent. Whatever is not a question is
// refused: an agent that gets no answer waits for ever.
func (d *desk) request(ctx context.Context, r request) (any, *rpcError) {
	switch r.method {
	case methodPermission:
		return d.permission(ctx, r)
	case methodForm:
		return d.elicitation(ctx, r)
	}
	d.log.DebugContext(ctx, "unknown request of the agent", "method", r.method)
	return nil, &rpcError{Code: codeNoMethod, Message: "method not found"}
}

// answered is told when a request has been answered.
func (d *desk) answered(method string) {
	if method == methodPermission || method == methodForm {
		fault.Hit(fault.AgentAnswered)
	}
}

// asking is the turn that a question belongs to, held open until done is
// called; nil when none runs.
func (d *desk) asking() (t *turn, done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn == nil || d.turn.asking.Err() != nil {
		return nil, nil
	}
	d.turn.asks.Add(1)
	return d.turn, d.turn.asks.Done
}
