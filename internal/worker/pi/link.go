package pi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// link is the way to the agent: it writes whole lines, one at a time, and pairs
// commands with their answers.
type link struct {
	proc process
	gone <-chan struct{} // closed when nothing will be read any more

	sending chan struct{} // holds one token: who has it may write
	torn    bool          // a line was written in part; the token guards it

	mu      sync.Mutex
	last    int
	pending map[string]waiter
}

type waiter struct {
	command string
	answer  chan message
}

func newLink(p process, gone <-chan struct{}) *link {
	l := &link{proc: p, gone: gone, sending: make(chan struct{}, 1), pending: map[string]waiter{}}
	l.sending <- struct{}{}
	return l
}

var (
	// errGone says that the agent is not there any more.
	errGone = errors.New("the agent is gone")
	// errTorn says that a line was written in part: the agent must be ended.
	errTorn = errors.New("a line was written in part")
	// errLate says that an answer did not come in time.
	errLate = errors.New("the agent did not answer a command in time")
)

// refusalError is the agent's no to a command.
type refusalError struct{ text string }

func (r *refusalError) Error() string { return "the agent refused: " + r.text }

// name makes the id of a command.
func (l *link) name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return strconv.Itoa(l.last)
}

// send writes v as one line, at most until ctx ends.
func (l *link) send(ctx context.Context, v object) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a command: %w", err)
	}
	select {
	case <-l.sending:
		defer func() { l.sending <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.gone:
		return errGone
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.torn:
		return errTorn
	}
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(late)
		_ = l.proc.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := l.proc.Write(append(line, '\n'))
	if !stop() {
		<-late
		_ = l.proc.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		l.torn = true
		return fmt.Errorf("write to the agent: %w: %w", errTorn, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("write to the agent: %w: %w", errGone, err)
}

// call sends a command and waits for its answer, at most for limit.
func (l *link) call(ctx context.Context, limit time.Duration, command object, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	id := l.name()
	w := waiter{command: fmt.Sprint(command["type"]), answer: make(chan message, 1)}
	l.mu.Lock()
	l.pending[id] = w
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.pending, id)
		l.mu.Unlock()
	}()
	command["id"] = id
	if err := l.send(ctx, command); err != nil {
		return err
	}
	select {
	case m := <-w.answer:
		switch {
		case !m.Success:
			return &refusalError{m.Error}
		case into == nil:
			return nil
		}
		if err := json.Unmarshal(m.Data, into); err != nil {
			return fmt.Errorf("read the answer to %s: %w", w.command, err)
		}
		return nil
	case <-l.gone:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answered hands an answer to whoever waits for it; false when nobody does. The
// agent names no command in the answer to one that it does not know.
func (l *link) answered(m message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	for id, w := range l.pending {
		if id == m.ID || m.ID == "" && !m.Success && w.command == m.Command {
			w.answer <- m // has room for one, and is forgotten with it
			delete(l.pending, id)
			found = true
		}
	}
	return found
}
