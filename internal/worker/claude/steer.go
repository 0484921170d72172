package claude

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Replacer = (*Worker)(nil)

// Steer implements worker.Worker. The agent takes words in between two calls of
// the model, with the results of tools; what comes while the model says its
// last words would become a run of its own. So they are held here until tools
// run, and taken back if no results follow. Steer waits until it is known.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error { return w.put(ctx, in, false) }

// Replace implements worker.Replacer.
func (w *Worker) Replace(ctx context.Context, in chat.Input) error { return w.put(ctx, in, true) }

// put sends a message into the running turn: at the next occasion, or now.
func (w *Worker) put(ctx context.Context, in chat.Input, now bool) error {
	content, err := content(in)
	switch {
	case err != nil:
		return err
	case !w.tells.Load():
		return chat.E(chat.Unsupported, "", errors.New("the agent does not tell what becomes of messages"))
	case strings.HasPrefix(in.Text(), "/"): // a command is a turn of its own
		return chat.E(chat.Conflict, "", errors.New("a command is not steered in"))
	}
	t, id := w.known.current(), uuid.NewString()
	if t == nil {
		return errNoTurn
	}
	m := userMessage(id, content)
	if now {
		m["priority"] = "now"
	} else if err := w.occasion(ctx, t); err != nil {
		return err
	}
	if !t.join(id, !now) {
		return errNoTurn
	}
	if err := w.link.send(ctx, m); err != nil {
		t.leave(id)
		return chat.E(chat.Conflict, "", err)
	}
	if !now && t.at() == phaseEnding { // in the meantime
		w.link.try(ctx, cancelMessage(id))
	}
	return w.settled(ctx, t, id)
}

// errNoTurn sends a message to the queue: there is no turn (any more) that it
// could go to.
var errNoTurn = chat.E(chat.Conflict, "", errors.New("no turn takes the message"))

// occasion waits until tools run.
func (w *Worker) occasion(ctx context.Context, t *turn) error {
	for {
		p, open, news := t.look()
		switch {
		case !open:
			return errNoTurn
		case p == phaseTools:
			return nil
		}
		select {
		case <-news:
		case <-w.gone:
			return errNoTurn
		case <-ctx.Done():
			return chat.E(chat.Conflict, "", context.Cause(ctx))
		}
	}
}

// settled waits until the agent has begun with a message, or never will.
func (w *Worker) settled(ctx context.Context, t *turn, id string) error {
	ended := ctx.Done()
	for {
		state, news := t.state(id)
		switch state {
		case lifeStarted, lifeCompleted:
			return nil
		case lifeCancelled:
			return errNoTurn
		case lifeWritten:
		}
		select {
		case <-news:
		case <-w.gone:
			if state, _ := t.state(id); state == lifeStarted || state == lifeCompleted {
				return nil
			}
			return errNoTurn
		case <-ended:
			ended = nil // once
			w.link.try(context.WithoutCancel(ctx), cancelMessage(id))
		}
	}
}

// follow notes what the agent is at; what can not be taken in any more is taken
// back.
func (rd *reader) follow(e streamEvent) {
	t := rd.run.turn
	if t == nil {
		return
	}
	switch {
	case e.Type == "message_start":
		t.enter(phaseModel)
	case e.Type != "message_delta" || e.Delta == nil:
	case e.Delta.Stop == "tool_use":
		t.enter(phaseTools)
	case e.Delta.Stop != "" && e.Delta.Stop != "pause_turn":
		rd.takeBack(t.enter(phaseEnding))
	}
}

// join adds a message to a turn that runs; false when it is over already.
func (t *turn) join(id string, loose bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.quiet.Load() {
		return false
	}
	t.messages[id] = letter{state: lifeWritten, loose: loose}
	return true
}

// leave takes back a message that could not be written.
func (t *turn) leave(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.messages, id)
	t.settle()
}

// look tells what the agent is at, whether the turn takes messages, and what
// to wait for.
func (t *turn) look() (p phase, open bool, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase, !t.over && !t.quiet.Load(), t.news
}

func (t *turn) at() phase {
	p, _, _ := t.look()
	return p
}

// state is the life of a message, and what to wait for.
func (t *turn) state(id string) (lifeState, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages[id].state, t.news
}

// enter notes what the agent is at from now on. When the run ends it returns
// the messages that were steered in and not taken.
func (t *turn) enter(p phase) (late []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phase = p
	t.tell()
	if p != phaseEnding {
		return nil
	}
	return t.late()
}

// late are the messages that were steered in and not taken; t.mu is held.
func (t *turn) late() (ids []string) {
	for id, m := range t.messages {
		if m.loose && m.state == lifeWritten {
			ids = append(ids, id)
		}
	}
	return ids
}

// takeBack has the agent forget messages that it did not begin with.
func (rd *reader) takeBack(ids []string) {
	for _, id := range ids {
		rd.tasks.Go(func() { rd.link.try(rd.life, cancelMessage(id)) })
	}
}
