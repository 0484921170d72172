package pi

import (
	"context"
	"errors"
	"sync"

	"cligate/internal/chat"
)

// steered are the words that were put into a running turn. The agent keeps them
// until its next call of the model, and says how many it still keeps.
type steered struct {
	mu      sync.Mutex
	over    bool
	waiting []chan error // in the order in which they were sent
	kept    int          // that the agent has said it keeps
}

func newSteered() *steered { return &steered{} }

// errTooLate sends words back to the queue.
var errTooLate = chat.E(chat.Conflict, "", errors.New("the turn is over"))

// add notes words that are about to be sent.
func (s *steered) add() (chan error, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, false
	}
	ch := make(chan error, 1)
	s.waiting = append(s.waiting, ch)
	return ch, true
}

// drop forgets words that the agent did not get.
func (s *steered) drop(ch chan error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiting {
		if w == ch {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return
		}
	}
}

// left takes how many words the agent keeps. It says so when it is given some,
// and again when the model has got them; the oldest go first.
func (s *steered) left(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.kept > n && len(s.waiting) > 0; s.kept-- {
		s.waiting[0] <- nil // has room for one
		s.waiting = s.waiting[1:]
	}
	s.kept = n
}

// end says that the turn is over, and returns how many words came too late.
func (s *steered) end() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	n := len(s.waiting)
	for _, ch := range s.waiting {
		ch <- errTooLate
	}
	s.waiting = nil
	return n
}

// Steer implements worker.Worker. It returns when the model is given the words,
// or when the turn ends without that.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	w.mu.Lock()
	t := w.turn
	w.mu.Unlock()
	if t == nil || isClosed(w.gone) {
		return errTooLate
	}
	c, err := w.command(in)
	switch {
	case err != nil:
		return err
	case c["type"] != "prompt":
		return chat.E(chat.Conflict, "", errors.New("a command cannot be steered in"))
	}
	c["type"] = "steer"
	ch, ok := t.steered.add()
	if !ok {
		return errTooLate
	}
	if err := w.link.call(ctx, w.cfg.CallTimeout, c, nil); err != nil {
		if no := (*refusalError)(nil); errors.As(err, &no) {
			t.steered.drop(ch)
			return chat.E(chat.Conflict, shorten(no.text), err)
		}
		return chat.E(chat.Conflict, "", err)
	}
	select {
	case err := <-ch:
		return err
	case <-w.gone:
		return chat.E(chat.Conflict, "", errGone)
	case <-ctx.Done():
		return nil // the agent has the words, whatever becomes of them
	}
}
