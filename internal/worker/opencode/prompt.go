package opencode

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Prompt implements worker.Worker.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	order, err := w.order(in)
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
		ctx: running, host: host, log: w.log, retries: w.driver.cfg.Retries, began: time.Now(),
		events: make(chan heard, backlog), closed: make(chan struct{}), asks: newAsks(w.api, w.log), steered: &steered{},
		answers: map[string]figures{}, parts: map[string]*piece{}, tools: map[string]chat.Tool{}, ended: map[string]bool{},
	}
	if err := w.enter(t); err != nil {
		return err
	}
	r := &run{Worker: w, turn: t, posted: make(chan error, 1), order: order}
	posting, stopPosting := context.WithCancel(context.WithoutCancel(ctx))
	r.tasks.Go(func() { r.posted <- w.api.call(posting, http.MethodPost, order.path, order.body, nil) })
	err = r.until(ctx)
	cancel()
	t.closeText()
	t.closeTools()
	if u := t.usage(w.known.models); u.In > 0 || u.Out > 0 {
		u.Took = time.Since(t.began).Round(time.Millisecond)
		t.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
	}
	t.steered.over()
	close(t.closed)
	w.exit()
	stopPosting()
	r.tasks.Wait()
	t.asks.wait()
	return err
}

func (w *Worker) enter(t *turn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn != nil {
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	t.mark = w.newest
	w.turn = t
	return nil
}

func (w *Worker) exit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = nil
}

// order is a request that starts a turn.
type order struct {
	path  string
	body  object
	whole bool // it is answered at the turn's end, not at its beginning
}

// order makes the request for an input: a prompt, or one of the agent's
// commands.
func (w *Worker) order(in chat.Input) (order, error) {
	w.mu.Lock()
	s, current := w.settings, w.model
	w.mu.Unlock()
	parts, text, err := content(in, w.known.models[current])
	if err != nil {
		return order{}, err
	}
	provider, name, _ := strings.Cut(s.Model, "/")
	if command, arguments, ok := w.command(text); ok {
		if command == compact {
			provider, name, _ = strings.Cut(current, "/")
			if name == "" {
				return order{}, chat.E(chat.Unsupported, "", errors.New("no model to compact with is known"))
			}
			return order{"/session/" + w.id + "/summarize", object{"providerID": provider, "modelID": name}, true}, nil
		}
		body := object{"command": command, "arguments": arguments, "agent": s.Mode}
		if s.Model != "" {
			body["model"] = s.Model
		}
		if s.Effort != "" {
			body["variant"] = s.Effort
		}
		return order{"/session/" + w.id + "/command", body, true}, nil
	}
	body := object{"agent": s.Mode, "parts": parts}
	if name != "" {
		body["model"] = object{"providerID": provider, "modelID": name}
	}
	if s.Effort != "" {
		body["variant"] = s.Effort
	}
	return order{"/session/" + w.id + "/prompt_async", body, false}, nil
}

// command splits a text that is a command of the agent's.
func (w *Worker) command(text string) (name, arguments string, ok bool) {
	line, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	name, arguments = line, ""
	if i := strings.IndexAny(line, " \n\t"); i >= 0 {
		name, arguments = line[:i], strings.TrimSpace(line[i:])
	}
	known := name == compact || slices.ContainsFunc(w.known.commands, func(c commandInfo) bool {
		return c.Name == name && c.Source != "skill"
	})
	return name, arguments, known
}

// How a turn is looked after.
const (
	lookEvery  = 20 * time.Second       // at a turn that seems to run
	lookAgain  = 300 * time.Millisecond // when it was not clear whether it is over
	abortEvery = 400 * time.Millisecond // until it is
)

// errTired says that the agent would repeat a failed call for too long.
var errTired = errors.New("the agent repeated a failed call of the model often enough")
