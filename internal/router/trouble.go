package router

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// A message that fails in a way which is not its author's fault is tried again
// for so long and so often. One that fails for ever must not keep the others of
// its conversation waiting.
const (
	leastTries = 5
	leastTime  = 10 * time.Second
)

// failure is the trouble with one message.
type failure struct {
	tries int
	since time.Time
}

func (f failure) final() bool { return f.tries >= leastTries && time.Since(f.since) >= leastTime }

// trouble is what went wrong, and what was tried about it.
type trouble struct {
	end *ender
	log *slog.Logger

	mu     sync.Mutex
	failed map[int64]failure // by message
}

// attempt does f, which takes in, and reports whether in is dealt with. A
// defect that panics is a failure like others: a message must not be able to
// stop the daemon again and again.
func (t *trouble) attempt(ctx context.Context, in chat.Inbound, f func() error) bool {
	err := guard(f)
	if err == nil {
		t.forget(in.ID)
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	t.complain(ctx, "message not routed", in.ID, err)
	if !t.note(in.ID).final() {
		return false
	}
	lang := t.end.desk.lang(chat.Conversation{}, in.Sender)
	text := i18n.T(lang, "error."+string(chat.Internal), "id", fmt.Sprintf("m%d", in.ID))
	if err := t.end.settle(ctx, in, chat.InboundRefused, chat.Internal, say(text)...); err != nil {
		return false
	}
	t.forget(in.ID)
	return true
}

// note counts a failure of a message.
func (t *trouble) note(inbound int64) failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	bad := t.failed[inbound]
	if bad.tries++; bad.tries == 1 {
		bad.since = time.Now()
	}
	t.failed[inbound] = bad
	return bad
}

func (t *trouble) forget(inbound int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, inbound)
}

func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

func (t *trouble) complain(ctx context.Context, what string, inbound int64, err error) {
	if ctx.Err() == nil {
		t.log.WarnContext(ctx, "routing failed", "what", what, "inbound", inbound, "err", err)
	}
}
