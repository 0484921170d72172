package reply

import (
	"context"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// mostSigns is how many changes of the sign on one message a turn may cost. The
// last is kept for how it ended.
const mostSigns = 3

// signRate is the budget of signs of one account: they are what matters least,
// and never take from what messages may use.
func signRate() platform.Rate { return platform.Rate{Every: 200 * time.Millisecond, Burst: 5} }

// signs shows how turns stand, as reactions on the messages that asked for
// them: one at a time, the latest wins, never more than a few a turn, and none
// where somebody would have to wait for it. A service that refuses one is left
// alone until the turn is over.
type signs struct {
	sender *sender
	off    bool

	mu    sync.Mutex
	rows  map[int64]*sign // by turn
	ready bool            // Run has begun
}

// sign is the sign of one turn.
type sign struct {
	turn    chat.Turn
	want    chat.Sign
	shown   chat.Sign
	changes int
	busy    bool   // a goroutine sees to it
	dead    bool   // one was refused: no further call
	failed  func() // to be told when want is not shown; nil = nobody
}

// unknown is what a message may show that an earlier life of the daemon saw to.
const unknown chat.Sign = "?"

// set shows s on the message of t from now on. failed is called, beside the
// caller, when it is not shown. It never blocks.
func (g *signs) set(t chat.Turn, s chat.Sign, failed func()) {
	a, ok := g.sender.adapters[t.Place.Account]
	if g.off || !ok || !a.Traits().React || t.ReplyTo.Zero() {
		g.tell(failed)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rows[t.ID]
	if r == nil {
		r = &sign{turn: t, shown: unknown}
		g.rows[t.ID] = r
	}
	if r.want, r.failed = s, failed; r.dead {
		g.tell(failed)
	}
	g.start(r)
}

func (g *signs) tell(failed func()) {
	if failed != nil {
		g.sender.spawn(failed)
	}
}

// follow shows how a running turn stands, where that is worth a change: the
// agent's work is not where the message was looked at already.
func (g *signs) follow(t chat.Turn, s chat.Sign) {
	g.mu.Lock()
	r := g.rows[t.ID]
	same := r != nil && (r.want == s || r.want == chat.SignAccepted && s == chat.SignWorking)
	g.mu.Unlock()
	if !same {
		g.set(t, s, nil)
	}
}

// end shows how t ended, if its message shows anything: what is answered at
// once needs no sign.
func (g *signs) end(t chat.Turn, s chat.Sign) {
	g.mu.Lock()
	_, known := g.rows[t.ID]
	g.mu.Unlock()
	if known || t.CreatedAt.Before(g.sender.pace.began) && !t.CreatedAt.IsZero() {
		g.set(t, s, nil)
	}
}

// start sees to a row. g.mu is held.
func (g *signs) start(r *sign) {
	if !r.busy && g.ready && g.sender.spawn(func() { g.work(r) }) {
		r.busy = true
	}
}

// open begins to show what was asked for before.
func (g *signs) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready = true
	for _, r := range g.rows {
		g.start(r)
	}
}

// pending reports whether a sign is about to be shown.
func (g *signs) pending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.rows {
		if r.busy && time.Until(g.sender.pace.paused(r.turn.Place.Channel())) < time.Second {
			return true
		}
	}
	return false
}

// work shows what a row wants until it is shown.
func (g *signs) work(r *sign) {
	for {
		want, ok := g.next(r)
		if !ok {
			return
		}
		err := g.pause(r)
		if err == nil {
			if want, ok = g.next(r); !ok { // what is newer counts
				return
			}
			err = g.show(r.turn, want)
		}
		g.note(r, want, err)
	}
}

// next is what a row has to show; false when it has nothing, and is let go.
func (g *signs) next(r *sign) (chat.Sign, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !r.dead && r.want != r.shown && (r.want.Last() || r.want == chat.SignNone || r.changes < mostSigns-1) {
		return r.want, true
	}
	r.busy = false
	if r.want.Last() || r.want == chat.SignNone {
		delete(g.rows, r.turn.ID)
	}
	return "", false
}

// pause waits until the account has room for a sign.
func (g *signs) pause(r *sign) error {
	f := fare{channel: r.turn.Place.Channel(), account: "signs " + r.turn.Place.Account, perAcct: signRate()}
	for {
		wait := g.sender.pace.take(f)
		if wait <= 0 {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-g.sender.ctx.Done():
			t.Stop()
			return context.Cause(g.sender.ctx)
		}
	}
}

func (g *signs) show(t chat.Turn, s chat.Sign) error {
	ctx, cancel := context.WithTimeout(g.sender.ctx, signalTimeout)
	defer cancel()
	err := g.sender.adapters[t.Place.Account].Signal(ctx, t.Place, t.ReplyTo, chat.Signal{Kind: chat.SignalReact, Emoji: s.Emoji()})
	if err != nil {
		g.sender.cfg.Log.DebugContext(ctx, "sign not shown", "turn", t.ID, "sign", s, "err", err)
		if chat.CodeOf(err) == chat.Wait {
			g.sender.told(t.Place.Channel(), chat.AfterOf(err))
		}
	}
	return err
}

// note notes what became of a sign.
func (g *signs) note(r *sign, s chat.Sign, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.changes++
	r.shown = s
	if err == nil {
		return
	}
	if r.dead = true; r.want == s {
		g.tell(r.failed)
	}
}
