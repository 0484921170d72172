package claude

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Prompt implements worker.Worker.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	content, err := content(in)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	running, cancel := context.WithCancel(ctx)
	id := uuid.NewString()
	t := newTurn(running, host, id)
	defer cancel()
	if isClosed(w.gone) {
		return w.crash()
	}
	if err := w.known.enter(t); err != nil {
		return err
	}
	defer func() {
		t.close()
		w.known.leave()
		cancel()
		t.asks.Wait()
	}()
	if err := w.write(ctx, t, userMessage(id, content)); err != nil {
		return err
	}
	return w.await(ctx, t)
}

// write sends the prompt and reports it.
func (w *Worker) write(ctx context.Context, t *turn, m object) error {
	defer close(t.sent)
	switch err := w.link.send(ctx, m); {
	case err == nil:
	case errors.Is(err, errTorn), errors.Is(err, errGone):
		w.kill(context.WithoutCancel(ctx), "a prompt could not be written")
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return w.crash()
	default:
		return err
	}
	if err := t.host.Emit(t.ctx, chat.Event{Kind: chat.EventSent}); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "event not taken", "kind", string(chat.EventSent), "err", err)
	}
	return nil
}

// await waits for the end of the turn, whoever ends it.
func (w *Worker) await(ctx context.Context, t *turn) error {
	select {
	case <-t.done:
	case <-w.gone:
		select {
		case <-t.done: // its last words were the end of the turn
		default:
			return w.crash()
		}
	case err := <-t.abort:
		w.stop(ctx, t)
		t.report(ctx, w.log)
		return err
	case <-ctx.Done():
		select {
		case <-t.done: // it was over before
		default:
			w.stop(ctx, t)
			t.report(ctx, w.log)
			return context.Cause(ctx)
		}
	}
	if t.unmeasured() && !w.closing.Load() {
		t.fill(w.measure(ctx))
	}
	t.report(ctx, w.log)
	if w.closing.Load() { // the agent was told to leave and ended the turn with that
		return w.crash()
	}
	_, err := t.outcome()
	if ctx.Err() != nil && errors.Is(err, errAborted) { // a question that ended with the turn ended it
		return context.Cause(ctx)
	}
	return err
}

// stop ends a turn natively: what waits is withdrawn, what runs is
// interrupted, what goes on beside it is stopped. An agent that does not obey
// in time is ended. It returns when the turn is really over.
func (w *Worker) stop(ctx context.Context, t *turn) {
	t.hush()
	ctx = context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Grace)
	defer cancel()
	for _, id := range t.waiting() {
		w.link.try(ctx, cancelMessage(id))
	}
	w.link.try(ctx, interrupt())
	select {
	case <-t.done:
		for _, id := range t.background() { // or its results would come up later
			w.link.try(ctx, object{"subtype": "stop_task", "task_id": id})
		}
	case <-w.gone:
	case <-ctx.Done():
		w.kill(context.WithoutCancel(ctx), "it did not end the turn in time")
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// blank reports whether a text has nothing to read in it.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	}) == ""
}
