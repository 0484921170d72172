package claude

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// turn is one Prompt: the messages that belong to it, and how it ends. Runs of
// the agent are bound to it by the ids of messages, never by counting results:
// the agent merges messages, and starts runs by itself.
type turn struct {
	ctx   context.Context // the events' context; cancelled when Prompt returns
	host  worker.Host
	quiet atomic.Bool    // nothing is reported any more
	asks  sync.WaitGroup // open questions
	sent  chan struct{}  // closed when the prompt was written and reported, or could not be
	abort chan error     // the reader's wish to end the turn early
	done  chan struct{}  // closed when the agent has ended the turn

	mu       sync.Mutex
	news     chan struct{} // closed, and made anew, when something below changes
	messages map[string]letter
	phase    phase
	over     bool
	err      error // of the last run
	usage    chat.Usage
	called   bool            // a run called the model itself
	tasks    map[string]bool // background work that the turn started and that goes on
}

// letter is a message that was sent to the agent.
type letter struct {
	state lifeState
	loose bool // it was steered in: it goes back when no tool comes any more
}

// phase is what the agent is at in a run of the turn.
type phase int

// The phases.
const (
	phaseModel  phase = iota // the model thinks or writes
	phaseTools               // tools run; what is sent now goes to the model with their results
	phaseEnding              // the model has said its last word
)

// lifeState is the life of a message that was sent to the agent.
type lifeState string

// The states; the agent's own names where it has one.
const (
	lifeWritten   lifeState = "written"
	lifeStarted   lifeState = "started"
	lifeCompleted lifeState = "completed"
	lifeCancelled lifeState = "cancelled"
)

func newTurn(ctx context.Context, host worker.Host, id string) *turn {
	return &turn{
		ctx: ctx, host: host,
		sent: make(chan struct{}), abort: make(chan error, 1), done: make(chan struct{}),
		news:     make(chan struct{}),
		messages: map[string]letter{id: {state: lifeWritten}},
		tasks:    map[string]bool{},
	}
}

// tell wakes whoever waits for a change; t.mu is held.
func (t *turn) tell() {
	close(t.news)
	t.news = make(chan struct{})
}

// hush says that nothing of the turn is of interest any more: it was cancelled.
func (t *turn) hush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet.Store(true)
	t.tell()
}

// owns reports whether id is a message of this turn.
func (t *turn) owns(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.messages[id]
	return ok
}

// mark notes what the agent says about a message and returns what was known
// before. The end of a message that was begun is not noted: the result of its
// run tells more.
func (t *turn) mark(id string, s lifeState) (before lifeState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.messages[id]
	if m.state == lifeWritten {
		t.messages[id] = letter{state: s, loose: m.loose}
		t.settle()
		t.tell()
	}
	return m.state
}

// admit counts a question in; false when the turn takes none any more.
func (t *turn) admit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.quiet.Load() {
		return false
	}
	t.asks.Add(1)
	return true
}

// close makes sure that nothing joins the turn any more.
func (t *turn) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet.Store(true)
	t.over = true
	for id, m := range t.messages {
		if m.state == lifeWritten { // whoever steered it in is told
			t.messages[id] = letter{state: lifeCancelled, loose: m.loose}
		}
	}
	t.tell()
}

// startAll notes that the agent works at everything that was written, for an
// agent that does not tell.
func (t *turn) startAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, m := range t.messages {
		if m.state == lifeWritten {
			t.messages[id] = letter{state: lifeStarted, loose: m.loose}
		}
	}
}

// waiting returns the messages that the agent has not begun with.
func (t *turn) waiting() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, m := range t.messages {
		if m.state == lifeWritten {
			ids = append(ids, id)
		}
	}
	return ids
}

// ran notes the end of a run, which called the model itself or not. The turn is over with it, unless the agent goes
// on with a message that took the place of what it did, or that came too late
// to be taken back.
// It returns the messages to take back.
func (t *turn) ran(u chat.Usage, called bool, err error) (late []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, m := range t.messages {
		if m.state == lifeStarted {
			t.messages[id] = letter{state: lifeCompleted, loose: m.loose}
		}
	}
	t.err = err
	t.usage = sum(t.usage, u)
	t.called = t.called || called
	t.phase = phaseModel
	t.settle()
	t.tell()
	return t.late()
}

// settle ends the turn when nothing is left to come; t.mu is held.
func (t *turn) settle() {
	for _, m := range t.messages {
		if m.state == lifeWritten || m.state == lifeStarted {
			return
		}
	}
	if !t.over {
		t.over = true
		close(t.done)
	}
}

// ended reports whether the turn is over.
func (t *turn) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// outcome is how the turn ended.
func (t *turn) outcome() (chat.Usage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage, t.err
}

// report tells the host what the turn used; a cancelled one has its price too.
func (t *turn) report(ctx context.Context, log *slog.Logger) {
	ctx = context.WithoutCancel(ctx)
	u, _ := t.outcome()
	if u == (chat.Usage{}) {
		return
	}
	if err := t.host.Emit(ctx, chat.Event{Kind: chat.EventUsage, Usage: &u}); err != nil {
		log.WarnContext(ctx, "event not taken", "kind", string(chat.EventUsage), "err", err)
	}
}

// unmeasured reports whether a turn that went well does not tell how full the
// context is: it called no model.
func (t *turn) unmeasured() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil && !t.called
}

// fill adds what the turn did not tell about the context.
func (t *turn) fill(used, window int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if used > 0 && window > 0 {
		t.usage.Used, t.usage.Window = used, window
	}
}

// giveUp asks Prompt to end the turn with err.
func (t *turn) giveUp(err error) {
	select {
	case t.abort <- err:
	default: // it is on its way already
	}
}

// task notes background work: begun or ended.
func (t *turn) task(id string, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if begun {
		t.tasks[id] = true
	} else {
		delete(t.tasks, id)
	}
}

// background returns the work that goes on beside the turn.
func (t *turn) background() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]string, 0, len(t.tasks))
	for id := range maps.Keys(t.tasks) {
		ids = append(ids, id)
	}
	return ids
}

// sum adds the figures of two runs of one turn.
func sum(a, b chat.Usage) chat.Usage {
	b.In += a.In
	b.Out += a.Out
	b.CostUSD += a.CostUSD
	b.Took += a.Took
	if b.Model == "" {
		b.Model = a.Model
	}
	b.Window, b.Used = max(a.Window, b.Window), max(a.Used, b.Used)
	return b
}
