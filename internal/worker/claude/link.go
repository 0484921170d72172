package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
)

// process is what the driver needs of a running agent; *proc.Process is one.
type process interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
	CloseWrite() error
	Stderr() string
	Done() <-chan struct{}
	Exit() (code int, signal syscall.Signal)
	Identity() string
	Terminate(ctx context.Context) error
}

// link is the way to the agent: it writes whole lines, one at a time, and
// pairs our control requests with their answers.
type link struct {
	proc process
	gone <-chan struct{} // closed when nothing will be read any more
	// limit bounds one control request, and the answer to one.
	limit time.Duration
	log   *slog.Logger

	sending chan struct{} // holds one token: who has it may write
	torn    bool          // a line was written in part; the token guards it

	mu      sync.Mutex
	pending map[string]chan responseMsg
}

func newLink(p process, gone <-chan struct{}, limit time.Duration, log *slog.Logger) *link {
	l := &link{proc: p, gone: gone, limit: limit, log: log, sending: make(chan struct{}, 1), pending: map[string]chan responseMsg{}}
	l.sending <- struct{}{}
	return l
}

// errGone says that the agent is not there any more.
var errGone = errors.New("the agent is gone")

// errTorn says that a line was written in part: the agent cannot be used after
// that.
var errTorn = errors.New("a line was written in part")

// send writes v as one line. It waits while the agent does not read, at most
// until ctx ends. After an error that is errTorn the agent must be ended:
// nothing can be written to it any more.
func (l *link) send(ctx context.Context, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case <-l.sending:
		defer func() { l.sending <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.gone:
		return errGone
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if l.torn {
		return errTorn
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = l.proc.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := l.proc.Write(append(line, '\n'))
	if !stop() {
		<-fired
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
	default:
		return fmt.Errorf("write to the agent: %w: %w", errGone, err)
	}
}

// call sends a control request and waits for its answer, at most for limit.
func (l *link) call(ctx context.Context, limit time.Duration, body object) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	id := uuid.NewString()
	answer := make(chan responseMsg, 1)
	l.mu.Lock()
	l.pending[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.pending, id)
		l.mu.Unlock()
	}()
	if err := l.send(ctx, controlRequest(id, body)); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if a.Response.Subtype == "error" {
			return nil, &refusalError{code: a.Response.Code, text: a.Response.Error}
		}
		return a.Response.Body, nil
	case <-l.gone:
		return nil, errGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// try is a call whose failure is worth a line in the log only.
func (l *link) try(ctx context.Context, body object) {
	if _, err := l.call(ctx, l.limit, body); err != nil && !errors.Is(err, errGone) {
		l.log.WarnContext(ctx, "agent did not do as told", "request", body["subtype"], "err", err)
	}
}

// errLate says that an answer did not come in time.
var errLate = chat.E(chat.TimedOut, "", errors.New("the agent did not answer a control request"))

// refusalError is the agent's no to a control request.
type refusalError struct{ code, text string }

func (r *refusalError) Error() string { return "the agent refused: " + r.code + ": " + r.text }

// answered hands an answer to whoever waits for it; it reports false when
// nobody does.
func (l *link) answered(m responseMsg) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch, ok := l.pending[m.Response.ID]
	if ok {
		ch <- m // has room for one, and is forgotten with it
		delete(l.pending, m.Response.ID)
	}
	return ok
}
