// Package turn runs one turn to exactly one final state. It stands between the
// router's lanes, which decide when a turn may run, and the worker that does
// the work; what the agent says goes to the reply station, what it asks goes to
// people and back.
//
// Guarantees: every claimed turn ends in one final state, written by
// compare-and-set in one transaction with its last word, and with a message
// that says how it ended. The intent is durable before the prompt is given to
// the agent, so that a prompt which may have arrived is never given again
// without the user. What was received is never lost because the ledger cannot
// be written for a while. The end of a turn is never the end of its session.
package turn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

// Books are the views of the ledger that turns need.
type Books struct {
	Ledger   Ledger
	Recovery Recovery
	Asks     Asks
	Threads  Threads
	History  History
	Outbox   Outbox
}

// Sessions hands out workers.
type Sessions interface {
	// Acquire returns the live worker of a session, opening one if need be. It
	// blocks; chat.NoSession means that the agent definitely lost the session.
	// Each success needs one Release.
	Acquire(ctx context.Context, s chat.Session) (worker.Worker, error)
	Release(session int64)
	// Live reports whether Acquire would return at once.
	Live(session int64) (worker.Info, bool)
	// Forget ends the session's process, if any, and waits for that.
	Forget(session int64)
}

// Voice speaks to people.
type Voice interface {
	// Compose renders replies to outbox rows that are not stored yet. Rows of a
	// turn (turn > 0) are numbered from 1.
	Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out
	// Wake is called after rows of a place were committed.
	Wake(p chat.Place)
	// Say stores and sends words outside a turn; a known key is not said again.
	Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error
	// Begin makes the live message of a turn. It never blocks.
	Begin(t chat.Turn, lang, agent string) Live
}

// Live is the view that people have of a running turn. No method blocks.
type Live interface {
	Event(e chat.Event)
	Waiting(waiting bool) // for a person
	End(line string)      // one line remains; nothing follows
	Text() string         // the answer so far
}

// Config are the knobs of a Runner. For the clocks 0 = off.
type Config struct {
	TurnTimeout time.Duration // for a whole turn
	StallNotice time.Duration // without a sign of life: tell
	StallStop   time.Duration // without a sign of life: stop
	AskTimeout  time.Duration // an ask is denied after it; 0 = 30 min
	// Reap kills what is left of the given runners at boot, before anything
	// else is done about their turns; nil = there is nothing to kill.
	Reap func(ctx context.Context, runners []string) error
	// Ended is told about each turn that is over, with the session it ended in;
	// nil = nobody is told. It must not block.
	Ended func(t chat.Turn)
	Log   *slog.Logger
}

// Runner runs turns.
type Runner struct {
	books    Books
	sessions Sessions
	voice    Voice
	board    *Board
	cfg      Config

	wg   sync.WaitGroup // turns that agents started, edits of closed asks
	quit chan struct{}  // closed by Close

	mu     sync.Mutex
	closed bool
	active map[int64]*run // by session
	again  map[int64]row  // failures in a row, by session
	shared map[int64]bool // sessions told that their workspace is shared
}

// row counts equal failures of a session, one after the other.
type row struct {
	code chat.Code
	n    int
}

// New makes a Runner. At the end the turns of the lanes are cancelled, then the
// Runner is closed, then the lanes are waited for, then the sessions closed.
func New(books Books, sessions Sessions, voice Voice, board *Board, cfg Config) *Runner {
	if cfg.AskTimeout <= 0 {
		cfg.AskTimeout = 30 * time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{
		books: books, sessions: sessions, voice: voice, board: board, cfg: cfg,
		quit:   make(chan struct{}),
		active: map[int64]*run{},
		again:  map[int64]row{},
		shared: map[int64]bool{},
	}
}

// Run runs a queued turn and returns when it is final, or when it is queued
// (again): because somebody else had it, or because ctx ended before it was
// claimed. A cancelled ctx ends the turn; its cause, a *chat.Error with code
// Stopped, TimedOut or Shutdown, says why. Run never panics.
func (r *Runner) Run(ctx context.Context, t chat.Turn) {
	n, err := r.prepare(ctx, t)
	if err != nil {
		return
	}
	if !r.enter(n) {
		n.stop(nil)
		return
	}
	if !n.claim() {
		r.leave(n)
		return
	}
	n.begin()
	n.end(n.drive())
}

// Close ends the turns that agents started and waits for them. Turns of people
// are ended by whoever called Run; after Close they try no longer to write
// what the ledger does not take.
func (r *Runner) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.quit)
	}
	for _, n := range r.active {
		if n.turn.Origin == chat.OriginAgent {
			n.stop(chat.E(chat.Shutdown, "", nil))
		}
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// spawn runs f beside its caller; after Close, in its place.
func (r *Runner) spawn(f func()) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.wg.Add(1)
	}
	r.mu.Unlock()
	if closed {
		f()
		return
	}
	go func() { // Close waits for it
		defer r.wg.Done()
		f()
	}()
}

// Stop ends the turn that the session's agent runs by itself; false when there
// is none. Turns of people are stopped through the ctx of Run.
func (r *Runner) Stop(session int64, code chat.Code) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.active[session]
	if n == nil || n.turn.Origin != chat.OriginAgent {
		return false
	}
	n.stop(chat.E(code, "", nil))
	return true
}

// enter makes n the session's turn in this process. It waits for a turn that
// the agent started; a stop meant for the session's turn stops that one.
func (r *Runner) enter(n *run) bool {
	if r.occupy(n, n.session.ID) {
		return true
	}
	if chat.CodeOf(context.Cause(n.ctx)) == chat.Stopped {
		r.Stop(n.session.ID, chat.Stopped)
	}
	return false
}

// occupy makes n the turn of a session as soon as no other is, until n leaves;
// false when n was cancelled first.
func (r *Runner) occupy(n *run, session int64) bool {
	for n.ctx.Err() == nil {
		if r.take(n, session) {
			return true
		}
		other := r.current(session)
		if other == nil {
			continue
		}
		select {
		case <-other.over:
		case <-n.ctx.Done():
		}
	}
	return false
}

// take makes n the turn of a session if there is none.
func (r *Runner) take(n *run, session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[session] != nil || n.turn.Origin == chat.OriginAgent && r.closed {
		return false
	}
	r.active[session] = n
	return true
}

// neighbour reports, once for each session, whether another session's turn
// works in the same directory.
func (r *Runner) neighbour(n *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared[n.session.ID] {
		return false
	}
	for _, other := range r.active {
		if other != n && other.session.ID != n.session.ID && other.session.Workspace == n.session.Workspace {
			r.shared[n.session.ID] = true
			return true
		}
	}
	return false
}

// Crowded tells the user of a session that its turn waits because every worker
// is busy. It does not block.
func (r *Runner) Crowded(session int64) {
	if n := r.current(session); n != nil {
		select {
		case <-n.ready:
			_ = n.Emit(n.ctx, chat.Event{Kind: chat.EventNotice, Text: i18n.T(n.lang, "turn.crowded")})
		default: // it is not claimed yet, so it waits visibly anyway
		}
	}
}

// leave is the end of n in this process.
func (r *Runner) leave(n *run) {
	r.mu.Lock()
	for id, other := range r.active {
		if other == n {
			delete(r.active, id)
		}
	}
	r.mu.Unlock()
	n.stop(nil)
	close(n.over)
}

// patience is the pause between tries at a ledger that cannot be written.
func patience(try int) time.Duration {
	return min(50*time.Millisecond<<min(try, 7), 5*time.Second)
}
