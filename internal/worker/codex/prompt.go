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
	q, err := ask(in)
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
	if err := w.enter(t); err != nil {
		t.cancel(nil)
		return err
	}
	defer func() {
		t.close()
		t.cancel(nil)
		t.asks.Wait()
		w.exit(t)
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

// ask is the request for an input.
func ask(in chat.Input) (request, error) {
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
			w.bind(r, answer.Turn.ID)
		}
	case errors.As(err, &no):
		return r, w.refused(err, no)
	case errors.Is(err, rpc.ErrGone): // the end is seen below
	default:
		t.hush()
		w.srv.disown(t.ctx, w)
		return r, context.Cause(t.ctx)
	}
	return r, w.await(t, r)
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

// refused is the error of a turn that the agent does not begin.
func (w *Worker) refused(err error, no *rpc.Error) error {
	if refused(err, saysNoThread) { // it let go of the session; opening it again helps
		w.lose()
		return chat.E(chat.Crashed, "", err)
	}
	return chat.E(classify(0, "", no.Message), shorten(no.Message), err)
}

// await waits for the end of a turn, whoever ends it.
func (w *Worker) await(t *turn, r *run) error {
	select {
	case <-r.done:
	case <-w.srv.gone:
	case <-w.done:
	case <-t.ctx.Done():
	}
	switch {
	case isClosed(r.done): // its last words count
		return r.err
	case isClosed(w.srv.gone), isClosed(w.done):
		r.closeTools()
		return w.crash()
	}
	w.stop(t, r)
	return context.Cause(t.ctx)
}

// stop ends a turn natively, and what it started. It returns when the turn is
// really over.
func (w *Worker) stop(t *turn, r *run) {
	t.hush()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), w.srv.cfg.Grace)
	defer cancel()
	if !w.end(ctx, r) {
		w.srv.disown(t.ctx, w)
	}
	w.tidy(t)
	r.closeTools()
}

// endPause is how long to wait before an agent that did not end its turn is
// told again: it may not have begun it.
const endPause = 50 * time.Millisecond

// end interrupts the agent's turn and reports whether it is over.
func (w *Worker) end(ctx context.Context, r *run) bool {
	told := false
	for {
		wait := ctx.Done()
		if isClosed(r.begun) && !told {
			told = w.interrupt(ctx, w.thread, r.id())
		}
		pause := time.NewTimer(endPause)
		select {
		case <-r.done:
		case <-w.srv.gone:
		case <-wait:
		case <-pause.C:
		}
		pause.Stop()
		switch {
		case isClosed(r.done), isClosed(w.srv.gone):
			return true
		case ctx.Err() != nil:
			return false
		}
	}
}

// interrupt tells the agent to end a turn and reports whether it took that.
func (w *Worker) interrupt(ctx context.Context, thread, turn string) bool {
	err := w.srv.call(ctx, doInterrupt, object{"threadId": thread, "turnId": turn}, nil)
	if err != nil && !isClosed(w.srv.conn.Done()) {
		w.log.DebugContext(ctx, "agent did not interrupt", "err", err)
	}
	return err == nil
}

// marks of a command's environment, by the id of its call.
const callMark = "CODEX_TOOL_CALL_ID="

// tidy ends what a stopped turn started: the agent ends the turn and lets its
// commands run. Those of other sessions, and of earlier turns, are not touched.
func (w *Worker) tidy(t *turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), w.srv.cfg.Grace)
	defer cancel()
	threads := []string{w.thread}
	for thread, turn := range w.children() {
		w.interrupt(ctx, thread, turn)
		threads = append(threads, thread)
	}
	calls := t.allCalls()
	if len(calls) == 0 || isClosed(w.srv.gone) {
		return
	}
	for _, thread := range threads {
		w.terminate(ctx, thread, calls)
	}
	marks := make([]string, 0, len(calls))
	for id := range calls {
		marks = append(marks, callMark+id)
	}
	if n := w.srv.proc.EndMarked(marks...); n > 0 {
		w.log.InfoContext(ctx, "what a stopped turn left was ended", "processes", n)
	}
}

// terminate tells the agent to end commands that it lets run.
func (w *Worker) terminate(ctx context.Context, thread string, calls map[string]bool) {
	var list struct {
		Data []struct {
			Item    string `json:"itemId"`
			Process string `json:"processId"`
		} `json:"data"`
	}
	if err := w.srv.call(ctx, doTerminals, object{"threadId": thread}, &list); err != nil {
		w.log.DebugContext(ctx, "agent does not list its commands", "err", err)
		return
	}
	for _, c := range list.Data {
		if !calls[c.Item] {
			continue
		}
		if err := w.srv.call(ctx, doTerminate, object{"threadId": thread, "processId": c.Process}, nil); err != nil {
			w.log.DebugContext(ctx, "agent did not end a command", "err", err)
		}
	}
}

// goAhead is what the agent hears when its plan is accepted.
const goAhead = "The plan is accepted. Carry it out."

// after returns what the prompt goes on with when a turn of the agent is over,
// or how the prompt ends.
func (w *Worker) after(t *turn, r *run, err error) (*request, error) {
	if words := t.takeWords(); words != nil && t.ctx.Err() == nil && !isClosed(w.done) {
		w.tidy(t)
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
	err = w.srv.call(ctx, doSteer, object{"threadId": w.thread, "expectedTurnId": r.id(), "input": items}, nil)
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
	w.interrupt(ctx, w.thread, r.id())
	return nil
}

func errNothingRuns() error { return chat.E(chat.Conflict, "", errors.New("nothing runs")) }

// running returns the agent's turn that serves the user, when its id is known.
func (w *Worker) running(ctx context.Context) (*run, error) {
	t := w.current()
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
