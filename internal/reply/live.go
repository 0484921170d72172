package reply

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

const enqueueLimit = 10 * time.Second

// Live is the view that people have of a running turn: one message that is
// edited in place. No method blocks.
type Live struct {
	turn   chat.Turn
	sender *sender
	traits platform.Traits
	render renderer
	poke   chan struct{} // something happened
	over   chan struct{} // closed when the turn is over
	began  time.Time

	mu    sync.Mutex
	story story
	shown shown
}

// shown is what is known about the message on the platform.
type shown struct {
	key     string // of the row that posts it, once it is or may be stored
	ref     chat.Ref
	part    chat.Part // what the platform has accepted last
	size    int       // of the text when the last form was made
	mood    string    // everything else that it shows
	editing bool      // an edit is queued or under way
	last    time.Time // when the last edit was made
	fails   int       // edits, in a row
	dead    bool      // it cannot be shown or changed
	ended   bool
	line    string // what remains

	// Of a message that grows.
	from  int        // where its text begins
	rolls int        // messages before it
	full  bool       // there is more text than it takes
	until time.Time  // it may grow; zero = for ever
	next  []chat.Out // rows that close the one before it and make this one, until they are stored
}

func newLive(t chat.Turn, look chat.Look) *Live {
	now := time.Now()
	return &Live{
		turn: t, poke: make(chan struct{}, 1), over: make(chan struct{}), began: now,
		story: story{look: look, began: now},
	}
}

// attach starts a live message.
func (s *sender) attach(l *Live, t platform.Traits, render renderer) {
	l.sender, l.traits, l.render = s, t, render
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return // it still collects the answer
	}
	s.lives[l.turn.ID] = l
	s.wg.Go(l.run)
}

// Event takes in what the agent reported.
func (l *Live) Event(e chat.Event) {
	l.mu.Lock()
	l.story.take(e)
	l.mu.Unlock()
	l.wake()
}

// Waiting tells whether the turn waits for a person.
func (l *Live) Waiting(waiting bool) {
	l.mu.Lock()
	l.story.state.waiting = waiting
	l.mu.Unlock()
	l.wake()
}

// Text is the answer so far.
func (l *Live) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.story.text.String()
}

// End ends the live message: no further edit leaves. line is what the turn's
// last word makes of it (see Voice.Compose); empty = a general one. s is how the
// message that asked for the turn shows its end; SignNone = as before.
func (l *Live) End(line string, s chat.Sign) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	l.shown.line = line
	if s != chat.SignNone {
		l.sender.signs.end(l.turn, s)
	}
}

func (l *Live) end() {
	if !l.shown.ended {
		l.shown.ended = true
		close(l.over)
	}
}

// close ends the live message and returns the line that remains of it, and
// whether it is or may be on the platform.
func (l *Live) close(line string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	if l.shown.line != "" {
		line = l.shown.line
	}
	return line, l.shown.key != "" || !l.shown.ref.Zero()
}

func (l *Live) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// run shows the turn until it is over: first after the quiet period, then at
// the platform's pace.
func (l *Live) run() {
	select {
	case <-l.sender.running:
	case <-l.over:
		return
	}
	ctx, cancel := context.WithCancel(l.sender.ctx)
	typing := typist{live: l}
	defer typing.wait()
	defer cancel() // a sign of life that is under way ends, too
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.over:
			return
		case <-ctx.Done():
			return
		case <-l.poke:
		case <-timer.C:
		}
		wait := l.quiet()
		if wait <= 0 {
			typing.tick(ctx)
			l.sign()
			wait = min(l.show(ctx), typing.next())
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// sign shows how the turn stands on the message that asked for it.
func (l *Live) sign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown.ended {
		l.sender.signs.follow(l.turn, l.story.sign())
	}
}

// quiet returns how long nothing may be shown yet.
func (l *Live) quiet() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.began.Add(l.sender.cfg.Quiet)
	if first := l.story.firstText; !first.IsZero() {
		if soon := first.Add(l.sender.cfg.QuietText); soon.Before(at) {
			at = soon
		}
	}
	return time.Until(at)
}

// show posts the message, or asks for an edit when one is due. It returns when
// to look again.
func (l *Live) show(ctx context.Context) time.Duration {
	const idle = time.Hour // until something wakes us
	l.mu.Lock()
	s := &l.shown
	switch {
	case !l.traits.Edits, s.ended, s.dead, s.editing, !l.story.shows(chat.VerbosityStatus):
	case s.next != nil || !s.ref.Zero() && s.outgrown(l.story.text.Len()):
		l.mu.Unlock()
		l.roll(ctx)
		return time.Second
	case s.ref.Zero() && s.key == "":
		s.key = fmt.Sprintf("live/%d/%d", l.turn.ID, l.began.UnixMicro())
		l.mu.Unlock()
		l.post(ctx)
		return idle
	case s.ref.Zero(): // not posted yet
	case time.Since(s.last) < l.every():
		wait := l.every() - time.Since(s.last)
		l.mu.Unlock()
		return wait
	case !l.worthIt():
		wait := l.every()
		l.mu.Unlock()
		return wait // the time that passed is shown, too
	default:
		s.editing = true
		l.mu.Unlock()
		l.sender.visit(l.turn.Place.Channel(), l)
		return idle
	}
	l.mu.Unlock()
	return idle
}

// every is the least time between two edits now: it grows with the age of the
// turn, after a wait that the platform asked for, and with every failure.
func (l *Live) every() time.Duration {
	d := l.traits.ProgressEveryGroup
	if l.turn.Place.Direct {
		d = l.traits.ProgressEvery
	}
	if l.traits.Local {
		return max(d, 20*time.Millisecond)
	}
	switch age := time.Since(l.began); {
	case l.traits.Finishes: // it streams: what it costs does not grow with its age
	case age > 5*time.Minute:
		d = max(d, 10*time.Second)
	case age > 30*time.Second:
		d = max(d, 4*time.Second)
	default:
		d = max(d, time.Second)
	}
	if l.sender.pace.slow(l.turn.Place.Channel()) {
		d *= 2
	}
	return min(d<<min(l.shown.fails, 6), max(d, lastRetry))
}

// worthIt reports whether a person would see a difference.
func (l *Live) worthIt() bool {
	const few = 30 // characters: less new text is not worth an edit, unless it stays little
	grown := l.story.size() - l.shown.size
	return grown >= few || l.story.mood() != l.shown.mood ||
		grown > 0 && (l.traits.Local || time.Since(l.shown.last) > 2*l.every())
}

// post stores the row that makes the message. A turn that was begun before, by
// a process that died, has one already.
func (l *Live) post(ctx context.Context) {
	if ref, err := l.sender.ledger.Shown(ctx, l.turn.ID); err == nil {
		l.posted(ref, chat.Part{})
		return
	}
	part, ok := l.form()
	if l.traits.Finishes {
		part.ReplyTo = l.turn.ReplyTo // as the last word does
	}
	l.mu.Lock()
	key, ended := l.shown.key, l.shown.ended
	l.mu.Unlock()
	if !ok || ended {
		return
	}
	within, cancel := context.WithTimeout(ctx, enqueueLimit)
	defer cancel()
	err := l.sender.ledger.Enqueue(within, []chat.Out{{
		Key: key, Place: l.turn.Place, Turn: l.turn.ID, Class: chat.OutProgress, Op: chat.OpPost, Part: part,
		State: chat.OutPending,
	}})
	if err != nil && ctx.Err() == nil {
		l.sender.cfg.Log.DebugContext(ctx, "live message not stored", "turn", l.turn.ID, "err", err)
	}
	l.sender.wake(l.turn.Place.Channel()) // it may be stored all the same
}

// form is the message as it should look now.
func (l *Live) form() (chat.Part, bool) {
	l.mu.Lock()
	from := l.shown.from
	r, pg := l.story.reply(l.turn.ID, l.traits, from), l.story.page()
	l.shown.size, l.shown.mood = l.story.size(), l.story.mood()
	l.mu.Unlock()
	if l.traits.Finishes {
		part, full, ok := pg.fitting(from, r, l.render)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.shown.full = full
		return part, ok
	}
	parts := l.render(r)
	if len(parts) == 0 {
		return chat.Part{}, false
	}
	last := parts[len(parts)-1] // has the buttons, and the newest text
	last.Silent = true
	return last, true
}

// wants reports whether the row with that key is to be posted.
func (l *Live) wants(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.shown.ended && l.shown.ref.Zero() && l.shown.key == key
}

// lost notes that there will be no message.
func (l *Live) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown.dead = true
}

// posted notes that the message is on the platform.
func (l *Live) posted(ref chat.Ref, part chat.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown.ref.Zero() {
		l.shown.ref, l.shown.part, l.shown.last = ref, part, time.Now()
		if l.traits.LiveFor > 0 {
			l.shown.until = time.Now().Add(l.traits.LiveFor)
		}
		l.wake()
	}
}

// next returns the newest form for an edit; false = there is nothing to edit.
func (l *Live) next() (chat.Out, bool) {
	part, ok := l.form()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok || l.shown.ended || l.shown.dead || l.shown.outgrown(l.story.text.Len()) || same(part, l.shown.part) {
		l.shown.editing, l.shown.last = false, time.Now()
		l.wake()
		return chat.Out{}, false
	}
	return chat.Out{
		Place: l.turn.Place, Turn: l.turn.ID, Class: chat.OutProgress, Op: chat.OpEdit, Part: part,
		Target: l.shown.ref, State: chat.OutPending,
	}, true
}

// same reports whether two parts look alike.
func same(a, b chat.Part) bool {
	return a.Text == b.Text && bytes.Equal(a.Format, b.Format) && reflect.DeepEqual(a.Buttons, b.Buttons)
}

// done is told what became of an edit. No failure makes another message.
func (l *Live) done(part chat.Part, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown.editing, l.shown.last = false, time.Now()
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		l.shown.part, l.shown.fails = part, 0
	case chat.Gone, chat.GiveUp, chat.Park:
		l.shown.dead = true
	default:
		l.shown.part, l.shown.mood = chat.Part{}, "" // who knows what is there now
		l.shown.fails++
		if l.traits.Finishes { // nobody else has to wait for it
			l.shown.last = l.shown.last.Add(chat.AfterOf(err))
		}
	}
	l.wake()
}
