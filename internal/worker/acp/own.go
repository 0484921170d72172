package acp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// own is a turn that the agent began by itself.
type own struct {
	turn *turn
	end  func(error)
	over chan struct{}
	once sync.Once
}

// admission is how long the agent is kept waiting for leave to begin a turn: it
// gives up after two seconds, and asks again later when it is refused.
const admission = 1500 * time.Millisecond

// startOwn begins a turn of the agent's own, if nothing else runs, and reports
// whether it may go on. It waits a moment for the turn that is about to end.
func (d *desk) startOwn(ctx context.Context, params json.RawMessage) bool {
	ctx, cancel := context.WithTimeout(ctx, admission)
	defer cancel()
	if !d.idle(ctx) {
		return false
	}
	var host worker.Host
	end := func(error) {}
	if in := d.session.spec.Uninvited; in != nil {
		host, end = in(d.session.conn.ctx)
	}
	if host == nil {
		d.log.InfoContext(ctx, "the agent works unasked; dropped")
		host, end = nowhere{}, func(error) {}
	}
	o := &own{turn: newTurn(d.session.conn.ctx, host, d.session.cfg.Quirks, d.log), end: end, over: make(chan struct{})}
	o.turn.begin()
	d.mu.Lock()
	// A person may have been faster, or the agent has given up waiting.
	free := d.turn == nil && d.own == nil && ctx.Err() == nil
	if free {
		d.own = o
	}
	d.mu.Unlock()
	if !free {
		o.turn.close()
		end(nil)
		return false
	}
	d.session.conn.work.Go(func() {
		select {
		case <-o.over:
		case <-d.session.conn.ctx.Done():
			d.closeOwn(o, d.session.conn.obituary())
		}
	})
	d.log.DebugContext(ctx, "the agent begins a turn", "params", string(params))
	return true
}

// idle waits until no turn runs, and reports it.
func (d *desk) idle(ctx context.Context) bool {
	for {
		d.mu.Lock()
		free, changed := d.turn == nil && d.own == nil, d.changed
		d.mu.Unlock()
		if free {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// endOwn takes the end of a turn of the agent's own. It is called by the
// reader, which must not wait for the answers to questions of that turn.
func (d *desk) endOwn(params json.RawMessage) {
	d.mu.Lock()
	o := d.own
	d.mu.Unlock()
	if o == nil {
		return
	}
	said, _ := decode[startTurn](params)
	var err error
	if said.Reason != "" && said.Reason != "end_turn" && said.Reason != "cancelled" {
		err = chat.E(chat.AgentError, short(said.Reason), errors.New("the agent ended its own turn"))
	}
	d.session.conn.work.Go(func() { d.closeOwn(o, err) })
}

// closeOwn ends o once.
func (d *desk) closeOwn(o *own, err error) {
	o.once.Do(func() {
		if err == nil {
			err = o.turn.verdict("end_turn")
		}
		if u := d.session.figures(o.turn, nil); u.In > 0 || u.Out > 0 {
			o.turn.emit(chat.Event{Kind: chat.EventUsage, Usage: u})
		}
		o.turn.close()
		d.mu.Lock()
		d.own = nil
		d.tell()
		d.mu.Unlock()
		o.end(err)
		close(o.over)
	})
}

// stopOwn ends a turn of the agent's own whose host is about to go: nothing of
// it is shown any more, the agent is told, and an agent that does not end it in
// time is ended.
func (d *desk) stopOwn(o *own) {
	o.turn.mute()
	s := d.session
	ctx, stop := context.WithTimeout(s.conn.ctx, s.cfg.Grace)
	defer stop()
	if s.conn.note(ctx, "session/cancel", cancelNote{SessionID: s.id()}) == nil {
		select {
		case <-o.over:
			return
		case <-ctx.Done():
		}
	}
	d.log.Warn("agent does not end its own turn; its process is ended")
	_ = s.conn.proc.Close()
}

// nowhere is the host of a turn that nobody takes.
type nowhere struct{}

// Emit implements worker.Host.
func (nowhere) Emit(context.Context, chat.Event) error { return nil }

// Ask implements worker.Host.
func (nowhere) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Denied, "", errors.New("there is nobody to ask"))
}
