package reply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

const (
	// margin is added to every wait that a platform asks for: clocks differ.
	margin = time.Second
	// cosmeticTries is how often a live message may fail before it is dropped.
	cosmeticTries = 5
)

// delivery is one try at one row. Its methods return how long to wait before
// the channel's next step.
type delivery struct {
	*channel
	adapter platform.Adapter
	out     chat.Out
}

// deliver carries out the row: intent, call, receipt.
func (d *delivery) deliver() time.Duration {
	s := d.sender
	if s.ctx.Err() != nil {
		return 0
	}
	unsure, err := s.ledger.Sending(context.WithoutCancel(s.ctx), d.out.ID)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Conflict, chat.Missing:
		return 0
	default:
		return d.fail("outbox not written", err)
	}
	if !d.adapter.Traits().Local { // a local service knows a row by its key
		d.out.Unsure = unsure
	}
	if d.out.Op == chat.OpTopic && unsure != nil {
		// An earlier try may have made it, and another would make a second one.
		return d.noTopic(chat.E(chat.Uncertain, "", nil))
	}
	fault.Hit(fault.SendIntended)
	ref, err := s.send(d.adapter, d.out)
	if err != nil && d.instead(err) {
		ref, err = s.send(d.adapter, d.out)
	}
	if err != nil && (d.out.Op != chat.OpRemove || chat.CodeOf(err) != chat.Gone) {
		return d.failed(err)
	}
	fault.Hit(arrived(d.out))
	if d.receipt(ref) {
		d.spent(d.out.Part.File)
	}
	d.works()
	if l := s.live(d.out.Turn); l != nil && isProgress(d.out) {
		l.posted(ref, d.out.Part)
	}
	return 0
}

func isProgress(o chat.Out) bool { return o.Class == chat.OutProgress && o.Op == chat.OpPost }

func arrived(o chat.Out) fault.Point {
	switch {
	case isProgress(o):
		return fault.ProgressSent
	case o.Class == chat.OutAsk:
		return fault.AskSent
	}
	return fault.SendDone
}

// receipt stores what was sent, and reports whether it is stored. It is not
// given up before we end: a row whose receipt is lost has to be settled.
func (d *delivery) receipt(ref chat.Ref) bool {
	s, o := d.sender, d.out
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, firstRetry) {
		err := s.ledger.Sent(context.WithoutCancel(s.ctx), o.ID, ref)
		if err == nil || chat.CodeOf(err) == chat.Missing {
			return true
		}
		if d.fails++; d.fails == 1 {
			s.cfg.Log.ErrorContext(s.ctx, "receipt not stored yet", "outbox", o.ID, "channel", d.name, "err", err)
		}
		select {
		case <-s.ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// send makes one call. It has a time limit of its own, and goes on for a short
// while after the daemon was told to end.
func (s *sender) send(a platform.Adapter, o chat.Out) (ref chat.Ref, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.timeFor(o))
	defer cancel()
	defer context.AfterFunc(s.ctx, func() {
		t := time.NewTimer(s.cfg.Drain)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-ctx.Done():
		}
	})()
	defer func() {
		if p := recover(); p != nil {
			err = chat.E(chat.GiveUp, "internal error", fmt.Errorf("panic in an adapter: %v\n%s", p, debug.Stack()))
		}
	}()
	ref, err = a.Send(ctx, o)
	var coded *chat.Error
	if err != nil && !errors.As(err, &coded) && o.Op == chat.OpPost &&
		(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		err = chat.E(chat.Uncertain, "no answer in time", err)
	}
	return ref, err
}

// failed does what the error of a call obliges us to.
func (d *delivery) failed(err error) time.Duration {
	o := &d.out
	var e *chat.Error
	if !errors.As(err, &e) {
		e = chat.E(chat.Internal, "", err)
	}
	if o.Op == chat.OpTopic && e.Code != chat.Wait && e.Code != chat.Park && e.Code != chat.Network && e.Code != chat.Moved {
		return d.noTopic(e)
	}
	sure := o.Unsure == nil // else an earlier try may have arrived, whatever became of this one
	switch e.Code {
	case chat.Wait:
		fault.Hit(fault.WaitReceived)
		until := d.sender.pace.pause(d.name, e.After+margin)
		d.sender.cfg.Log.InfoContext(d.sender.ctx, "told to wait", "channel", d.name, "outbox", o.ID, "wait", e.After)
		return d.later(until, sure, e)
	case chat.Degrade:
		return d.degrade(e)
	case chat.GiveUp:
		if d.closes() && o.Tries < closeTries {
			break
		}
		return d.bury(e)
	case chat.Gone:
		if o.Op != chat.OpPost || o.Part.ReplyTo.Zero() {
			return d.bury(e)
		}
		o.Part.ReplyTo = chat.Ref{} // what it answers is not there any more
		return d.replace(e)
	case chat.Park:
		return d.park(e)
	case chat.Shut, chat.Vanished:
		return d.shut(e)
	case chat.Moved:
		return d.moved(e)
	case chat.Uncertain:
		return d.doubtful(e)
	default:
	}
	if o.Class == chat.OutProgress && o.Tries >= cosmeticTries && !d.closes() {
		return d.bury(e) // what matters does not wait for it any longer
	}
	wait := d.later(time.Now(), sure, e)
	return max(wait, d.fail("platform not reached", e))
}

// later puts the row back. With sure false an earlier try may have arrived.
func (d *delivery) later(at time.Time, sure bool, e *chat.Error) time.Duration {
	return d.store(func(ctx context.Context) error {
		return d.sender.ledger.Later(ctx, d.out.ID, at, sure, e.Error())
	})
}

// degrade sends the plain form, then a file; after that there is nothing left.
// Of a file are sent its lighter forms.
func (d *delivery) degrade(e *chat.Error) time.Duration {
	s, o, p := d.sender, &d.out, &d.out.Part
	file := p.File
	switch {
	case p.Format != nil && (file == nil || file.Kind != chat.FilePhoto):
		p.Format = nil
	case o.Op == chat.OpPost && lighter(p):
	case p.File == nil && p.Text != "" && o.Op == chat.OpPost && o.Class != chat.OutProgress:
		p.File = &chat.OutFile{Name: "answer.md", Body: []byte(p.Text)}
		p.Text = i18n.T(langOf(p.Text), "reply.as_file")
	default:
		return d.bury(e)
	}
	s.cfg.Log.WarnContext(s.ctx, "form refused, a plainer one is sent", "outbox", o.ID, "channel", d.name, "err", e)
	wait := d.replace(e)
	if p.File == nil && wait == 0 {
		d.spent(file)
	}
	return wait
}

// doubtful handles a post that may or may not have arrived. Nothing else goes
// to the chat before that is settled; when it cannot be, the row is sent again,
// marked.
func (d *delivery) doubtful(e *chat.Error) time.Duration {
	s, o := d.sender, &d.out
	if d.closes() { // is repeated until it is known
		wait := d.later(time.Now(), false, e)
		return max(wait, d.fail("it is not known whether a message was changed", e))
	}
	if o.Op != chat.OpPost { // may be repeated
		e = chat.Recode(chat.Network, e)
		return d.failed(e)
	}
	if d.doubt.row != o.ID {
		d.doubt = doubt{row: o.ID}
	}
	// The first doubt is about the send itself; the others come from looking.
	tries := s.cfg.SettleTries
	if d.adapter.Traits().Finishes && o.Class == chat.OutProgress {
		tries *= 3 // once it is given up, nothing closes it
	}
	if d.doubt.tries++; d.adapter.Traits().Settles && d.doubt.tries <= tries {
		wait := d.later(time.Now(), false, e)
		if d.doubt.tries == 1 && o.Unsure == nil {
			return wait // look at once
		}
		return max(wait, d.fail("it is not known whether a message arrived", e))
	}
	d.doubt = doubt{}
	if o.Class == chat.OutProgress {
		return d.bury(e)
	}
	if tiresome(*o) {
		return d.degrade(e)
	}
	s.cfg.Log.WarnContext(s.ctx, "a message is sent again though it may have arrived", "outbox", o.ID,
		"turn", o.Turn, "channel", d.name, "err", e)
	s.cfg.Resent(*o)
	o.Part = marked(o.Part)
	return d.replace(e)
}

// marked says in the message that it may be there twice. Formatting counts
// from the beginning, so a formatted text gets the mark at its end.
func marked(p chat.Part) chat.Part {
	mark := i18n.T(langOf(p.Text), "reply.resent")
	switch {
	case strings.Contains(p.Text, mark):
	case p.Text == "":
		p.Text = mark
	case p.Format == nil:
		p.Text = mark + "\n\n" + p.Text
	default:
		p.Text += "\n\n" + mark
		p.Note = mark
	}
	return p
}

// langOf guesses the language of a text: rows do not say whose they are.
func langOf(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return "zh"
	}
	return i18n.Default
}

// replace gives a row another part; it is sent at once.
func (d *delivery) replace(e *chat.Error) time.Duration {
	wait := d.store(func(ctx context.Context) error {
		return d.sender.ledger.Replace(ctx, d.out.ID, d.out.Part)
	})
	if wait > 0 {
		return wait // it stays in state sending, and is settled
	}
	return d.later(time.Now(), true, e)
}

// bury gives a row up. A live message is only dropped: nobody misses it.
func (d *delivery) bury(e *chat.Error) time.Duration {
	s, o := d.sender, d.out
	state := chat.OutDead
	if o.Class == chat.OutProgress {
		state = chat.OutDropped
	}
	wait := d.store(func(ctx context.Context) error { return s.ledger.Bury(ctx, o.ID, state, e.Error()) })
	if wait > 0 {
		return wait
	}
	d.spent(o.Part.File)
	d.works() // the platform answered
	if o.Class == chat.OutProgress {
		s.cfg.Log.DebugContext(s.ctx, "live message dropped", "turn", o.Turn, "channel", d.name, "err", e)
		if l := s.live(o.Turn); l != nil && o.Op == chat.OpPost {
			l.lost()
		}
		return 0
	}
	s.cfg.Log.ErrorContext(s.ctx, "message given up", "outbox", o.ID, "turn", o.Turn, "class", o.Class, "channel", d.name, "err", e)
	s.cfg.Dead(o, e)
	return 0
}

// park holds a chat that cannot be reached until it speaks again.
func (d *delivery) park(e *chat.Error) time.Duration {
	s := d.sender
	if wait := d.later(time.Now(), d.out.Unsure == nil, e); wait > 0 {
		return wait
	}
	wait := d.store(func(ctx context.Context) error { return s.ledger.Park(ctx, d.name, e.Error()) })
	if wait == 0 {
		s.cfg.Log.WarnContext(s.ctx, "chat parked until it speaks again", "channel", d.name, "err", e)
		d.drop()
	}
	return wait
}
