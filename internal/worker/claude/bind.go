package claude

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// giveUp ends a run that has no hope: the agent would go on trying.
func (rd *reader) giveUp(r *run, err error) {
	switch {
	case err == nil:
	case r.turn != nil:
		r.turn.giveUp(err)
	default:
		rd.tasks.Go(func() { rd.link.try(rd.life, interrupt()) })
	}
}

// lifecycle takes what becomes of a message that we sent.
func (rd *reader) lifecycle(m lifeMsg) {
	rd.tells.Store(true)
	t := rd.known.current()
	if t == nil || !t.owns(m.ID) {
		return
	}
	switch s := lifeState(m.State); s {
	case lifeStarted:
		<-t.sent // the agent read all of it: the writer is about to say so
		t.mark(m.ID, s)
		rd.bind(t)
	case lifeCompleted, lifeCancelled:
		if t.mark(m.ID, s) == lifeStarted && rd.skipped && rd.run != nil && rd.run.turn == t {
			rd.result(resultMsg{Cost: rd.total(), Failed: s == lifeCancelled}) // its result was too long to read
		}
	default: // queued: it has it
	}
}

// bind makes the run that begins, or the one that took the message in, a run
// of t.
func (rd *reader) bind(t *turn) {
	r := rd.run
	if r == nil {
		r = newRun(t.ctx, t.host, rd.log)
		rd.run, rd.skipped = r, false
	}
	if r.turn == t {
		return
	}
	if r.end != nil {
		r.end(nil)
		r.end = nil
	}
	r.ctx, r.host, r.quiet, r.turn = t.ctx, t.host, &t.quiet, t
}

// began takes the beginning of a run.
func (rd *reader) began(session string, m initMsg) {
	changed := rd.known.identify(session, m.Model)
	rd.known.observe(m.Mode)
	t := rd.known.current()
	switch {
	case rd.run != nil:
	case t != nil && !rd.tells.Load(): // an agent that does not tell: it must be ours
		<-t.sent
		t.startAll()
		rd.bind(t)
	default:
		rd.run, rd.skipped = rd.uninvited(t), false
	}
	if changed {
		rd.run.emit(chat.Event{Kind: chat.EventSession, Text: session})
	}
}

// uninvited is a run that nobody asked for. While a prompt of the user waits
// for the agent, what comes belongs to that turn.
func (rd *reader) uninvited(t *turn) *run {
	if t != nil {
		r := newRun(t.ctx, t.host, rd.log)
		r.quiet = &t.quiet
		return r
	}
	if rd.spec.Uninvited == nil {
		rd.log.InfoContext(rd.life, "the agent works unasked; dropped")
		return newRun(rd.life, nowhere{}, rd.log)
	}
	host, end := rd.spec.Uninvited(rd.life)
	if host == nil { // there is nobody to tell
		host = nowhere{}
	}
	r := newRun(rd.life, host, rd.log)
	r.end = end
	return r
}

// nowhere is the host of a run that nobody wants to hear of.
type nowhere struct{}

var _ worker.Host = nowhere{}

func (nowhere) Emit(context.Context, chat.Event) error { return nil }

func (nowhere) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Missing, "no turn runs", nil)
}
