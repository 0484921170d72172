package turn

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
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
	attempt chat.Attempt
	words   words
	host    *host
	worker  worker.Worker // while it has the turn; the lock of seats guards it
	clerk   *clerk
	ctx     context.Context // of the turn; its cause says why it ended
	stop    context.CancelCauseFunc
	ready   chan struct{} // closed when it takes events
	over    chan struct{} // closed when nothing of it is left
	result  result

	verbosity chat.Verbosity
}

// result is what only the goroutine of the turn knows.
type result struct {
	started time.Time
	native  string // the session id that the worker reports
	mode    string // likewise the mode
	died    bool   // the worker's process is gone
	recycle bool   // the worker is not to be used again
	preface []chat.Reply
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
			n := r.newRun(ctx, t, s, c)
			n.words.rich = c.Rich
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

func (r *Runner) newRun(ctx context.Context, t chat.Turn, s chat.Session, c chat.Conversation) *run {
	n := &run{
		Runner: r, turn: t, session: s, words: r.words(t, s.Agent, language(c, t.By)),
		verbosity: cmp.Or(c.Verbosity, r.cfg.Verbosity, chat.VerbositySteps),
		ready:     make(chan struct{}), over: make(chan struct{}),
	}
	n.ctx, n.stop = context.WithCancelCause(ctx)
	return n
}

func language(c chat.Conversation, p chat.Person) string {
	switch {
	case c.Lang != "":
		return c.Lang
	case p.Lang != "":
		return p.Lang
	}
	return i18n.Default
}

// claim takes the turn out of the queue. With a live worker the intent to
// prompt is part of the claim: one commit less on the way to the agent.
func (n *run) claim() bool {
	state := chat.AttemptClaimed
	// While its files are fetched it is not on its way to the agent.
	if _, live := n.sessions.Live(n.session.ID); live && !fetches(n) {
		state = chat.AttemptIntent
	}
	err := n.insist(n.ctx, n.turn.ID, "claim", func(ctx context.Context) (err error) {
		n.attempt, err = n.books.Ledger.Claim(ctx, n.turn.ID, state)
		return err
	})
	if err != nil {
		n.cfg.Log.DebugContext(n.ctx, "turn not claimed", "turn", n.turn.ID, "err", err)
		return false
	}
	fault.Hit(fault.TurnClaimed)
	if n.attempt.Notices {
		n.voice.Wake(n.turn.Place)
	}
	n.turn.State = chat.TurnRunning
	return true
}

// begin starts what accompanies the turn: its live message and its clocks.
func (n *run) begin() {
	n.result.started = time.Now()
	live := n.voice.Begin(n.turn, chat.Look{Lang: n.words.lang, Agent: n.words.agent, Verbosity: n.verbosity})
	n.clerk = newClerk(n)
	n.host = &host{run: n, live: live, session: n.session, tools: map[string]bool{}}
	if n.seats.neighbour(n) {
		text := i18n.T(n.words.lang, "turn.shared", "workspace", n.session.Workspace)
		live.Event(chat.Event{Kind: chat.EventNotice, Text: text})
	}
	close(n.ready)
}

// drive gives the turn to a worker. A lost session is replaced, once. A defect
// in a driver ends this turn and nothing else.
func (n *run) drive() (err error) {
	defer func() {
		if p := recover(); p != nil {
			n.result.recycle = true
			err = fmt.Errorf("panic in a turn: %v\n%s", p, debug.Stack())
		}
	}()
	err = n.try()
	if chat.CodeOf(err) != chat.NoSession || n.host.hasActed() || n.ctx.Err() != nil || n.cfg.AskLost {
		return err
	}
	if err := n.replace(); err != nil {
		return err
	}
	return n.try()
}

// try opens the session's worker and prompts it.
func (n *run) try() error {
	if err := n.afford(); err != nil {
		return err
	}
	if err := n.takeBack(); err != nil {
		return err
	}
	if err := gather(n); err != nil {
		return err
	}
	w, err := n.sessions.Acquire(n.ctx, n.session)
	if err != nil {
		return fmt.Errorf("open the session's worker: %w", err)
	}
	defer n.sessions.Release(n.session.ID)
	if err := n.intend(w); err != nil {
		return err
	}
	in := n.turn.Input
	if n.session.Recap {
		if in.Recap, err = n.recap(n.ctx, n.turn); err != nil {
			return err
		}
	}
	in.Brief = parcel{n}.box(in)
	n.host.willBrief(in.Brief != "")
	err = n.prompt(w, in)
	n.host.confirm()
	if id := w.NativeID(); id != "" {
		n.result.native = id
	}
	n.result.mode = w.Info().Mode
	n.result.died = gone(w)
	if err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	return nil
}

func (n *run) prompt(w worker.Worker, in chat.Input) error {
	defer n.enforce()()
	n.seats.update(func() { n.worker = w })
	defer n.seats.update(func() { n.worker = nil })
	return w.Prompt(n.ctx, in, n.host)
}

// obeyTime is how long a driver has to end a cancelled turn by its own means.
const obeyTime = 15 * time.Second

// enforce ends the process of a cancelled turn whose driver does not end it: a
// stop always frees the lane. The returned func says that the turn is over.
func (n *run) enforce() (obeyed func()) {
	over := make(chan struct{})
	session := n.session.ID
	stop := context.AfterFunc(n.ctx, func() {
		select {
		case <-over:
		case <-time.After(obeyTime):
			n.cfg.Log.Warn("turn did not end when told to; its process is ended", "turn", n.turn.ID, "session", session)
			n.sessions.Forget(session)
		}
	})
	return func() {
		stop()
		close(over)
	}
}

func gone(w worker.Worker) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}

// intend makes the intent to prompt durable; the agent gets nothing before.
func (n *run) intend(w worker.Worker) error {
	n.clerk.serves(w.Process())
	if n.attempt.State == chat.AttemptClaimed {
		fault.Hit(fault.WorkerSpawned)
		if err := n.advance(chat.AttemptReady, w.Process()); err != nil {
			return err
		}
	}
	if n.attempt.State == chat.AttemptReady {
		if err := n.advance(chat.AttemptIntent, ""); err != nil {
			return err
		}
	}
	fault.Hit(fault.PromptIntended)
	return nil
}

func (n *run) advance(s chat.AttemptState, runner string) error {
	err := n.insist(n.ctx, n.turn.ID, "attempt "+string(s), func(ctx context.Context) error {
		return n.books.Ledger.Advance(ctx, n.attempt.ID, s, runner)
	})
	if err == nil {
		n.attempt.State = s
	}
	return err
}

// replace gives the turn a new session for the one that the agent lost, and
// tells the user.
func (n *run) replace() error {
	lost := n.session
	var next chat.Session
	err := n.insist(n.ctx, n.turn.ID, "loss of the session", func(ctx context.Context) (err error) {
		next, err = n.books.Threads.Lose(ctx, lost.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("replace lost session %d: %w", lost.ID, err)
	}
	if !n.seats.occupy(n, next.ID) {
		return context.Cause(n.ctx)
	}
	err = n.insist(n.ctx, n.turn.ID, "move to another session", func(ctx context.Context) error {
		return n.books.Ledger.Rebind(ctx, n.turn.ID, next.ID)
	})
	if err != nil {
		return fmt.Errorf("move turn to session %d: %w", next.ID, err)
	}
	n.seats.update(func() { n.session, n.turn.Session, n.words.turn.Session = next, next.ID, next.ID })
	n.host.moved(next)
	n.sessions.Forget(lost.ID)
	n.cfg.Log.WarnContext(n.ctx, "agent lost the session", "session", lost.ID, "successor", next.ID,
		"agent", lost.Agent, "turn", n.turn.ID)
	notice := n.words.notice(i18n.T(n.words.lang, "error.session_lost", "agent", n.words.agent))
	if err := n.say("lost", notice); err != nil {
		n.result.preface = append(n.result.preface, notice) // then the final tells
	}
	return nil
}

// say tells something while the turn runs; kind makes the key.
func (n *run) say(kind string, r chat.Reply) error {
	key := fmt.Sprintf("%s/%d", kind, n.turn.ID)
	err := n.voice.Say(context.WithoutCancel(n.ctx), n.turn.Place, key, r)
	if err != nil {
		n.cfg.Log.WarnContext(n.ctx, "notice not stored", "turn", n.turn.ID, "kind", kind, "err", err)
	}
	return err
}
