package turn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

// run is one turn in this process.
type run struct {
	*Runner
	turn    chat.Turn
	session chat.Session
	lang    string
	attempt chat.Attempt
	live    Live
	clerk   *clerk
	ctx     context.Context // of the turn; its cause says why it ended
	stop    context.CancelCauseFunc
	ready   chan struct{} // closed when it takes events
	over    chan struct{} // closed when nothing of it is left
	seen    seen
	result  result
}

// result is what only the goroutine of the turn knows.
type result struct {
	started time.Time
	native  string // the session id that the worker reports
	died    bool   // the worker's process is gone
	recycle bool   // the worker is not to be used again
	preface []chat.Reply
}

// seen is what the agent did so far.
type seen struct {
	mu     sync.Mutex
	closed bool            // no more events
	acted  bool            // there was more than a session id
	tools  map[string]bool // running?
	usage  chat.Usage
	native string // the last id that was reported
	told   bool   // an answer is on its way to the agent
	asks   int    // open ones
}

// prepare reads what a turn needs to know. It tries until ctx ends: a ledger
// that cannot be read now does not end a turn.
func (r *Runner) prepare(ctx context.Context, t chat.Turn) (*run, error) {
	for try := 0; ; try++ {
		s, err := r.books.Threads.SessionByID(ctx, t.Session)
		var c chat.Conversation
		if err == nil {
			c, err = r.books.Threads.ConversationByID(ctx, t.Conversation)
		}
		if err == nil {
			n := &run{
				Runner: r, turn: t, session: s, lang: language(c, t),
				ready: make(chan struct{}), over: make(chan struct{}),
			}
			n.ctx, n.stop = context.WithCancelCause(ctx)
			n.seen.tools = map[string]bool{}
			return n, nil
		}
		if ctx.Err() == nil {
			r.cfg.Log.WarnContext(ctx, "turn not readable yet", "turn", t.ID, "err", err)
		}
		if err := r.pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

func language(c chat.Conversation, t chat.Turn) string {
	switch {
	case c.Lang != "":
		return c.Lang
	case t.By.Lang != "":
		return t.By.Lang
	}
	return i18n.Default
}

// pause waits before the next try; an error means that there is none.
func (r *Runner) pause(ctx context.Context, try int) error {
	select {
	case <-time.After(patience(try)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.quit:
		return chat.E(chat.Shutdown, "", nil)
	}
}

// claim takes the turn out of the queue. With a live worker the intent to
// prompt is part of the claim: one commit less on the way to the agent.
func (n *run) claim() bool {
	ctx := n.ctx
	state := chat.AttemptClaimed
	if _, live := n.sessions.Live(n.session.ID); live {
		state = chat.AttemptIntent
	}
	for try := 0; ctx.Err() == nil; try++ {
		// Not under ctx: a claim whose outcome is unknown would hang.
		a, err := n.books.Ledger.Claim(context.WithoutCancel(ctx), n.turn.ID, state)
		if err == nil {
			n.attempt = a
			n.turn.State = chat.TurnRunning
			fault.Hit(fault.TurnClaimed)
			return true
		}
		if chat.CodeOf(err) == chat.Conflict {
			n.cfg.Log.DebugContext(ctx, "turn not claimed", "turn", n.turn.ID, "err", err)
			_ = n.pause(ctx, 1) // the caller may look again at once
			return false
		}
		n.cfg.Log.WarnContext(ctx, "turn not claimed yet", "turn", n.turn.ID, "err", err)
		if n.pause(ctx, try) != nil {
			return false
		}
	}
	return false
}

// begin starts what accompanies the turn: its live message and its clocks.
func (n *run) begin() {
	n.result.started = time.Now()
	n.live = n.voice.Begin(n.turn, n.lang, n.session.Agent)
	n.clerk = newClerk(n)
	if n.neighbour(n) {
		n.live.Event(chat.Event{Kind: chat.EventNotice, Text: i18n.T(n.lang, "turn.shared", "workspace", n.session.Workspace)})
	}
	close(n.ready)
}

// drive gives the turn to a worker. A lost session is replaced, once. A defect
// in a driver ends this turn and nothing else.
func (n *run) drive() (err error) {
	ctx := n.ctx
	defer func() {
		if p := recover(); p != nil {
			n.result.recycle = true
			err = fmt.Errorf("panic in a turn: %v\n%s", p, debug.Stack())
		}
	}()
	err = n.try(ctx)
	if chat.CodeOf(err) != chat.NoSession || n.acted() || ctx.Err() != nil {
		return err
	}
	if err := n.replace(ctx); err != nil {
		return err
	}
	return n.try(ctx)
}

// try opens the session's worker and prompts it.
func (n *run) try(ctx context.Context) error {
	w, err := n.sessions.Acquire(ctx, n.session)
	if err != nil {
		return fmt.Errorf("open the session's worker: %w", err)
	}
	defer n.sessions.Release(n.session.ID)
	if err := n.intend(ctx, w); err != nil {
		return err
	}
	in := n.turn.Input
	if n.session.Recap {
		if in.Recap, err = n.recap(ctx); err != nil {
			return err
		}
	}
	err = w.Prompt(ctx, in, n)
	n.confirm()
	if id := w.NativeID(); id != "" {
		n.result.native = id
	}
	n.result.died = gone(w)
	if err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	return nil
}

func gone(w worker.Worker) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}

// intend makes the intent to prompt durable.
func (n *run) intend(ctx context.Context, w worker.Worker) error {
	n.clerk.serves(w.Process())
	if n.attempt.State == chat.AttemptClaimed {
		fault.Hit(fault.WorkerSpawned)
		if err := n.advance(ctx, chat.AttemptReady, w.Process()); err != nil {
			return err
		}
	}
	if n.attempt.State == chat.AttemptReady {
		if err := n.advance(ctx, chat.AttemptIntent, ""); err != nil {
			return err
		}
	}
	fault.Hit(fault.PromptIntended)
	return nil
}

// advance moves the attempt on; the agent gets nothing before that is durable.
func (n *run) advance(ctx context.Context, s chat.AttemptState, runner string) error {
	return n.insist(ctx, "attempt not advanced yet", func(ctx context.Context) error {
		err := n.books.Ledger.Advance(ctx, n.attempt.ID, s, runner)
		if err == nil {
			n.attempt.State = s
		}
		return err
	})
}

// insist repeats a write until it is done or definitely refused, or ctx ends.
func (n *run) insist(ctx context.Context, complaint string, write func(context.Context) error) error {
	for try := 0; ; try++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := write(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		switch chat.CodeOf(err) {
		case chat.Conflict, chat.Missing, chat.Invalid:
			return err
		default:
			n.cfg.Log.WarnContext(ctx, "write to the ledger failed", "what", complaint, "turn", n.turn.ID, "err", err)
		}
		if err := n.pause(ctx, try); err != nil {
			return err
		}
	}
}

// replace gives the turn a new session for the one that the agent lost, and
// tells the user.
func (n *run) replace(ctx context.Context) error {
	lost := n.session
	var next chat.Session
	err := n.insist(ctx, "lost session not replaced yet", func(ctx context.Context) error {
		var err error
		next, err = n.books.Threads.Lose(ctx, lost.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("replace lost session %d: %w", lost.ID, err)
	}
	if !n.occupy(n, next.ID) {
		return context.Cause(ctx)
	}
	err = n.insist(ctx, "turn not moved yet", func(ctx context.Context) error {
		return n.books.Ledger.Rebind(ctx, n.turn.ID, next.ID)
	})
	if err != nil {
		return fmt.Errorf("move turn to session %d: %w", next.ID, err)
	}
	n.mu.Lock() // others look at it
	n.seen.mu.Lock()
	n.session, n.turn.Session = next, next.ID
	n.seen.mu.Unlock()
	n.mu.Unlock()
	n.sessions.Forget(lost.ID)
	n.result.native = ""
	n.cfg.Log.WarnContext(ctx, "agent lost the session", "session", lost.ID, "successor", n.session.ID,
		"agent", lost.Agent, "turn", n.turn.ID)
	notice := chat.Reply{Kind: chat.ReplyNotice, Markdown: i18n.T(n.lang, "error.session_lost", "agent", lost.Agent)}
	if err := n.say(ctx, "lost", notice); err != nil {
		n.result.preface = append(n.result.preface, notice) // then the final tells
	}
	return nil
}

// say tells something while the turn runs; kind makes the key.
func (n *run) say(ctx context.Context, kind string, r chat.Reply) error {
	key := fmt.Sprintf("%s/%d", kind, n.turn.ID)
	err := n.voice.Say(context.WithoutCancel(ctx), n.turn.Place, key, r)
	if err != nil {
		n.cfg.Log.WarnContext(ctx, "notice not stored", "turn", n.turn.ID, "kind", kind, "err", err)
	}
	return err
}
