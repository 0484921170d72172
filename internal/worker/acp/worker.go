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
	before  usage // figures of the earlier turns, where the agent sums up
}

// usage are the two figures that are subtracted.
type usage struct{ in, out int64 }

var _ worker.Worker = (*Worker)(nil)

func newWorker(ctx context.Context, d *Driver, p process, spec worker.Spec) *Worker {
	log := d.log.With("session", spec.Session)
	s := &session{
		cfg: d.cfg, spec: spec, log: log, heard: make(chan struct{}, 1),
		conn: newConn(ctx, p, d.cfg.CallTimeout, log),
	}
	w := &Worker{session: s, desk: &desk{session: s, log: log}}
	s.conn.start(w.desk, d.cfg.MaxLine)
	return w
}

// Prompt runs one turn.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	t, err := w.desk.begin(ctx, host)
	if err != nil {
		return err
	}
	defer w.desk.finish(t)
	ask := prompt{SessionID: w.NativeID(), Prompt: []content{{Type: "text", Text: in.Text()}}}
	t.emit(chat.Event{Kind: chat.EventSession, Text: ask.SessionID})
	answer, err := w.session.conn.send(ctx, "session/prompt", ask)
	if err != nil {
		return w.ended(ctx, t, nil, err)
	}
	t.emit(chat.Event{Kind: chat.EventSent})
	raw, err := w.session.conn.wait(ctx, answer)
	if ctx.Err() != nil && !errors.Is(err, errGone) {
		w.cancel(t, answer, err)
	}
	return w.ended(ctx, t, raw, err)
}

// cancel ends the running turn natively: open questions are answered with
// "cancelled", the agent is told, and if it does not end the turn in time its
// process is ended. err is what the wait for the answer gave; an answer that
// was there already needs none of this.
func (w *Worker) cancel(t *turn, answer <-chan incoming, err error) {
	if _, refused := errors.AsType[*rpcError](err); err == nil || refused {
		return
	}
	t.withdraw()
	ctx, stop := context.WithTimeoutCause(context.WithoutCancel(t.ctx), w.session.cfg.Grace, errLate)
	defer stop()
	if w.session.conn.note(ctx, "session/cancel", cancelNote{SessionID: w.NativeID()}) == nil {
		_, err = w.session.conn.wait(ctx, answer)
		if _, refused := errors.AsType[*rpcError](err); err == nil || refused {
			return
		}
	}
	w.session.log.Warn("agent does not end its turn; its process is ended", "err", err)
	_ = w.session.conn.proc.Close()
}

// ended turns the end of a prompt into the turn's result.
func (w *Worker) ended(ctx context.Context, t *turn, raw json.RawMessage, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		return w.session.conn.obituary()
	}
	if err != nil {
		return w.session.promptError(err)
	}
	p, err := decode[prompted](raw)
	if err != nil {
		return chat.E(chat.Protocol, "", err)
	}
	t.emit(chat.Event{Kind: chat.EventUsage, Usage: w.figures(t, p)})
	return t.verdict(p.StopReason)
}

// figures are the usage of one turn.
func (w *Worker) figures(t *turn, p prompted) *chat.Usage {
	u := t.figures()
	sum := usage{in: p.Meta.Quota.Tokens.In, out: p.Meta.Quota.Tokens.Out}
	if p.Usage != nil {
		sum = usage{in: p.Usage.In, out: p.Usage.Out}
	}
	u.Model = w.session.about().Model
	u.In, u.Out = sum.in, sum.out
	if w.session.cfg.UsageSums {
		u.In, u.Out = max(0, sum.in-w.before.in), max(0, sum.out-w.before.out)
		w.before = sum
	}
	u.Took = time.Since(t.began)
	return &u
}

// Steer is not part of the protocol.
func (w *Worker) Steer(context.Context, chat.Input) error {
	return chat.E(chat.Unsupported, "", errors.New("the protocol has no way to steer a turn"))
}

// Set changes model and mode of the live session.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if s.Mode != "" {
		if err := w.session.setMode(ctx, s.Mode); err != nil {
			return "", err
		}
	}
	switch {
	case s.Model == "":
	case own(s.Model, w.Info()):
		return chat.AppliedReopen, nil // a session without a wish has it
	default:
		if err := w.session.setModel(ctx, s.Model); err != nil {
			return "", err
		}
	}
	return chat.AppliedNow, nil
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
