package codex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/rpc"
)

// request is what a turn of the agent is started with.
type request struct {
	input   []object
	compact bool // make room instead
}

// Prompt implements worker.Worker. It may take several turns of the agent: a
// plan is made in one and carried out in the next, and words that replace what
// runs start another.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	q, err := requestFor(in)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isClosed(w.done) {
		return w.crash()
	}
	t := newTurn(ctx, host, w.log)
	if err := w.stage.enter(t); err != nil {
		t.cancel(nil)
		return err
	}
	defer func() {
		t.hush()
		t.cancel(nil)
		t.asks.Wait()
		w.stage.exit(t)
	}()
	for {
		r, err := w.do(t, q)
		next, err := w.after(t, r, err)
		if next == nil {
			t.report()
			return err
		}
		q = *next
	}
}

// requestFor is what an input is sent as.
func requestFor(in chat.Input) (request, error) {
	if isCompact(in) {
		return request{compact: true}, nil
	}
	items, err := content(in)
	return request{input: items}, err
}

// do runs one turn of the agent.
func (w *Worker) do(t *turn, q request) (*run, error) {
	method, params := doTurn, object{"threadId": w.thread}
	var with chat.Settings
	if q.compact {
		method = doCompact
	} else {
		params["input"] = q.input
		with = w.known.apply(params)
	}
	r := newRun(w, t)
	t.begin(r)
	call, err := w.send(t, r, method, params)
	if err != nil {
		return r, err
	}
	// An agent that was told to begin must answer before it can be told to stop.
	wait, stop := linger(t.ctx, w.srv.cfg.Grace)
	defer stop()
	var answer struct {
		Turn turnInfo `json:"turn"`
	}
	var no *rpc.Error
	switch err := call.Wait(wait, &answer); {
	case err == nil:
		if !q.compact {
			w.known.started(with)
		}
		if answer.Turn.ID != "" {
			r.bind(answer.Turn.ID)
		}
	case errors.As(err, &no):
		if refused(err, saysNoThread) { // it let go of the session; opening it again helps
			w.lose()
			return r, chat.E(chat.Crashed, "", err)
		}
		return r, chat.E(classify(0, "", no.Message), shorten(no.Message), err)
	case errors.Is(err, rpc.ErrGone): // the end is seen below
	default:
		t.hush()
		w.srv.disown(t.ctx, w)
		return r, context.Cause(t.ctx)
	}
	return r, r.await()
}

// send sends the request and reports that.
func (w *Worker) send(t *turn, r *run, method string, params object) (*rpc.Call, error) {
	defer close(r.sent)
	call, err := w.srv.conn.Send(t.ctx, method, params)
	switch {
	case err == nil:
		t.reportSent()
		return call, nil
	case errors.Is(err, rpc.ErrTorn), errors.Is(err, rpc.ErrGone):
		w.srv.kill(context.WithoutCancel(t.ctx), "a prompt could not be written")
		if t.ctx.Err() != nil {
			return nil, context.Cause(t.ctx)
		}
		return nil, w.crash()
	default:
		return nil, err
	}
}

// goAhead is what the agent hears when its plan is accepted.
const goAhead = "The plan is accepted. Carry it out."

// after returns what the prompt goes on with when a turn of the agent is over,
// or how the prompt ends.
func (w *Worker) after(t *turn, r *run, err error) (*request, error) {
	if words := t.takeWords(); words != nil && t.ctx.Err() == nil && !isClosed(w.done) {
		r.tidy()
		return &request{input: words}, nil
	}
	if err != nil || r.plan.Text == "" || !w.known.planning() {
		return nil, err
	}
	a, err := t.host.Ask(t.ctx, chat.Question{Key: r.plan.ID, Kind: chat.AskPlan, Detail: r.plan.Text, Options: options(false)})
	switch {
	case t.ctx.Err() != nil:
		return nil, context.Cause(t.ctx)
	case err != nil:
		w.log.InfoContext(t.ctx, "nobody decided about the plan", "err", err)
		return nil, nil
	case a.Effect.Allows():
		w.known.approved()
		return &request{input: []object{textItem(goAhead)}}, nil
	case a.Text != "":
		return &request{input: []object{textItem(a.Text)}}, nil
	}
	return nil, nil
}

// Steer implements worker.Worker: the agent takes words in at once.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	items, err := content(in)
	if err != nil {
		return err
	}
	r, err := w.running(ctx)
	if err != nil {
		return err
	}
	err = w.ask.steer(ctx, r.id(), items)
	var no *rpc.Error
	if errors.As(err, &no) || errors.Is(err, rpc.ErrGone) {
		return chat.E(chat.Conflict, "", err)
	}
	return err
}

// Replace implements worker.Replacer: the agent's turn is interrupted and the
// prompt goes on with the next.
func (w *Worker) Replace(ctx context.Context, in chat.Input) error {
	items, err := content(in)
	if err != nil {
		return err
	}
	r, err := w.running(ctx)
	if err != nil {
		return err
	}
	if !r.t.replace(r, items) {
		return errNothingRuns()
	}
	w.ask.interrupt(ctx, w.thread, r.id())
	return nil
}

func errNothingRuns() error { return chat.E(chat.Conflict, "", errors.New("nothing runs")) }

// running returns the agent's turn that serves the user, when its id is known.
func (w *Worker) running(ctx context.Context) (*run, error) {
	t := w.stage.current()
	if t == nil || isClosed(w.done) {
		return nil, errNothingRuns()
	}
	r := t.now()
	if r == nil {
		return nil, errNothingRuns()
	}
	select {
	case <-r.begun:
	case <-r.done:
	case <-t.gone:
	case <-w.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the turn: %w", context.Cause(ctx))
	}
	if !isClosed(r.begun) || isClosed(r.done) || t.quiet() {
		return nil, errNothingRuns()
	}
	return r, nil
}

// linger returns a context that ends some time after ctx.
func linger(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return out, func() { stop(); cancel() }
}
