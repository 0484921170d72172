package router

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
)

// Queue is what lanes read.
type Queue interface {
	// NextTurn and WaitingSessions are described at Turns.
	NextTurn(ctx context.Context, session int64) (chat.Turn, error)
	WaitingSessions(ctx context.Context) ([]int64, error)
}

// Runner runs turns.
type Runner interface {
	// Run runs a queued turn and returns when it is final, or queued again. A
	// cancelled ctx ends the turn; its cause is a *chat.Error that says why.
	Run(ctx context.Context, t chat.Turn)
	// Stop ends the turn that the session's agent runs by itself; false when
	// there is none.
	Stop(session int64, code chat.Code) bool
	// Steer gives words to a running turn and waits until they are taken, or
	// are not.
	Steer(ctx context.Context, turn int64, in chat.Input) error
	// Replace is Steer, but what the agent does at that moment is ended.
	Replace(ctx context.Context, turn int64, in chat.Input) error
}

// Lanes runs the queued turns: one goroutine for each session that has some,
// none for the others. Lanes do not wait for each other.
type Lanes struct {
	ctx   context.Context // of all turns; ends when draining took too long
	end   context.CancelCauseFunc
	queue Queue
	run   Runner
	begun func(chat.Turn) // told before a turn runs; does not block
	log   *slog.Logger
	wg    sync.WaitGroup
	quit  chan struct{} // closed by Drain: no further turns

	mu    sync.Mutex
	lanes map[int64]*lane
}

// lane is one busy session. The lock of Lanes guards it.
type lane struct {
	again  bool                    // somebody woke it since it last looked
	kick   chan struct{}           // ends a pause
	cancel context.CancelCauseFunc // of the turn that is looked for, or runs
	turn   chat.Turn               // that runs; zero while looking
}

// newLanes makes lanes whose turns do not end with ctx, but by drain.
func newLanes(ctx context.Context, q Queue, run Runner, begun func(chat.Turn), log *slog.Logger) *Lanes {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	return &Lanes{
		ctx: ctx, end: end, queue: q, run: run, begun: begun, log: log,
		quit: make(chan struct{}), lanes: map[int64]*lane{},
	}
}

// Wake looks at the queue of a session. It is called after a turn was
// committed, released or withdrawn, and never blocks.
func (l *Lanes) Wake(session int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining() {
		return
	}
	if ln := l.lanes[session]; ln != nil {
		ln.again = true
		select {
		case ln.kick <- struct{}{}:
		default:
		}
		return
	}
	ln := &lane{kick: make(chan struct{}, 1)}
	l.lanes[session] = ln
	l.wg.Go(func() { l.work(session, ln) })
}

func (l *Lanes) draining() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}

// work works off one session's turns. It ends when none may start.
func (l *Lanes) work(session int64, ln *lane) {
	last, again := int64(0), 0
	for {
		ctx, ok := l.look(session, ln)
		if !ok {
			return
		}
		t, err := l.queue.NextTurn(ctx, session)
		switch {
		case err == nil && l.take(ctx, ln, t):
			l.one(ctx, t)
			l.rest(ln)
			l.rouse(session)
			if t.ID != last {
				last, again = t.ID, 0
				continue
			}
			again++ // it was not claimed: look less and less often
			l.pause(ln, again)
		case err == nil, ctx.Err() != nil: // stopped while looking
			l.rest(ln)
		case chat.CodeOf(err) == chat.Missing:
			l.rest(ln)
			if l.leave(session, ln) {
				return
			}
		default:
			l.rest(ln)
			l.log.WarnContext(ctx, "queue not readable", "session", session, "err", err)
			again++
			l.pause(ln, again)
		}
	}
}

// look makes the context of the next turn, before it is known which one: a
// stop never falls between the queue and the run. When no further turn may
// start the lane is gone.
func (l *Lanes) look(session int64, ln *lane) (context.Context, bool) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining() {
		cancel(nil)
		delete(l.lanes, session)
		return ctx, false
	}
	ln.again, ln.cancel = false, cancel
	return ctx, true
}

// take makes t the lane's running turn, unless it was stopped meanwhile.
func (l *Lanes) take(ctx context.Context, ln *lane, t chat.Turn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil || l.draining() {
		return false
	}
	ln.turn = t
	return true
}

// one runs a turn. A panic ends that turn's run and nothing else.
func (l *Lanes) one(ctx context.Context, t chat.Turn) {
	defer func() {
		if p := recover(); p != nil {
			l.log.ErrorContext(ctx, "panic while running a turn", "turn", t.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	l.begun(t)
	l.run.Run(ctx, t)
}

// rest ends the context of the last look.
func (l *Lanes) rest(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.cancel(nil)
	ln.turn = chat.Turn{}
}

// leave ends a lane that found nothing, unless it was woken since it looked.
func (l *Lanes) leave(session int64, ln *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln.again {
		return false
	}
	delete(l.lanes, session)
	return true
}

// rouse wakes the sessions, but for own, whose turns may have waited for one of
// own.
func (l *Lanes) rouse(own int64) {
	ids, err := l.queue.WaitingSessions(l.ctx)
	if err != nil {
		if l.ctx.Err() == nil {
			l.log.WarnContext(l.ctx, "waiting sessions not readable", "err", err)
		}
		return
	}
	for _, id := range ids {
		if id != own {
			l.Wake(id)
		}
	}
}

const (
	pauseLeast = 20 * time.Millisecond
	pauseMost  = 5 * time.Second
)

func backoff(n int) time.Duration { return min(pauseLeast<<min(n, 10), pauseMost) }

// pause waits before the lane looks again; a wake-up ends it.
func (l *Lanes) pause(ln *lane, n int) {
	timer := time.NewTimer(backoff(n))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ln.kick:
	case <-l.quit:
	}
}

// Ended is told that an agent's own turn is over; its session may go on. It
// does not block.
func (l *Lanes) Ended(t chat.Turn) {
	if t.Origin != chat.OriginAgent {
		return // its lane knows
	}
	l.Wake(t.Session)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.draining() {
		l.wg.Go(func() { l.rouse(t.Session) })
	}
}

// Stop ends the running turn of a session and reports whether there was one.
// A turn that is just about to start is kept from starting, if it is held. It
// does not wait for the end.
func (l *Lanes) Stop(session int64, code chat.Code) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[session]
	if ln == nil || ln.cancel == nil {
		return false
	}
	ln.cancel(chat.E(code, "", nil))
	return ln.turn.ID != 0
}

// stopTurn ends that turn, in whichever lane it runs: a turn can move to
// another session while it runs.
func (l *Lanes) stopTurn(turn int64, code chat.Code) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		if ln.turn.ID == turn {
			ln.cancel(chat.E(code, "", nil))
			return true
		}
	}
	return false
}

// at returns the turn that the session's lane runs, 0 when it runs none, and
// whether there is a lane: it may be about to run one.
func (l *Lanes) at(session int64) (turn int64, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln := l.lanes[session]; ln != nil {
		return ln.turn.ID, true
	}
	return 0, false
}

// running returns the turns of a conversation that run in lanes.
func (l *Lanes) running(conversation int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []int64
	for _, ln := range l.lanes {
		if ln.turn.ID != 0 && ln.turn.Conversation == conversation {
			ids = append(ids, ln.turn.ID)
		}
	}
	return ids
}

// Drain starts no further turn, lets the running ones end for at most limit,
// then ends them with code chat.Shutdown, and returns when all are over. It may
// be called twice.
func (l *Lanes) Drain(limit time.Duration) {
	l.mu.Lock()
	if !l.draining() {
		close(l.quit)
	}
	l.mu.Unlock()
	fault.Hit(fault.Draining)
	over := make(chan struct{})
	go func() { // ends with the last lane
		l.wg.Wait()
		close(over)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
	l.end(chat.E(chat.Shutdown, "", nil))
	<-over
}
