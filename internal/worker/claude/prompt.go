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
	text := in.Text()
	if blank(text) {
		return chat.E(chat.Invalid, "", errors.New("an empty prompt"))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	running, cancel := context.WithCancel(ctx)
	id := uuid.NewString()
	t := newTurn(running, host, id)
	if err := w.enter(t); err != nil {
		cancel()
		return err
	}
	defer func() {
		t.close()
		w.exitTurn(t)
		cancel()
		t.asks.Wait()
	}()
	if err := w.write(ctx, t, userMessage(id, text)); err != nil {
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
		w.figures(ctx, t)
		return err
	case <-ctx.Done():
		select {
		case <-t.done: // it was over before
		default:
			w.stop(ctx, t)
			w.figures(ctx, t)
			return context.Cause(ctx)
		}
	}
	w.figures(ctx, t)
	if w.closing.Load() { // the agent was told to leave and ended the turn with that
		return w.crash()
	}
	_, err := t.outcome()
	return err
}

// figures reports what the turn used; a cancelled one has its price too.
func (w *Worker) figures(ctx context.Context, t *turn) {
	ctx = context.WithoutCancel(ctx)
	u, _ := t.outcome()
	if u == (chat.Usage{}) {
		return
	}
	if err := t.host.Emit(ctx, chat.Event{Kind: chat.EventUsage, Usage: &u}); err != nil {
		w.log.WarnContext(ctx, "event not taken", "kind", string(chat.EventUsage), "err", err)
	}
}

// stop ends a turn natively: what waits is withdrawn, what runs is
// interrupted, what goes on beside it is stopped. An agent that does not obey
// in time is ended. It returns when the turn is really over.
func (w *Worker) stop(ctx context.Context, t *turn) {
	t.quiet.Store(true)
	ctx = context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Grace)
	defer cancel()
	for _, id := range t.waiting() {
		if _, err := w.link.call(ctx, w.cfg.Grace, object{"subtype": "cancel_async_message", "message_uuid": id}); err != nil {
			w.log.InfoContext(ctx, "message not withdrawn", "err", err)
		}
	}
	w.interrupt(ctx)
	select {
	case <-t.done:
		w.stopTasks(ctx, t)
	case <-w.gone:
	case <-ctx.Done():
		w.kill(context.WithoutCancel(ctx), "it did not end the turn in time")
	}
}

// interrupt asks the agent to end what it does.
func (w *Worker) interrupt(ctx context.Context) {
	_, err := w.link.call(ctx, w.cfg.Grace, object{"subtype": "interrupt"})
	if err != nil && !errors.Is(err, errGone) {
		w.log.WarnContext(ctx, "interrupt not confirmed", "err", err)
	}
}

// stopTasks ends the work that a cancelled turn left in the background, so that
// its results do not come up later.
func (w *Worker) stopTasks(ctx context.Context, t *turn) {
	for _, id := range t.background() {
		if _, err := w.link.call(ctx, w.cfg.Grace, object{"subtype": "stop_task", "task_id": id}); err != nil {
			w.log.WarnContext(ctx, "background work not stopped", "err", err)
		}
	}
}

// Steer implements worker.Worker. The agent takes the message in between two
// tool calls, or right after the answer that it is writing; the turn goes on
// until that is done too.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	text := in.Text()
	if blank(text) {
		return chat.E(chat.Invalid, "", errors.New("an empty message"))
	}
	if !w.tells.Load() {
		return chat.E(chat.Unsupported, "", errors.New("the agent does not tell what becomes of messages"))
	}
	t, id := w.current(), uuid.NewString()
	if t == nil || !t.join(id) {
		return chat.E(chat.Conflict, "", errors.New("no turn runs"))
	}
	err := w.link.send(ctx, userMessage(id, text))
	if err == nil {
		return nil
	}
	t.leave(id)
	return chat.E(chat.Conflict, "", err)
}

// enter makes t the running turn.
func (w *Worker) enter(t *turn) error {
	select {
	case <-w.gone:
		return w.crash()
	default:
	}
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	if w.known.turn != nil {
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	w.known.turn = t
	return nil
}

func (w *Worker) exitTurn(t *turn) {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	if w.known.turn == t {
		w.known.turn = nil
	}
}

// blank reports whether a text has nothing to read in it.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	}) == ""
}

// Set implements worker.Worker.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if err := checkSettings(s); err != nil {
		return "", err
	}
	w.known.mu.Lock()
	was, applied := w.known.wanted, chat.AppliedNow
	if w.known.turn != nil {
		applied = chat.AppliedNext
	}
	w.known.mu.Unlock()
	if s.Model != was.Model {
		if err := w.set(ctx, "set_model", "model", s.Model); err != nil {
			return "", err
		}
		was.Model = s.Model
		w.want(was)
	}
	if s.Mode != was.Mode {
		if err := w.set(ctx, "set_permission_mode", "mode", s.Mode); err != nil {
			return "", err
		}
		was.Mode = s.Mode
		w.want(was)
	}
	return applied, nil
}

func (w *Worker) want(s chat.Settings) {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	w.known.wanted = s
}

// set changes one setting; the agent calls its own choice "default".
func (w *Worker) set(ctx context.Context, what, name, value string) error {
	if value == "" {
		value = "default"
	}
	_, err := w.link.call(ctx, w.cfg.ControlTimeout, object{"subtype": what, name: value})
	var no *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no):
		return chat.E(chat.Invalid, shorten(no.text), err)
	case errors.Is(err, errGone):
		return w.crash()
	default:
		return err
	}
}
