package turn

import (
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
	detail string
	err    error
	times  int // the session failed like that, in a row
}

// judge says how the turn ended. Its own clocks, people and the shutdown
// explain an error better than the driver that was cancelled.
func (n *run) judge(err error) ending {
	code := chat.CodeOf(err)
	switch {
	case err == nil:
		return ending{state: chat.TurnSucceeded}
	case n.ctx.Err() != nil:
		return n.cut(chat.CodeOf(context.Cause(n.ctx)), err)
	case code == chat.Shutdown, code == chat.Stopped: // the worker was taken away
		return n.cut(code, err)
	case n.result.died && (code == chat.Internal || code == chat.TimedOut):
		return ending{state: chat.TurnFailed, reason: chat.Crashed, err: err}
	case code == chat.TimedOut: // a deadline inside the driver, not the turn's
		return ending{state: chat.TurnFailed, reason: chat.AgentError, detail: chat.DetailOf(err), err: err}
	case !i18n.Has("error." + string(code)):
		return ending{state: chat.TurnFailed, reason: chat.Internal, err: err}
	}
	return ending{state: chat.TurnFailed, reason: code, detail: chat.DetailOf(err), err: err}
}

// cut is the end of a turn that was cancelled.
func (n *run) cut(why chat.Code, err error) ending {
	switch why {
	case chat.Internal, chat.CodeNone, chat.Shutdown: // cancelled without a reason: the daemon ends
		if !n.attempt.State.Seen() {
			return ending{state: chat.TurnQueued, reason: chat.Shutdown, err: err}
		}
		return ending{state: chat.TurnInterrupted, reason: chat.Shutdown, err: err}
	default:
		return ending{state: chat.TurnStopped, reason: why, err: err}
	}
}

// lastTries is how often the end of a turn is tried again while the daemon
// ends: about ten seconds.
const lastTries = 8

// end writes the one end of the turn, says it, and lets go of the session.
func (n *run) end(err error) {
	ctx := context.WithoutCancel(n.ctx)
	e := n.judge(err)
	usage, tools := n.shut()
	n.clerk.close()
	if usage.Took == 0 {
		usage.Took = time.Since(n.result.started)
	}
	if e.state == chat.TurnQueued {
		n.requeue(ctx)
	} else {
		n.settle(ctx, e, usage, tools)
	}
	n.leave(n)
	// Only now: the driver may wait for the end of this turn.
	if n.spoilt(e) {
		n.sessions.Forget(n.session.ID)
	}
	if n.cfg.Ended != nil && e.state.Final() {
		n.turn.State, n.turn.Reason = e.state, e.reason
		n.cfg.Ended(n.turn)
	}
}

// settle makes the end durable together with the last word.
func (n *run) settle(ctx context.Context, e ending, usage chat.Usage, tools int) {
	e.times = n.count(n.session.ID, e)
	outs := n.lastWord(e, tools)
	fault.Hit(fault.ResultReceived)
	written := n.commit(ctx, chat.Ending{
		Turn: n.turn.ID, Attempt: n.attempt.ID, State: e.state, Reason: e.reason,
		NativeID: n.result.native, Usage: usage, Outs: outs,
	})
	if written {
		fault.Hit(fault.TurnFinished)
		n.voice.Wake(n.turn.Place)
	}
	n.live.End(n.line(e, usage.Took, tools))
	n.report(ctx, e, usage.Took, written)
}

// spoilt reports whether the worker is not to be used again: its stream makes
// no sense, or it holds credentials that were refused. The session is kept.
func (n *run) spoilt(e ending) bool {
	return n.result.recycle || e.reason == chat.Protocol || e.reason == chat.LoggedOut
}

// commit writes the end. The result is never given up because the ledger
// cannot be written: only the end of the daemon ends the tries, after a while.
func (n *run) commit(ctx context.Context, e chat.Ending) bool {
	for try := 0; ; try++ {
		err := n.books.Ledger.Finish(ctx, e)
		switch chat.CodeOf(err) {
		case chat.CodeNone:
			return true
		case chat.Conflict:
			n.cfg.Log.WarnContext(ctx, "turn was ended by somebody else", "turn", n.turn.ID, "err", err)
			return false
		default:
			n.cfg.Log.ErrorContext(ctx, "end of the turn not stored yet", "turn", n.turn.ID, "try", try, "err", err)
		}
		ending := try >= lastTries && chat.CodeOf(context.Cause(n.ctx)) == chat.Shutdown
		if ending || n.pause(ctx, try) != nil {
			n.cfg.Log.ErrorContext(ctx, "end of the turn not stored", "turn", n.turn.ID)
			return false
		}
	}
}

// requeue puts back a turn that the shutdown reached before the agent did.
// When that cannot be written, recovery does the same.
func (n *run) requeue(ctx context.Context) {
	if err := n.books.Recovery.Requeue(ctx, n.turn.ID); err != nil {
		n.cfg.Log.WarnContext(ctx, "turn not requeued", "turn", n.turn.ID, "err", err)
	}
	n.live.End(i18n.T(n.lang, "turn.line.requeued"))
	n.cfg.Log.InfoContext(ctx, "turn requeued", "turn", n.turn.ID, "session", n.session.ID)
}

// lastWord is the last word, composed. A text that breaks the renderer must not
// keep the turn from ending.
func (n *run) lastWord(e ending, tools int) (outs []chat.Out) {
	defer func() {
		if p := recover(); p != nil {
			n.cfg.Log.Error("last word of a turn not composed", "turn", n.turn.ID, "panic", p)
			outs = nil
		}
	}()
	return n.compose(e, tools)
}

// compose is the last word: what was received, how it ended, what can be done.
func (n *run) compose(e ending, tools int) []chat.Out {
	text := strings.TrimRight(n.live.Text(), " \n")
	rs := n.result.preface
	switch {
	case e.state == chat.TurnSucceeded && text == "" && n.turn.Origin == chat.OriginAgent:
		// Nobody asked, and there is nothing to say.
	case e.state == chat.TurnSucceeded && text == "":
		rs = append(rs, n.notice(i18n.T(n.lang, "turn.empty", "agent", n.session.Agent, "tools", n.tools(tools))))
	case e.state == chat.TurnSucceeded:
		rs = append(rs, n.said(text, ""))
	case text != "":
		rs = append(rs, n.said(text, i18n.T(n.lang, "turn.partial")), n.notice(n.sentence(e), n.offers(e)...))
	default:
		rs = append(rs, n.notice(n.sentence(e), n.offers(e)...))
	}
	if len(rs) == 0 {
		return nil
	}
	rs[0].ReplyTo = n.turn.ReplyTo
	return n.voice.Compose(n.turn.Place, n.turn.ID, finalKey(n.turn.ID), chat.OutFinal, rs...)
}

func finalKey(turn int64) string { return fmt.Sprintf("final/%d", turn) }

// said is text of the agent's.
func (n *run) said(text, mark string) chat.Reply {
	r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: text, Footer: mark}
	if n.turn.Origin == chat.OriginAgent {
		r.Footer = strings.TrimSpace(i18n.T(n.lang, "turn.background") + " " + mark)
	}
	return r
}

func (n *run) notice(text string, bs ...chat.Button) chat.Reply {
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: text}
	if len(bs) > 0 {
		r.Buttons = [][]chat.Button{bs}
	}
	return r
}

// report is the one line of the log about the turn.
func (n *run) report(ctx context.Context, e ending, took time.Duration, written bool) {
	log := n.cfg.Log.With("turn", n.turn.ID, "session", n.session.ID, "conversation", n.turn.Conversation,
		"agent", n.session.Agent, "state", e.state, "reason", e.reason, "took", took, "written", written)
	if e.reason == chat.Internal {
		log.ErrorContext(ctx, "turn ended", "id", n.errorID(), "err", e.err)
		return
	}
	log.InfoContext(ctx, "turn ended", "err", e.err)
}
