package pi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Prompt implements worker.Worker.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	command, err := w.command(in)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isClosed(w.gone) {
		return w.crash()
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &turn{
		ctx: running, host: host, log: w.log, began: time.Now(), events: make(chan message, backlog), closed: make(chan struct{}),
		steered: newSteered(), tools: map[string]chat.Tool{},
	}
	if err := w.enter(t); err != nil {
		return err
	}
	r := &run{Worker: w, turn: t, command: command}
	err = r.until(ctx)
	cancel()
	t.closeText()
	t.closeTools()
	if t.usage.In > 0 || t.usage.Out > 0 {
		t.usage.Took = time.Since(t.began).Round(time.Millisecond)
		t.usage.Window = w.window()
		t.emit(chat.Event{Kind: chat.EventUsage, Usage: &t.usage})
	}
	w.exit(t)
	r.asks.Wait()
	if t.steered.end() > 0 || r.pending > 0 {
		w.kill(ctx, "words that came too late would reach the next turn")
	}
	return err
}

func (w *Worker) enter(t *turn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn != nil {
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	w.turn = t
	return nil
}

func (w *Worker) exit(t *turn) {
	close(t.closed)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = nil
}

func (w *Worker) window() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.model == nil {
		return 0
	}
	return w.model.Window
}

// command is an input as a command for the agent.
func (w *Worker) command(in chat.Input) (object, error) {
	w.mu.Lock()
	sees := w.model != nil && strings.Contains(strings.Join(w.model.Sees, " "), "image")
	w.mu.Unlock()
	text, images, err := contentOf(in, sees)
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(text, "/"+compact); ok && len(images) == 0 && (rest == "" || strings.HasPrefix(rest, " ")) {
		c := object{"type": "compact"}
		if rest = strings.TrimSpace(rest); rest != "" {
			c["customInstructions"] = rest
		}
		return c, nil
	}
	c := object{"type": "prompt", "message": text}
	if len(images) > 0 {
		c["images"] = images
	}
	return c, nil
}

// run sees a turn through, in one goroutine.
type run struct {
	*Worker
	*turn
	command object
	asks    sync.WaitGroup

	name     string    // of the command
	looking  string    // the question whether it is over that waits for its answer
	aborting string    // likewise the abort
	unheard  bool      // the abort was answered, and the turn goes on
	over     bool      // the agent rests
	stopping time.Time // when the turn was told to end; zero = it was not
	strikes  int       // looks that found an agent that rests and has not worked
	pending  int       // words that the agent still has
	taken    bool      // the command was answered
	failed   error     // it was refused
}

const (
	lookEvery = 20 * time.Second       // at a turn that seems to run
	lookAgain = 200 * time.Millisecond // at an agent that has not begun
	looks     = 3
)

// until runs the turn to its end and returns how it ended.
func (r *run) until(ctx context.Context) error {
	r.name = r.link.name()
	r.command["id"] = r.name
	if err := r.send(ctx, r.command); err != nil {
		return err
	}
	r.emit(chat.Event{Kind: chat.EventSent})
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	hurry := time.NewTicker(lookAgain)
	defer hurry.Stop()
	cancelled := ctx.Done()
	for !r.over {
		select {
		case m := <-r.events:
			r.hearing(m)
		case <-look.C:
			look.Reset(lookEvery)
			r.check, r.looking = true, ""
		case <-hurry.C:
			if r.stopping.IsZero() {
				r.check = r.check || r.strikes > 0
				break
			}
			if time.Since(r.stopping) > r.cfg.Grace {
				r.kill(ctx, "it did not end the turn in time")
				return context.Cause(ctx)
			}
			r.check = true
			if r.unheard {
				r.abort(ctx)
			}
		case <-cancelled:
			cancelled = nil
			r.cancelTurn(ctx)
		case <-r.gone:
			r.lastWords()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.crash()
		}
		r.look(ctx)
	}
	switch {
	case !r.stopping.IsZero():
		return context.Cause(ctx)
	case r.failed != nil:
		return r.failed
	}
	return r.outcome()
}

// lastWords takes what an agent said before it was gone.
func (r *run) lastWords() {
	for {
		select {
		case m := <-r.events:
			r.take(m)
		default:
			return
		}
	}
}

// send writes a command. An agent that cannot be written to is ended.
func (r *run) send(ctx context.Context, c object) error {
	err := r.link.send(ctx, c)
	if errors.Is(err, errTorn) || errors.Is(err, errGone) {
		r.kill(ctx, "a command could not be written")
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.crash()
	}
	return err
}

// cancelTurn tells the agent to end the turn, also while it waits to repeat a
// call.
func (r *run) cancelTurn(ctx context.Context) {
	r.quiet = true
	r.stopping, r.strikes = time.Now(), 0
	r.abort(ctx)
}

func (r *run) abort(ctx context.Context) {
	r.unheard = false
	r.aborting = r.link.name()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Grace)
	defer cancel()
	for _, c := range []object{{"type": "abort_retry", "id": r.link.name()}, {"type": "abort", "id": r.aborting}} {
		if err := r.send(ctx, c); err != nil {
			r.Worker.log.WarnContext(ctx, "turn not ended", "err", err)
			return
		}
	}
}

// hearing takes a message: an answer to one of ours, or an event.
func (r *run) hearing(m message) {
	switch {
	case m.Type == "extension_ui_request":
		r.question(m)
	case m.Type != "response":
		r.take(m)
	case m.ID == r.name || m.ID == "" && m.Command == r.command["type"]:
		r.answered(m)
	case m.ID == r.aborting:
		r.aborting, r.check = "", true
	case m.ID == r.looking:
		r.looking = ""
		r.seen(m)
	}
}

// answered takes the answer to the command.
func (r *run) answered(m message) {
	r.check, r.taken = true, true
	if m.Command == compact {
		r.worked = true
	}
	if !m.Success {
		r.failed = chat.E(classify(m.Error), shorten(m.Error), &refusalError{m.Error})
		r.worked = true
	}
}

// look asks the agent whether it rests, when the turn may be over. What it says
// after that was said after everything before.
func (r *run) look(ctx context.Context) {
	if !r.check || r.looking != "" || r.over {
		return
	}
	r.check = false
	r.looking = r.link.name()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.CallTimeout)
	defer cancel()
	if err := r.send(ctx, object{"type": "get_state", "id": r.looking}); err != nil {
		r.Worker.log.DebugContext(ctx, "agent not asked", "err", err)
	}
}

// seen takes what the agent says about itself. It rests also before it repeats
// a failed call, and before it begins.
func (r *run) seen(m message) {
	var is state
	if err := json.Unmarshal(m.Data, &is); err != nil || !m.Success {
		r.over = r.failed != nil || !r.stopping.IsZero()
		return
	}
	if is.Streaming || is.Compacting || r.again && r.stopping.IsZero() || r.aborting != "" || !r.taken {
		r.strikes = 0
		if is.Streaming && !r.stopping.IsZero() && r.aborting == "" {
			r.unheard = true // the turn had not begun when it was told to end
		}
		return
	}
	r.strikes++
	if r.stop == "error" && r.strikes < 2 && r.stopping.IsZero() {
		return // it may be about to say that it tries again
	}
	if r.worked || r.strikes >= looks {
		r.pending = is.Pending
		r.over = true
	}
}

// outcome is how the last answer ended.
func (r *run) outcome() error {
	switch r.stop {
	case "error", "aborted":
		return chat.E(classify(r.trouble), shorten(r.trouble), errors.New("the agent reported a failure"))
	}
	return nil
}
