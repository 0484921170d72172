package acp

import (
	"context"
	"errors"
	"slices"

	"cligate/internal/chat"
)

// words wait for an agent that asks for them between two tools.
type words struct {
	text  string
	taken chan struct{}
}

// Steer puts words into the running turn of an agent that asks for them; the
// protocol itself has no way. It waits until the agent has taken them, or the
// turn is over.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	if !w.session.cfg.Drains {
		return chat.E(chat.Unsupported, "", errors.New("the protocol has no way to steer a turn"))
	}
	blocks, err := w.session.contents(in)
	if err != nil {
		return err
	}
	if len(blocks) != 1 || blocks[0].Type != "text" {
		return chat.E(chat.Unsupported, "", errors.New("only texts reach a running turn"))
	}
	t := w.desk.running()
	if t == nil {
		return chat.E(chat.Conflict, "", errors.New("no turn runs"))
	}
	x := &words{text: blocks[0].Text, taken: make(chan struct{})}
	t.leave(x)
	select {
	case <-x.taken:
		return nil
	case <-t.done:
	case <-ctx.Done():
	}
	if t.takeBack(x) {
		return nil // they were taken in that moment
	}
	return chat.E(chat.Conflict, "", errors.New("the turn was over before the agent asked for more"))
}

// drain hands over what waits for the running turn.
func (d *desk) drain() drained {
	out := drained{Messages: []string{}}
	if t := d.running(); t != nil {
		for _, x := range t.drain() {
			out.Messages = append(out.Messages, x.text)
		}
	}
	return out
}

// leave keeps words until the agent asks.
func (t *turn) leave(x *words) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, x)
}

// drain hands over the words that wait.
func (t *turn) drain() []*words {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.muted {
		return nil
	}
	all := t.waiting
	t.waiting = nil
	for _, x := range all {
		close(x.taken)
	}
	return all
}

// takeBack withdraws words, and reports whether they were taken before.
func (t *turn) takeBack(x *words) (taken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, x)
	if i < 0 {
		return true
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return false
}
