package codex

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// turn is one Prompt, or one stretch of work that nobody asked for: whom it is
// reported to, and what all of its runs took together.
type turn struct {
	ctx    context.Context // ends when the turn is cancelled, by whomever
	cancel context.CancelCauseFunc
	host   worker.Host
	log    *slog.Logger
	asks   sync.WaitGroup // open questions
	gone   chan struct{}  // closed when Prompt is about to return

	mu    sync.Mutex
	run   *run
	sent  bool // the host knows that the prompt was written
	over  bool // nothing is reported any more
	usage chat.Usage
	calls map[string]bool // ids of the tools that were called
	asked map[string]int  // how often something was asked about an item
	words []object        // what replaces the run that is being ended
}

func newTurn(ctx context.Context, host worker.Host, log *slog.Logger) *turn {
	ctx, cancel := context.WithCancelCause(ctx)
	return &turn{
		ctx: ctx, cancel: cancel, host: host, log: log, gone: make(chan struct{}),
		calls: map[string]bool{}, asked: map[string]int{},
	}
}

// begin makes r the run that serves the turn.
func (t *turn) begin(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = r
}

// now returns the run that serves the turn.
func (t *turn) now() *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run
}

// emit reports e, in order, until the turn is over.
func (t *turn) emit(e chat.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.tell(e)
	}
}

// tell reports e; t.mu is held.
func (t *turn) tell(e chat.Event) {
	if err := t.host.Emit(context.WithoutCancel(t.ctx), e); err != nil && t.ctx.Err() == nil {
		t.log.WarnContext(t.ctx, "event not taken", "kind", string(e.Kind), "err", err)
	}
}

// last reports events after the turn went quiet: how its tools ended, what it
// took. It must not be called when Prompt has returned.
func (t *turn) last(events ...chat.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		t.tell(e)
	}
}

// reportSent says, once, that the prompt was written.
func (t *turn) reportSent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sent && !t.over {
		t.sent = true
		t.tell(chat.Event{Kind: chat.EventSent})
	}
}

// hush says that nothing of the turn is of interest any more.
func (t *turn) hush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

func (t *turn) quiet() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// admit counts a question in; false when the turn takes none any more.
func (t *turn) admit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.asks.Add(1)
	return true
}

// numbered returns how often something was asked about an item, this time
// included.
func (t *turn) numbered(item string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[item]++
	return t.asked[item]
}

// called notes a tool that was called.
func (t *turn) called(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[id] = true
}

func (t *turn) allCalls() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.calls)
}

// replace notes the words that the turn goes on with when r is over; false when
// r serves it no more.
func (t *turn) replace(r *run, words []object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.run != r {
		return false
	}
	t.words = append(t.words, words...)
	return true
}

// takeWords returns the words to go on with. If there are none, none are taken
// any more for the run that ended.
func (t *turn) takeWords() []object {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := t.words
	t.words, t.run = nil, nil
	return words
}

// used adds the figures of a call of the model and reports them, so that the
// turn can be ended before it has used too much.
func (t *turn) used(u tokens, now tokenUsage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage.Window = now.Window
	t.usage.Used = now.Last.Total
	if now.Window > 0 {
		t.usage.Used = min(t.usage.Used, now.Window)
	}
	t.spend(u)
}

// helped adds what a sub-agent's call of the model took; its context is its
// own.
func (t *turn) helped(u tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spend(u)
}

// spend adds up and reports; t.mu is held.
func (t *turn) spend(u tokens) {
	if u.In == 0 && u.Out == 0 {
		return
	}
	t.usage.In += u.In
	t.usage.Out += u.Out
	if !t.over {
		now := t.usage
		t.tell(chat.Event{Kind: chat.EventUsage, Usage: &now})
	}
}

// report tells what the turn took; a cancelled one has its price too.
func (t *turn) report() {
	t.mu.Lock()
	u := t.usage
	t.mu.Unlock()
	if u.In > 0 || u.Out > 0 || u.Used > 0 {
		t.last(chat.Event{Kind: chat.EventUsage, Usage: &u})
	}
}
