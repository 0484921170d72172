package turn

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
)

// ending is how a turn ended, and why.
type ending struct {
	state  chat.TurnState // queued: the agent never saw it and it may run again
	reason chat.Code
	about  error // what is shown of why; nil = nothing
	err    error
	times  int // the session failed like that, in a row
	held   int // turns that wait behind it, and are held because of it
}

// facts are what is known about a turn whose worker is done with it.
type facts struct {
	cause error // why the turn was cancelled; nil when it was not
	seen  bool  // the agent may have seen the prompt
	died  bool  // the worker's process is gone
}

// judge says how the turn ended. Its own clocks, people and the shutdown
// explain an error better than the driver that was cancelled.
func (f facts) judge(err error) ending {
	code := chat.CodeOf(err)
	failed := ending{state: chat.TurnFailed, reason: code, about: err, err: err}
	switch {
	case err == nil:
		return ending{state: chat.TurnSucceeded}
	case f.cause != nil:
		return f.cut(chat.CodeOf(f.cause), err)
	case code == chat.Shutdown, code == chat.Stopped: // the worker was taken away
		return f.cut(code, err)
	case f.died && (code == chat.Internal || code == chat.TimedOut):
		failed.reason = chat.Crashed
	case code == chat.TimedOut: // a deadline inside the driver, not the turn's
		failed.reason = chat.AgentError
	case !i18n.Has("error." + string(code)):
		failed.reason = chat.Internal
	}
	return failed
}

// cut is the end of a turn that was cancelled.
func (f facts) cut(why chat.Code, err error) ending {
	switch why {
	case chat.Internal, chat.CodeNone, chat.Shutdown: // cancelled without a reason: the daemon ends
		if !f.seen {
			return ending{state: chat.TurnQueued, reason: chat.Shutdown, err: err}
		}
		return ending{state: chat.TurnInterrupted, reason: chat.Shutdown, err: err}
	default:
		return ending{state: chat.TurnStopped, reason: why, about: f.cause, err: err}
	}
}

// end writes the one end of the turn, says it, and lets go of the session.
func (n *run) end(err error) {
	ctx := context.WithoutCancel(n.ctx)
	e := facts{cause: context.Cause(n.ctx), seen: n.attempt.State.Seen(), died: n.result.died}.judge(err)
	usage, tools := n.host.shut()
	n.clerk.close()
	if usage.Took == 0 {
		usage.Took = time.Since(n.result.started)
	}
	n.host.live.End(n.words.line(e, usage.Took, tools), chat.SignOf(e.state, e.reason)) // the last word carries the line
	if e.state == chat.TurnQueued {
		n.requeue(ctx)
	} else {
		n.settle(ctx, &e, usage, tools)
	}
	n.report(ctx, e, usage.Took)
	n.seats.leave(n)
	// Only now: the driver may wait for the end of this turn.
	if n.spoilt(e) {
		n.sessions.Forget(n.session.ID)
	}
	if e.reason == chat.LoggedOut { // the others hold the same credentials
		n.sessions.Recycle(n.session.Agent)
	}
	if n.cfg.Ended != nil && e.state.Final() {
		n.turn.State, n.turn.Reason = e.state, e.reason
		n.cfg.Ended(n.turn)
	}
}

// settle makes the end durable together with the last word.
func (n *run) settle(ctx context.Context, e *ending, usage chat.Usage, tools int) {
	e.times = n.failures.count(n.session.ID, *e)
	e.held = n.stuck(ctx, *e)
	parcel{n}.forgets(ctx, *e, usage)
	outs := n.lastWord(*e, usage, tools)
	fault.Hit(fault.ResultReceived)
	written, foreign := n.commit(ctx, chat.Ending{
		Turn: n.turn.ID, Attempt: n.attempt.ID, State: e.state, Reason: e.reason,
		NativeID: n.result.native, Model: n.session.Model, Usage: usage, Outs: outs, Mode: n.newMode(),
	})
	if written {
		fault.Hit(fault.TurnFinished)
	}
	if !foreign {
		n.voice.Wake(n.turn.Place)
	} else if n.cfg.Files != nil {
		n.cfg.Files.Discard(outs)
	}
}

// lastTries is how often the end of a turn is tried again while the daemon
// ends: about ten seconds.
const lastTries = 8

// commit writes the end. The result is never given up because the ledger
// cannot be written: only the end of the daemon ends the tries, after a while.
// foreign says that another end stands for certain: a try that reported an
// error may have been written, and what it names is needed then.
func (n *run) commit(ctx context.Context, e chat.Ending) (written, foreign bool) {
	for try := 0; ; try++ {
		err := n.books.Ledger.Finish(ctx, e)
		switch chat.CodeOf(err) {
		case chat.CodeNone:
			return true, false
		case chat.Conflict:
			n.cfg.Log.WarnContext(ctx, "turn was ended by somebody else", "turn", n.turn.ID, "try", try, "err", err)
			return false, try == 0
		default:
			n.cfg.Log.ErrorContext(ctx, "end of the turn not stored yet", "turn", n.turn.ID, "try", try, "err", err)
		}
		ending := try >= lastTries && chat.CodeOf(context.Cause(n.ctx)) == chat.Shutdown
		if ending || n.pause(ctx, try) != nil {
			n.cfg.Log.ErrorContext(ctx, "end of the turn not stored", "turn", n.turn.ID)
			return false, false
		}
	}
}

// requeue puts back a turn that the shutdown reached before the agent did.
// When that cannot be written, recovery does the same.
func (n *run) requeue(ctx context.Context) {
	if err := n.books.Recovery.Requeue(ctx, n.turn.ID); err != nil {
		n.cfg.Log.WarnContext(ctx, "turn not requeued", "turn", n.turn.ID, "err", err)
	}
	key := fmt.Sprintf("requeued/%d/%d", n.turn.ID, n.attempt.No)
	outs := n.voice.Compose(n.turn.Place, n.turn.ID, key, chat.OutFinal) // what remains of the live message
	if err := n.books.Outbox.Enqueue(ctx, outs); err != nil {
		n.cfg.Log.WarnContext(ctx, "live message not ended", "turn", n.turn.ID, "err", err)
	}
	n.voice.Wake(n.turn.Place)
}

// lastWord is the last word, composed. A text that breaks the renderer must not
// keep the turn from ending.
func (n *run) lastWord(e ending, usage chat.Usage, tools int) (outs []chat.Out) {
	defer func() {
		if p := recover(); p != nil {
			n.cfg.Log.Error("last word of a turn not composed", "turn", n.turn.ID, "panic", p)
			outs = nil
		}
	}()
	n.words.aside = aside(n)
	if e.takesBack(n.session) {
		n.words.back = cmp.Or(n.session.Proven, i18n.T(n.words.lang, "turn.model_default", "agent", n.words.agent))
	}
	text := strings.TrimRight(n.host.live.Text(), " \n")
	again := n.past.repeats(n.session.ID, text)
	if again && e.state == chat.TurnSucceeded && n.turn.Origin == chat.OriginAgent {
		text = "" // nobody asked to hear it twice
	}
	if info, live := n.sessions.Live(n.session.ID); live {
		usage.Model = cmp.Or(usage.Model, info.Model)
	}
	rs := append(n.result.preface, below(e, parcel{n}.said(e, text, tools), n.words.figures(n.cfg.Footer, usage))...)
	if percent, tell := n.past.fills(n.session.ID, usage); tell && e.reason != chat.ContextFull {
		rs = append(rs, n.words.filling(percent))
	}
	rs = append(rs, n.overdrawn(e, usage)...)
	if len(rs) > 0 {
		rs[0].ReplyTo = n.turn.ReplyTo
	}
	return n.voice.Compose(n.turn.Place, n.turn.ID, finalKey(n.turn.ID), chat.OutFinal, rs...)
}

func finalKey(turn int64) string { return fmt.Sprintf("final/%d", turn) }

// spoilt reports whether the worker is not to be used again: its stream makes
// no sense, or it holds credentials, or a model, that were refused. The session is kept.
func (n *run) spoilt(e ending) bool {
	return n.result.recycle || e.reason == chat.Protocol || e.reason == chat.LoggedOut || e.takesBack(n.session)
}

// takesBack reports whether it takes the model of s back that was chosen last.
func (e ending) takesBack(s chat.Session) bool {
	return e.state == chat.TurnFailed && e.reason == chat.ModelUnknown && s.Unproven
}

// report is the one line of the log about the turn.
func (n *run) report(ctx context.Context, e ending, took time.Duration) {
	log := n.cfg.Log.With("turn", n.turn.ID, "session", n.session.ID, "conversation", n.turn.Conversation,
		"agent", n.session.Agent, "state", e.state, "reason", e.reason, "took", took)
	if e.reason == chat.Internal {
		log.ErrorContext(ctx, "turn ended", "id", n.words.errorID(), "err", e.err)
		return
	}
	log.InfoContext(ctx, "turn ended", "err", e.err)
}
