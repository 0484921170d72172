package acp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Worker is one agent process with one session.
type Worker struct {
	session *session
	desk    *desk
}

var _ worker.Worker = (*Worker)(nil)

func newWorker(ctx context.Context, d *Driver, p process, spec worker.Spec) *Worker {
	log := d.log.With("session", spec.Session)
	s := &session{
		cfg: d.cfg, spec: spec, log: log, heard: make(chan struct{}, 1),
		conn: newConn(ctx, p, d.cfg.CallTimeout, log),
	}
	w := &Worker{session: s, desk: &desk{session: s, log: log, changed: make(chan struct{})}}
	s.conn.start(w.desk, d.cfg.MaxLine)
	return w
}

// Prompt runs one turn.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	blocks, err := w.session.contents(in)
	if err != nil {
		return err
	}
	t, err := w.desk.begin(ctx, host)
	if err != nil {
		return err
	}
	defer w.desk.finish(t)
	if err := w.session.begin(ctx); err != nil {
		return err
	}
	left := w.session.conn.younger()
	ask := prompt{SessionID: w.NativeID(), Prompt: blocks}
	t.emit(chat.Event{Kind: chat.EventSession, Text: ask.SessionID})
	answer, err := w.session.conn.send(ctx, "session/prompt", ask)
	if err != nil {
		return w.ended(ctx, t, nil, err)
	}
	t.begin(chat.Event{Kind: chat.EventSent})
	raw, err := w.session.conn.wait(ctx, answer)
	if ctx.Err() != nil && !errors.Is(err, errGone) && !settled(err) {
		raw = w.cancel(t, answer)
		left()
	}
	err = w.ended(ctx, t, raw, err)
	w.session.end(err == nil)
	return err
}

// settled reports whether the result of a wait is the agent's answer.
func settled(err error) bool {
	_, refused := errors.AsType[*rpcError](err)
	return err == nil || refused
}

// cancel ends the running turn natively: open questions are answered, the agent
// is told, and if it does not end the turn in time its process is ended. It
// returns the answer to the prompt, if there was one.
func (w *Worker) cancel(t *turn, answer <-chan incoming) (raw json.RawMessage) {
	t.mute()
	ctx, stop := context.WithTimeoutCause(context.WithoutCancel(t.ctx), w.session.cfg.Grace, errLate)
	defer stop()
	err := errLate
	for ctx.Err() == nil && !settled(err) && !errors.Is(err, errGone) {
		if err = w.session.conn.note(ctx, "session/cancel", cancelNote{SessionID: w.NativeID()}); err == nil {
			raw, err = w.moment(ctx, answer)
		}
	}
	if !settled(err) {
		w.session.log.Warn("agent does not end its turn; its process is ended", "err", err)
		_ = w.session.conn.proc.Close()
	}
	return raw
}

// repeat is after how long an agent is told again that a turn is cancelled:
// one that has not quite begun it may miss the first time.
const repeat = 400 * time.Millisecond

// moment waits for the answer to a prompt until it is time to tell again.
func (w *Worker) moment(ctx context.Context, answer <-chan incoming) (json.RawMessage, error) {
	ctx, stop := context.WithTimeoutCause(ctx, repeat, errLate)
	defer stop()
	return w.session.conn.wait(ctx, answer)
}

// ended turns the end of a prompt into the turn's result.
func (w *Worker) ended(ctx context.Context, t *turn, raw json.RawMessage, err error) error {
	if ctx.Err() != nil {
		w.charge(t, raw)
		return context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		return w.session.conn.obituary()
	}
	if err != nil {
		w.charge(t, nil)
		return w.session.promptError(err)
	}
	p, err := decode[prompted](raw)
	if err != nil {
		return chat.E(chat.Protocol, "", err)
	}
	t.emit(chat.Event{Kind: chat.EventUsage, Usage: w.session.figures(t, p.total())})
	return t.verdict(p.StopReason)
}

// charge tells what a turn took that did not end well, as far as the agent told:
// it is not to be found in the next one's figures.
func (w *Worker) charge(t *turn, raw json.RawMessage) {
	p, err := decode[prompted](raw)
	if err != nil {
		p = prompted{}
	}
	u := w.session.figures(t, p.total())
	if u.In > 0 || u.Out > 0 || u.CostUSD > 0 {
		t.emit(chat.Event{Kind: chat.EventUsage, Usage: u})
	}
}

// NativeID is the session id that the agent gave.
func (w *Worker) NativeID() string { return w.session.id() }

// Info is what the agent said about itself, as of now.
func (w *Worker) Info() worker.Info { return w.session.about() }

// Process identifies the worker's runner.
func (w *Worker) Process() string { return w.session.conn.proc.Identity() }

// Done is closed when the process is gone.
func (w *Worker) Done() <-chan struct{} { return w.session.conn.proc.Done() }

// Close ends the process and everything it started, and waits for that.
func (w *Worker) Close() error {
	err := w.session.conn.proc.Close()
	w.session.conn.stop()
	return err
}
