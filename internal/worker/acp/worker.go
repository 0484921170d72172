package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Worker is one agent process with one session.
type Worker struct {
	cfg  Config
	spec worker.Spec
	log  *slog.Logger
	conn *conn

	heard chan struct{} // gets a token whenever an update comes

	mu     sync.Mutex
	native string
	info   worker.Info
	by     means
	turn   *turn // the running one, nil between turns
	before usage // figures of the earlier turns, where the agent sums up
}

// means is how this agent changes its settings.
type means struct {
	mode, model             bool   // by set_mode, by set_model
	modeOption, modelOption string // by the configuration option of that id
}

// usage are the two figures that are subtracted.
type usage struct{ in, out int64 }

var _ worker.Worker = (*Worker)(nil)

func newWorker(ctx context.Context, d *Driver, p process, s worker.Spec) *Worker {
	w := &Worker{
		cfg: d.cfg, spec: s, log: d.log.With("session", s.Session),
		heard: make(chan struct{}, 1),
	}
	w.conn = newConn(ctx, p, d.cfg.CallTimeout, w.log)
	w.conn.start(w, d.cfg.MaxLine)
	return w
}

// Prompt runs one turn.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	t, err := w.begin(ctx, host)
	if err != nil {
		return err
	}
	defer w.finish(t)
	ask := prompt{SessionID: w.NativeID(), Prompt: []content{{Type: "text", Text: in.Text()}}}
	t.emit(chat.Event{Kind: chat.EventSession, Text: ask.SessionID})
	answer, err := w.conn.send(ctx, "session/prompt", ask)
	if err != nil {
		return w.ended(ctx, t, nil, err)
	}
	t.emit(chat.Event{Kind: chat.EventSent})
	raw, err := w.conn.wait(ctx, answer)
	if ctx.Err() != nil && !errors.Is(err, errGone) {
		w.cancel(t, answer, err)
	}
	return w.ended(ctx, t, raw, err)
}

// begin makes t the running turn.
func (w *Worker) begin(ctx context.Context, host worker.Host) (*turn, error) {
	t := newTurn(ctx, host, w.cfg.Speaks, w.log)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn != nil {
		return nil, chat.E(chat.Conflict, "", errors.New("a prompt is running"))
	}
	w.turn = t
	return t, nil
}

// finish ends what t left open. After that no update reaches its host.
func (w *Worker) finish(t *turn) {
	w.mu.Lock()
	w.turn = nil
	w.mu.Unlock()
	t.close()
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
	ctx, stop := context.WithTimeoutCause(context.WithoutCancel(t.ctx), w.cfg.Grace, errLate)
	defer stop()
	if w.conn.note(ctx, "session/cancel", cancelNote{SessionID: w.NativeID()}) == nil {
		_, err = w.conn.wait(ctx, answer)
		if _, refused := errors.AsType[*rpcError](err); err == nil || refused {
			return
		}
	}
	w.log.Warn("agent does not end its turn; its process is ended", "err", err)
	_ = w.conn.proc.Close()
}

// ended turns the end of a prompt into the turn's result.
func (w *Worker) ended(ctx context.Context, t *turn, raw json.RawMessage, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		return w.conn.obituary()
	}
	if err != nil {
		return w.promptError(err)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	u.Model = w.info.Model
	u.In, u.Out = sum.in, sum.out
	if w.cfg.UsageSums {
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
		if err := w.setMode(ctx, s.Mode); err != nil {
			return "", err
		}
	}
	if s.Model != "" {
		if err := w.setModel(ctx, s.Model); err != nil {
			return "", err
		}
	}
	return chat.AppliedNow, nil
}

// NativeID is the session id that the agent gave.
func (w *Worker) NativeID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.native
}

// Info is what the agent said about itself, as of now.
func (w *Worker) Info() worker.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.info
	i.Models, i.Modes, i.Commands = slices.Clone(i.Models), slices.Clone(i.Modes), slices.Clone(i.Commands)
	return i
}

// Process identifies the worker's runner.
func (w *Worker) Process() string { return w.conn.proc.Identity() }

// Done is closed when the process is gone.
func (w *Worker) Done() <-chan struct{} { return w.conn.proc.Done() }

// Close ends the process and everything it started, and waits for that.
func (w *Worker) Close() error {
	err := w.conn.proc.Close()
	w.conn.stop()
	return err
}
