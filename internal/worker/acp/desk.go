package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// desk takes what the agent says by itself and hands it to the turn that runs.
type desk struct {
	session *session
	log     *slog.Logger

	mu      sync.Mutex
	turn    *turn // nil between turns
	own     *own  // a turn that the agent began by itself; never beside turn
	changed chan struct{}
}

var _ peer = (*desk)(nil)

// begin makes a turn the running one. One that the agent began by itself is
// waited for: two at once are more than any agent of this protocol can bear.
func (d *desk) begin(ctx context.Context, host worker.Host) (*turn, error) {
	t := newTurn(ctx, host, d.session.cfg.Quirks, d.log)
	t.price = d.session.soFar
	for {
		d.mu.Lock()
		if d.turn != nil {
			d.mu.Unlock()
			return nil, chat.E(chat.Conflict, "", errors.New("a prompt is running"))
		}
		o := d.own
		if o == nil {
			d.turn = t
			d.mu.Unlock()
			return t, nil
		}
		d.mu.Unlock()
		select {
		case <-o.over:
		case <-ctx.Done():
			d.stopOwn(o)
			return nil, context.Cause(ctx)
		case <-d.session.conn.ctx.Done():
			return nil, d.session.conn.obituary()
		}
	}
}

// finish ends what t left open. After that its host is not used any more.
func (d *desk) finish(t *turn) {
	t.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn = nil
	d.tell()
}

// tell wakes who waits for the end of a turn. d.mu is held.
func (d *desk) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// running is the turn that runs, whoever began it; nil when none does.
func (d *desk) running() *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn == nil && d.own != nil {
		return d.own.turn
	}
	return d.turn
}

// notify takes a notification of the agent.
func (d *desk) notify(method string, params json.RawMessage) {
	switch method {
	case "session/update":
		d.update(params)
	case methodStartTurn:
		d.session.conn.work.Go(func() { d.startOwn(d.session.conn.ctx, params) })
	case methodEndTurn:
		d.endOwn(params)
	default:
		d.log.Debug("unknown notification of the agent", "method", method)
	}
}

func (d *desk) update(params json.RawMessage) {
	n, err := decode[updateNote](params)
	if err != nil {
		d.log.Debug("unreadable update of the agent", "err", err)
		return
	}
	if !d.session.take(n) {
		return
	}
	if t := d.running(); t != nil {
		t.take(n.Update)
	} else if n.Update.Kind == "agent_message_chunk" {
		d.log.Debug("text of the agent outside a turn")
	}
}

// skipped is told about a line over the cap. One that was a piece of the
// answer is missed.
func (d *desk) skipped(method string, line proc.Line) {
	d.log.Warn("line of the agent is too large and was skipped", "method", method, "size", line.Size)
	if t := d.running(); t != nil && bytes.Contains(line.Data, []byte("agent_message_chunk")) {
		size := fmt.Sprintf("%d MiB", line.Size>>20)
		t.emit(chat.Event{Kind: chat.EventNotice, Text: i18n.T(i18n.Default, "acp.skipped", "size", size), Code: chat.Protocol})
	}
}

// What the agent may ask of us.
const (
	methodPermission = "session/request_permission"
	methodForm       = "elicitation/create"
	methodStartTurn  = "_qwencode/start_turn"
	methodEndTurn    = "_qwencode/end_turn"
	methodDrain      = "craft/drainMidTurnQueue"
)

// request answers a request of the agent. Whatever is not known is refused: an
// agent that gets no answer waits for ever.
func (d *desk) request(ctx context.Context, r request) (any, *rpcError) {
	switch r.method {
	case methodPermission:
		return d.permission(ctx, r)
	case methodForm:
		return d.elicitation(ctx, r)
	case methodStartTurn:
		return startReply{Accepted: d.startOwn(ctx, r.params)}, nil
	case methodDrain:
		return d.drain(), nil
	}
	d.log.DebugContext(ctx, "unknown request of the agent", "method", r.method)
	return nil, &rpcError{Code: codeNoMethod, Message: "method not found"}
}

// answered is told when a request has been answered.
func (d *desk) answered(r request, err error) {
	if r.method != methodPermission && r.method != methodForm {
		return
	}
	if err == nil {
		fault.Hit(fault.AgentAnswered)
	}
	if t := d.running(); t != nil {
		t.asks.end(r.id)
	}
}

// asking is the turn that a question belongs to, held open until the answer
// has been written; nil when none runs.
func (d *desk) asking(r request) *turn {
	t := d.running()
	if t == nil || !t.asks.begin(r.id) {
		return nil
	}
	return t
}
