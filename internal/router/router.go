// Package router decides what a stored message is: a command, an answer to a
// question, the press of a button, or the input of a turn. Turns run in lanes,
// one for each session that has work.
//
// It stands between the access gate, which stores messages and wakes it, and
// the turn station. It works from stored rows only; what it does about one is
// committed together with the end of that row, or can be done again without
// harm. Guarantees: messages of one person in one place are taken in the order
// in which they came; every message ends visibly or becomes part of exactly one
// turn; one session never runs two turns at once; nothing but a button, a
// command or the exact word in reply decides a request.
package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/fault"
)

// Config are the knobs of a Router.
type Config struct {
	Agent    string        // for conversations that did not choose one
	Lang     string        // for people whose language is not known; empty = en
	Burst    time.Duration // how long a message waits for companions; 0 = off
	Album    time.Duration // the same after an item of an album; 0 = off
	Age      time.Duration // older messages are asked about before they run; 0 = never
	QueueMax int           // turns that may wait in one session
	Notices  Notices       // how waiting is shown; empty = NoticeReaction
	Commands command.Config
	Log      *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	bad := []error{c.Commands.Validate()}
	if c.Agent == "" {
		bad = append(bad, errors.New("router: no default agent"))
	}
	if c.Burst < 0 || c.Album < 0 || c.Age < 0 {
		bad = append(bad, fmt.Errorf("router: negative times: burst %v, album %v, age %v", c.Burst, c.Album, c.Age))
	}
	if c.QueueMax < 1 {
		bad = append(bad, fmt.Errorf("router: a queue of %d", c.QueueMax))
	}
	switch c.Notices {
	case "", NoticeReaction, NoticeText, NoticeOff:
	default:
		bad = append(bad, fmt.Errorf("router: unknown form of notices %q", c.Notices))
	}
	return errors.Join(bad...)
}

// Ledger is the views of the ledger that routing needs.
type Ledger struct {
	Inbox         Inbox
	Turns         Turns
	Control       QueueControl
	Conversations Conversations
	Asks          Asks
	Rules         command.Rules
	Spending      command.Spending
	History       History
	Endings       Endings
	Places        Places
	Rooms         command.Rooms
}

// Workers knows the live processes.
type Workers interface {
	command.Workers
	// Warm opens the session's process ahead of its turn, if there is room. It
	// returns at once.
	Warm(ctx context.Context, s chat.Session)
}

// Voice says what is said outside a running turn.
type Voice interface {
	// Compose renders replies to outbox rows that are not stored yet; their
	// keys begin with key.
	Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out
	// Wake is called after rows of a place were committed.
	Wake(p chat.Place)
	// Say stores and sends replies; a known key is not said again.
	Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error
}

// Board tells the turn that waits for an ask. It never blocks.
type Board interface {
	Decided(a chat.Ask)
}

// Clicks settles presses on the buttons of asks. Normally the gate has done it
// before the router sees the row; doing it again has no effect.
type Clicks interface {
	Mine(data string) bool
	Press(ctx context.Context, in chat.Inbound) (chat.Ack, error)
}

// Incoming sees to what people send beside words.
type Incoming interface {
	// Prepare is described at turn.Incoming.
	Prepare(ctx context.Context, t chat.Turn, workspace, lang string) (chat.Input, error)
}

// Deps is what a Router works with.
type Deps struct {
	Ledger  Ledger
	Runner  Runner
	Workers Workers
	Agents  command.Agents
	Clicks  Clicks
	Board   Board
	Voice   Voice
	Signals Signals
	Titles  Titles        // nil = topics keep their names
	Files   command.Files // nil = people fetch none
	// Incoming sees to what people send beside words; nil = nothing is fetched.
	Incoming Incoming
}

// Router takes stored messages.
type Router struct {
	desk    *desk
	end     *ender
	intake  *intake
	changes changes
	buttons buttons
	old     old
	trouble *trouble
	wake    chan struct{}
}

// New makes a Router and its lanes. Turns do not end with ctx, but by
// Lanes().Drain.
func New(ctx context.Context, d Deps, cfg Config) (*Router, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Notices == "" {
		cfg.Notices = NoticeReaction
	}
	n := &notices{
		ctx: context.WithoutCancel(ctx), form: cfg.Notices, signals: d.Signals, voice: d.Voice, turns: d.Ledger.Turns,
		log: cfg.Log, shown: map[int64]chat.Turn{},
	}
	d.Ledger.Control = withdrawing{d.Ledger.Control, n}
	lanes := newLanes(ctx, d.Ledger.Turns, d.Runner, func(t chat.Turn) { n.leave(t.ID) }, cfg.Log)
	k := &desk{
		Ledger: d.Ledger, lanes: lanes, runner: d.Runner, workers: d.Workers,
		board: d.Board, voice: d.Voice, notices: n, agents: d.Agents, incoming: d.Incoming, cfg: cfg,
		names: &names{ctx: n.ctx, titles: d.Titles, places: d.Ledger.Places, log: cfg.Log, busy: map[int64]bool{}},
	}
	set, err := command.New(command.Deps{
		Conversations: d.Ledger.Conversations, Turns: reads{d.Ledger.Turns, d.Ledger.History}, Queue: d.Ledger.Control,
		Asks: d.Ledger.Asks, Rules: d.Ledger.Rules, Spending: d.Ledger.Spending, Rooms: d.Ledger.Rooms, Desk: k, Workers: d.Workers, Agents: d.Agents,
		Files: d.Files,
	}, cfg.Commands)
	if err != nil {
		return nil, err
	}
	end := &ender{inbox: d.Ledger.Inbox, voice: d.Voice, desk: k}
	bad := &trouble{end: end, log: cfg.Log, failed: map[int64]failure{}}
	take := &intake{
		aside: newAside(bad, &k.wg),
		desk:  k, end: end, set: set, answers: answers{desk: k, end: end},
		bursts: bursts{window: cfg.Burst, album: cfg.Album},
	}
	ages := old{age: cfg.Age, inbox: d.Ledger.Inbox, desk: k, end: end, intake: take}
	amend := changes{desk: k, end: end, intake: take, chosen: map[string]int64{}}
	return &Router{
		desk: k, end: end, intake: take, old: ages, changes: amend,
		buttons: buttons{clicks: d.Clicks, end: end, intake: take, old: ages, changes: amend},
		trouble: bad, wake: make(chan struct{}, 1),
	}, nil
}

// reads is what commands read about turns, from two views.
type reads struct {
	Turns
	History
}

// Lanes are where the turns run.
func (r *Router) Lanes() *Lanes { return r.desk.lanes }

// Wake has the router look for new messages. It never blocks.
func (r *Router) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run works off stored messages until ctx ends. It begins with what a crash
// left behind. Turns go on: they end by Drain.
func (r *Router) Run(ctx context.Context) error {
	r.desk.undecided(ctx)
	r.desk.lanes.rouse(0)
	fails := 0
	for ctx.Err() == nil {
		next, ok := r.pass(ctx)
		if fails++; ok {
			fails = 0
		} else {
			next = time.Now().Add(backoff(fails))
		}
		r.sleep(ctx, next)
	}
	r.desk.wg.Wait()
	r.desk.notices.wg.Wait()
	r.desk.names.wg.Wait()
	return nil
}

// sleep waits for a wake-up, or until next, if that is set.
func (r *Router) sleep(ctx context.Context, next time.Time) {
	var alarm <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.wake:
		fault.Hit(fault.RouterWoken)
	case <-alarm:
	}
}

// batch is how many messages are looked at together.
const batch = 256

// pass works off what is there now. It returns when to look again without
// being woken, and false when something is left to be tried again.
func (r *Router) pass(ctx context.Context) (next time.Time, ok bool) {
	bursts := &r.intake.bursts
	ok = len(r.flush(ctx, bursts.due(time.Now()))) == 0
	left := map[int64]bool{} // conversations that have to wait: order is kept
	for {
		busy := r.intake.aside.now() // before the rows are read: who is not in it has ended, or was never in
		rows, err := r.desk.Inbox.Unrouted(ctx, batch)
		if err != nil {
			r.trouble.complain(ctx, "messages not readable", 0, err)
			return time.Time{}, false
		}
		fresh := rows[:0:0]
		for _, in := range rows {
			if !left[in.Conversation] && !bursts.holds(in.ID) && !busy[in.ID] {
				fresh = append(fresh, in)
			}
		}
		if len(fresh) == 0 && len(rows) == batch && len(bursts.open) > 0 {
			all := bursts.due(bursts.next().Add(burstMost)) // nothing else is seen
			ok = len(r.flush(ctx, all)) == 0 && ok
			continue
		}
		r.route(ctx, fresh, left)
		if len(fresh) == 0 || len(rows) < batch {
			return bursts.next(), ok && len(left) == 0
		}
	}
}

// route takes messages in order. Conversations with one that could not be
// taken are added to left. Turns are made at the end, all at once: they share
// commits then, instead of waiting for one each.
func (r *Router) route(ctx context.Context, rows []chat.Inbound, left map[int64]bool) {
	aged := map[int64][]chat.Inbound{}
	for _, in := range rows {
		maps.Copy(left, r.flush(ctx, r.intake.take(in.Conversation))) // what was said before in comes first
		if left[in.Conversation] {
			continue
		}
		if r.old.is(in) {
			aged[in.Place.ID] = append(aged[in.Place.ID], in)
			continue
		}
		if !r.trouble.attempt(ctx, in, func() error { return r.one(ctx, in) }) {
			left[in.Conversation] = true
		}
	}
	maps.Copy(left, r.flush(ctx, r.intake.take(0)))
	for _, rows := range aged {
		if !r.trouble.attempt(ctx, rows[0], func() error { return r.old.ask(ctx, rows) }) {
			left[rows[0].Conversation] = true
		}
	}
}

// together is how many conversations get their turns at the same time.
const together = 64

// flush makes the turns of bursts whose time has come, those of a conversation
// in order, and returns the conversations with one that could not be made; its
// messages are looked at again.
func (r *Router) flush(ctx context.Context, bs []*burst) (failed map[int64]bool) {
	failed = map[int64]bool{}
	if len(bs) == 0 {
		return failed
	}
	of := map[int64][]*burst{}
	for _, b := range bs {
		id := b.rows[0].Conversation
		of[id] = append(of[id], b)
	}
	if len(of) == 1 { // the usual case
		for id, bs := range of {
			if !r.turns(ctx, bs) {
				failed[id] = true
			}
		}
		return failed
	}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(together)
	for id, bs := range of {
		all.Go(func() error {
			if !r.turns(ctx, bs) {
				mu.Lock()
				defer mu.Unlock()
				failed[id] = true
			}
			return nil
		})
	}
	_ = all.Wait() // none fails
	return failed
}

// turns makes the turns of a conversation's bursts, as far as the first that
// cannot be made, and reports whether that was all.
func (r *Router) turns(ctx context.Context, bs []*burst) bool {
	for _, b := range bs {
		if !r.trouble.attempt(ctx, b.rows[0], func() error { return r.intake.turn(ctx, b, false) }) {
			return false
		}
	}
	return true
}

// one takes one message.
func (r *Router) one(ctx context.Context, in chat.Inbound) error {
	switch in.Kind {
	case chat.KindText:
		return r.intake.text(ctx, in)
	case chat.KindClick:
		return r.buttons.press(ctx, in)
	case chat.KindEdit:
		return r.changes.edit(ctx, in)
	case chat.KindRecall:
		return r.changes.recall(ctx, in)
	case chat.KindGesture:
		return r.changes.gesture(ctx, in)
	case chat.KindJoined:
		if in.Place.Direct {
			return r.intake.greet(ctx, in)
		}
		return r.end.welcome(ctx, in)
	case chat.KindLeft, chat.KindRenamed, chat.KindReopened, chat.KindMoved:
	}
	return r.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
}
