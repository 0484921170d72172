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

// Steer puts words into the running turn, in the way that the agent announces,
// or when it asks for them; the protocol itself has none. It waits until the
// agent has taken them, or the turn is over.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	injects := w.session.natively().steering
	if !injects && !w.session.cfg.Drains {
		return chat.E(chat.Unsupported, "", errors.New("the agent has no way to steer a turn"))
	}
	blocks, err := w.session.contents(in)
	if err != nil {
		return err
	}
	t := w.desk.running()
	switch {
	case t == nil:
		return chat.E(chat.Conflict, "", errors.New("no turn runs"))
	case injects:
		return w.inject(ctx, blocks)
	case len(blocks) != 1 || blocks[0].Type != "text":
		return chat.E(chat.Unsupported, "", errors.New("only texts reach a running turn"))
	}
	return t.offer(ctx, &words{text: blocks[0].Text, taken: make(chan struct{})})
}

// inject hands words to an agent that takes them at any time.
func (w *Worker) inject(ctx context.Context, blocks []content) error {
	limit, cancel := context.WithTimeoutCause(ctx, w.session.cfg.CallTimeout, errLate)
	defer cancel()
	ask := steering{SessionID: w.NativeID(), Prompt: blocks}
	ask.Meta.Steering.Idle = "promptRequired"
	raw, err := w.session.conn.call(limit, "_session/steering", ask)
	if errors.Is(err, errLate) { // it may have them, so they must not go to the queue as well
		return chat.E(chat.TimedOut, "", err)
	}
	if err != nil {
		return chat.E(chat.Conflict, "", err)
	}
	if got, err := decode[steered](raw); err != nil || got.Outcome != "injected" {
		return chat.E(chat.Conflict, "", errors.Join(errors.New("the agent did not take the words"), err))
	}
	return nil
}

// offer leaves words for the agent until it asks.
func (t *turn) offer(ctx context.Context, x *words) error {
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
