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
	Queue    Queue    // nil = nothing is ever held
	Spending Spending // nil = budgets of a day are not kept
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
	// Moved reports whether a session went on elsewhere since it was parked; an
	// error means that nobody can tell.
	Moved(ctx context.Context, s chat.Session) (bool, error)
	// Forget ends the session's process, if any, and waits for that.
	Forget(session int64)
	// Recycle closes an agent's live workers, each when nobody uses it.
	Recycle(agent string)
}

// Voice speaks to people.
type Voice interface {
	// Compose renders replies to outbox rows that are not stored yet. The last
	// word of a turn, also an empty one, takes along what remains of its live
	// message.
	Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out
	// Wake is called after rows of a place were committed.
	Wake(p chat.Place)
	// Say stores and sends words outside a turn; a known key is not said again.
	Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error
	// Begin makes the live message of a turn. It never blocks.
	Begin(t chat.Turn, look chat.Look) Live
	// Sign shows how a turn stands on the message that asked for it; failed, if
	// not nil, is called when it is not shown. It never blocks.
	Sign(t chat.Turn, s chat.Sign, failed func())
}

// Live is the view that people have of a running turn. No method blocks.
type Live interface {
	Event(e chat.Event)
	Waiting(waiting bool) // for a person
	// End leaves one line of it and shows s on the message that asked for the
	// turn; nothing follows.
	End(line string, s chat.Sign)
	Text() string // the answer so far
}

// Config are the knobs of a Runner. For the clocks 0 = off.
type Config struct {
	TurnTimeout time.Duration  // for a whole turn
	StallNotice time.Duration  // without a sign of life: tell
	StallStop   time.Duration  // without a sign of life: stop
	AskTimeout  time.Duration  // an ask is denied after it; 0 = 30 min
	Verbosity   chat.Verbosity // of conversations that chose none
	Footer      []FooterItem   // of an answer, in this order
	Always      bool           // operators are offered to allow a request for ever
	AskLost     bool           // ask before a lost session is replaced
	Budget      Budget         // what turns may use up
	// Can reports whether an agent is known to have an ability; nil = none has.
	Can func(agent string, a worker.Ability) bool
	// Title is an agent's name for people; nil = the name in the configuration.
	Title func(agent string) string
	// Files are what turns send beside words; nil = nothing.
	Files Files
	// Reap kills what is left of the given runners at boot, before anything
	// else is done about their turns; nil = there is nothing to kill.
	Reap func(ctx context.Context, runners []string) error
	// Ended is told about each turn that is over, with the session it ended in;
	// nil = nobody is told. It must not block.
	Ended    func(t chat.Turn)
	Incoming Incoming // nil = nothing is fetched
	Log      *slog.Logger
}

// Runner runs turns.
type Runner struct {
	books    Books
	sessions Sessions
	voice    Voice
	board    *Board
	cfg      Config
	seats    *seats
	failures *failures
	past     *past
	wg       sync.WaitGroup // turns that agents started, edits of closed asks
	quit     chan struct{}  // closed by Close
}

// New makes a Runner. At the end the turns of the lanes are cancelled, then the
// Runner is closed, then the lanes are waited for, then the sessions closed.
func New(books Books, sessions Sessions, voice Voice, board *Board, cfg Config) *Runner {
	if cfg.AskTimeout <= 0 {
		cfg.AskTimeout = 30 * time.Minute
	}
	if cfg.Can == nil {
		cfg.Can = func(string, worker.Ability) bool { return false }
	}
	if cfg.Title == nil {
		cfg.Title = func(agent string) string { return agent }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{
		books: books, sessions: sessions, voice: voice, board: board, cfg: cfg,
		seats:    &seats{active: map[int64]*run{}, shared: map[int64]bool{}},
		failures: &failures{rows: map[int64]streak{}},
		past:     &past{rows: map[int64]memory{}},
		quit:     make(chan struct{}),
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
		r.seats.leave(n)
		return
	}
	n.begin()
	n.end(n.drive())
}

// enter makes n the session's turn in this process. It waits for a turn that
// the agent started; a stop meant for the session's turn stops that one.
func (r *Runner) enter(n *run) bool {
	if r.seats.occupy(n, n.session.ID) {
		return true
	}
	if chat.CodeOf(context.Cause(n.ctx)) == chat.Stopped {
		r.Stop(n.session.ID, chat.Stopped)
	}
	return false
}

// Stop ends the turn that the session's agent runs by itself; false when there
// is none. Turns of people are stopped through the ctx of Run.
func (r *Runner) Stop(session int64, code chat.Code) bool {
	return r.seats.stop(session, chat.E(code, "", nil))
}

// Crowded tells the user of a session that its turn waits because every worker
// is busy. It does not block.
func (r *Runner) Crowded(session int64) {
	n := r.seats.current(session)
	if n == nil {
		return
	}
	select {
	case <-n.ready:
		_ = n.host.Emit(n.ctx, chat.Event{Kind: chat.EventNotice, Text: i18n.T(n.words.lang, "turn.crowded")})
	default: // it is not claimed yet, so it waits visibly anyway
	}
}

// Close ends the turns that agents started and waits for them. Turns of people
// are ended by whoever called Run; after Close they try no longer to write
// what the ledger does not take.
func (r *Runner) Close() {
	if r.seats.close() {
		close(r.quit)
	}
	r.wg.Wait()
}

// spawn runs f beside its caller; after Close, in its place.
func (r *Runner) spawn(f func()) {
	if !r.seats.unlessClosed(func() { r.wg.Go(f) }) {
		f()
	}
}

// pause waits before the next try at something; an error means that there is
// none.
func (r *Runner) pause(ctx context.Context, try int) error {
	select {
	case <-time.After(min(50*time.Millisecond<<min(try, 7), 5*time.Second)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.quit:
		return chat.E(chat.Shutdown, "", nil)
	}
}

// insist repeats a write until it is done or definitely refused, or ctx ends.
func (r *Runner) insist(ctx context.Context, turn int64, what string, write func(context.Context) error) error {
	for try := 0; ; try++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		// Not under ctx: the outcome of a write that began has to be known.
		err := write(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		switch chat.CodeOf(err) {
		case chat.Conflict, chat.Missing, chat.Invalid:
			return err
		default:
			r.cfg.Log.WarnContext(ctx, "ledger not written yet", "what", what, "turn", turn, "err", err)
		}
		if err := r.pause(ctx, try); err != nil {
			return err
		}
	}
}
