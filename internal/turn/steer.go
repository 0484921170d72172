package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Steer gives words to the turn that runs and waits until its agent has taken
// them, or has not: then the error says why, and nothing of them is left with
// the agent. chat.Conflict: the turn does not run here, or not any more.
func (r *Runner) Steer(ctx context.Context, turn int64, in chat.Input) error {
	return r.put(turn, func(w worker.Worker) error { return w.Steer(ctx, in) })
}

// Replace is Steer at once: what the agent does at that moment is ended, and
// the turn goes on with the words. chat.Unsupported: this agent cannot do that.
func (r *Runner) Replace(ctx context.Context, turn int64, in chat.Input) error {
	return r.put(turn, func(w worker.Worker) error {
		if one, ok := w.(worker.Replacer); ok {
			return one.Replace(ctx, in)
		}
		return chat.E(chat.Unsupported, "", errors.New("the agent drops nothing for other words"))
	})
}

// put gives words to the worker of a turn that runs here.
func (r *Runner) put(turn int64, give func(w worker.Worker) error) (err error) {
	w := r.seats.worker(turn)
	if w == nil {
		return chat.E(chat.Conflict, "", errors.New("no worker has the turn"))
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a driver: %v\n%s", p, debug.Stack())
		}
	}()
	if err := give(w); err != nil {
		return fmt.Errorf("give words to turn %d: %w", turn, err)
	}
	return nil
}

// worker returns the one that works on a turn; nil while there is none.
func (s *seats) worker(turn int64) worker.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.active {
		if n.turn.ID == turn {
			return n.worker
		}
	}
	return nil
}
