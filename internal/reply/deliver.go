package reply

import (
	"context"
	"math/rand/v2"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// Waiting after failures.
const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 30 * time.Second
	waitMargin   = time.Second // added to a told wait: clocks differ
	slowTime     = 10 * time.Minute
)

// backoff grows from try to try, with jitter.
func backoff(try int) time.Duration {
	d := min(backoffFirst<<min(try, 12), backoffMost)
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}

// deliver carries out one row, or brings it nearer to that. When it returns,
// the ledger says what is next.
func (s *sender) deliver(ctx context.Context, c *channel, o chat.Out) {
	a, ok := s.adapters[o.Place.Account]
	if !ok {
		s.bury(ctx, o, chat.OutDead, "the account is configured no more")
		return
	}
	if done := s.prepare(ctx, &o); done {
		return
	}
	if !s.admit(ctx, c, a, o) {
		return
	}
	unsure, err := s.ledger.Sending(ctx, o.ID)
	if err != nil {
		if chat.CodeOf(err) != chat.Conflict && ctx.Err() == nil {
			s.log.WarnContext(ctx, "intent not stored", "outbox", o.ID, "err", err)
			s.restFor(ctx, c, backoff(c.tries))
			c.tries++
		}
		return
	}
	o.Unsure = unsure
	fault.Hit(fault.SendIntended)
	ref, err := s.send(ctx, a, o)
	if err != nil {
		s.failed(ctx, c, o, err)
		return
	}
	fault.Hit(arrived(o))
	s.receipt(ctx, o, ref)
	if c.tries > 0 {
		s.log.InfoContext(ctx, "sending works again", "channel", c.name)
		c.tries = 0
	}
	if l := s.lives.of(o.Turn); l != nil && o.Class == chat.OutProgress && o.Op == chat.OpPost {
		l.accepted(ref, o.Part)
	}
}

func arrived(o chat.Out) fault.Point {
	switch {
	case o.Ask > 0 && o.Op == chat.OpPost:
		return fault.AskSent
	case o.Class == chat.OutProgress && o.Op == chat.OpPost:
		return fault.ProgressSent
	}
	return fault.SendDone
}

// prepare settles rows that need no send: a live message whose turn is over,
// and the shrinking of one that never was out.
func (s *sender) prepare(ctx context.Context, o *chat.Out) (done bool) {
	if o.Class != chat.OutProgress {
		return false
	}
	switch {
	case o.Op == chat.OpPost && o.State == chat.OutPending:
		if l := s.lives.of(o.Turn); l == nil || !l.running() {
			s.bury(ctx, *o, chat.OutDropped, "the turn is over")
			return true
		}
	case o.Op == chat.OpFinish && o.Target.Zero():
		ref, err := s.ledger.Shown(ctx, o.Turn)
		if err != nil {
			if chat.CodeOf(err) == chat.Missing {
				s.bury(ctx, *o, chat.OutDropped, "there was no live message")
				return true
			}
			return !sleep(ctx, nil, backoffFirst)
		}
		o.Target = ref
	default:
	}
	return false
}

// admit waits until o may leave; false means: look again.
func (s *sender) admit(ctx context.Context, c *channel, a platform.Adapter, o chat.Out) bool {
	if d := time.Until(o.DueAt); d > 0 {
		s.restFor(ctx, c, d)
		return false
	}
	t := a.Traits()
	if t.Local {
		return true
	}
	for {
		d := s.pacer.take(o.Place, t, false)
		if d <= 0 {
			return true
		}
		if !sleep(ctx, nil, d) {
			return false
		}
	}
}

// send calls the adapter. A call that has begun is not cut off by the end of
// the daemon: its outcome would be unknown.
func (s *sender) send(ctx context.Context, a platform.Adapter, o chat.Out) (chat.Ref, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.SendTimeout)
	defer cancel()
	return a.Send(ctx, o)
}

// receipt stores that o arrived. It is a fact that must not be lost, so it is
// tried until it is stored or the daemon has to end.
func (s *sender) receipt(ctx context.Context, o chat.Out, ref chat.Ref) {
	for try := 0; ; try++ {
		err := s.ledger.Sent(context.WithoutCancel(ctx), o.ID, ref)
		if err == nil {
			return
		}
		s.log.ErrorContext(ctx, "receipt not stored", "outbox", o.ID, "err", err)
		if !sleep(ctx, nil, backoff(try)) {
			return
		}
	}
}

// failed does what the error obliges to.
func (s *sender) failed(ctx context.Context, c *channel, o chat.Out, err error) {
	sure := o.Unsure == nil // after most errors an older doubt stands as it was
	switch code := chat.CodeOf(err); code {
	case chat.Wait:
		s.obeyWait(ctx, c, o, err, sure)
	case chat.Degrade:
		s.degrade(ctx, o, err)
	case chat.GiveUp:
		s.bury(ctx, o, chat.OutDead, err.Error())
	case chat.Gone:
		s.bury(ctx, o, chat.OutDropped, err.Error())
	case chat.Park:
		s.later(ctx, o, time.Now(), sure, err.Error())
		if perr := s.ledger.Park(ctx, c.name, err.Error()); perr != nil {
			s.log.ErrorContext(ctx, "channel not parked", "channel", c.name, "err", perr)
			s.restFor(ctx, c, backoffMost)
		}
		s.log.WarnContext(ctx, "chat cannot be reached", "channel", c.name, "err", err)
	case chat.Uncertain:
		s.uncertain(ctx, c, o, err)
	default:
		s.retry(ctx, c, o, err, sure)
	}
}

// obeyWait stores the told time before anything else, so that a restart obeys
// it too.
func (s *sender) obeyWait(ctx context.Context, c *channel, o chat.Out, err error, sure bool) {
	fault.Hit(fault.WaitReceived)
	until := time.Now().Add(chat.AfterOf(err) + waitMargin)
	s.pacer.pause(c.name, until)
	s.lives.slow(c.name, 1)
	time.AfterFunc(slowTime, func() { s.lives.slow(c.name, 0) }) // a timer only; nothing to wait for
	s.log.WarnContext(ctx, "told to wait", "channel", c.name, "outbox", o.ID, "until", until.UTC())
	s.later(ctx, o, until, sure, err.Error())
}

// retry waits a little longer each time. One line tells that sending stopped,
// one that it works again.
func (s *sender) retry(ctx context.Context, c *channel, o chat.Out, err error, sure bool) {
	if c.tries == 0 {
		s.log.WarnContext(ctx, "sending fails; trying again", "channel", c.name, "outbox", o.ID, "err", err)
	}
	s.later(ctx, o, time.Now().Add(backoff(c.tries)), sure, err.Error())
	c.tries++
}

// uncertain keeps the row in state sending, to be settled; when even that
// cannot be found out, the row is sent again and says so.
func (s *sender) uncertain(ctx context.Context, c *channel, o chat.Out, err error) {
	if o.Unsure == nil {
		s.retry(ctx, c, o, err, false)
		return
	}
	s.log.WarnContext(ctx, "sent again without knowing", "channel", c.name, "outbox", o.ID, "err", err)
	p := o.Part
	p.Text, p.Format = i18n.T(s.cfg.Lang, "reply.resent")+"\n"+p.Text, nil
	s.replace(ctx, o, p, "resent: "+err.Error())
}

// degrade sends the plain form, then a file; after that there is nothing left.
func (s *sender) degrade(ctx context.Context, o chat.Out, err error) {
	p := o.Part
	switch {
	case p.Format != nil:
		p.Format = nil
	case p.File == nil && p.Text != "" && o.Op == chat.OpPost:
		p = chat.Part{
			Text: i18n.T(s.cfg.Lang, "reply.as_file"), ReplyTo: p.ReplyTo, Silent: p.Silent,
			File: &chat.OutFile{Name: "answer.md", Body: []byte(p.Text)},
		}
	default:
		s.bury(ctx, o, chat.OutDead, err.Error())
		return
	}
	s.log.InfoContext(ctx, "the platform refused a form; sending a plainer one", "outbox", o.ID, "err", err)
	s.replace(ctx, o, p, err.Error())
}

// replace gives o another part; it certainly has not arrived.
func (s *sender) replace(ctx context.Context, o chat.Out, p chat.Part, reason string) {
	if err := s.ledger.Replace(ctx, o.ID, p); err != nil {
		s.log.ErrorContext(ctx, "form not stored", "outbox", o.ID, "err", err)
		sleep(ctx, nil, backoffFirst)
		return
	}
	s.later(ctx, o, time.Now(), true, reason)
}

func (s *sender) later(ctx context.Context, o chat.Out, at time.Time, sure bool, reason string) {
	err := s.ledger.Later(context.WithoutCancel(ctx), o.ID, at, sure, reason)
	if err != nil && chat.CodeOf(err) != chat.Conflict {
		s.log.ErrorContext(ctx, "outbox row not put back", "outbox", o.ID, "err", err)
		sleep(ctx, nil, backoffFirst) // it stays in state sending and is settled
	}
}

func (s *sender) bury(ctx context.Context, o chat.Out, state chat.OutState, reason string) {
	if err := s.ledger.Bury(ctx, o.ID, state, reason); err != nil && chat.CodeOf(err) != chat.Conflict {
		s.log.ErrorContext(ctx, "outbox row not given up", "outbox", o.ID, "err", err)
		sleep(ctx, nil, backoffFirst)
		return
	}
	if state == chat.OutDead {
		s.log.ErrorContext(ctx, "message given up", "outbox", o.ID, "turn", o.Turn, "reason", reason)
		if s.cfg.Dead != nil {
			s.cfg.Dead(o, reason)
		}
	}
}

// refresh shows one new form of a live message, if one is due and the budget
// allows it; it reports whether it did anything.
func (s *sender) refresh(ctx context.Context, c *channel) bool {
	l, o := s.lives.due(c.name)
	if l == nil {
		return false
	}
	t := l.adapter.Traits()
	if !t.Local && s.pacer.take(o.Place, t, true) > 0 {
		l.mu.Lock()
		l.touch() // the clock brings it again
		l.mu.Unlock()
		return false
	}
	if !l.running() {
		return true
	}
	_, err := s.send(ctx, l.adapter, o)
	switch code := chat.CodeOf(err); code {
	case chat.CodeNone:
		l.accepted(o.Target, o.Part)
	case chat.Wait:
		fault.Hit(fault.WaitReceived)
		s.pacer.pause(c.name, time.Now().Add(chat.AfterOf(err)+waitMargin))
		s.lives.slow(c.name, 1)
	case chat.Gone, chat.GiveUp, chat.Park, chat.Degrade:
		l.refused()
		s.log.DebugContext(ctx, "live message cannot be edited", "turn", o.Turn, "err", err)
	default:
		s.lives.slow(c.name, 2)
		s.log.DebugContext(ctx, "edit failed", "turn", o.Turn, "err", err)
	}
	return true
}
