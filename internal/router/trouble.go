package router

import (
	"context"
	"fmt"
	"runtime/debug"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// mostTries is how often a message is tried that fails in a way which is not
// its own fault. One that fails for ever must not keep the others waiting.
const mostTries = 5

// attempt does f, which takes in, and reports whether in is dealt with. A
// defect that panics is a failure like others: a message must not be able to
// stop the daemon again and again.
func (r *Router) attempt(ctx context.Context, in chat.Inbound, f func() error) bool {
	err := r.guard(f)
	if err == nil {
		delete(r.tries, in.ID)
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	r.complain(ctx, "message not routed", in.ID, err)
	if r.tries[in.ID]++; r.tries[in.ID] < mostTries {
		return false
	}
	lang := r.desk.lang(chat.Conversation{}, in.Sender)
	text := i18n.T(lang, "error."+string(chat.Internal), "id", fmt.Sprintf("m%d", in.ID))
	if err := r.settle(ctx, in, chat.InboundRefused, chat.Internal, say(text)...); err != nil {
		return false
	}
	delete(r.tries, in.ID)
	return true
}

func (r *Router) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

func (r *Router) complain(ctx context.Context, what string, inbound int64, err error) {
	if ctx.Err() == nil {
		r.cfg.Log.WarnContext(ctx, what, "inbound", inbound, "err", err)
	}
}

func say(text string) []chat.Reply {
	return []chat.Reply{{Kind: chat.ReplyNotice, Markdown: text}}
}

// settle ends a message, with what is said about it.
func (r *Router) settle(ctx context.Context, in chat.Inbound, s chat.InboundState, why chat.Code, rs ...chat.Reply) error {
	return r.settleWith(ctx, in, []int64{in.ID}, s, why, nil, rs...)
}

// settleWith ends several messages at once; in is the one that is answered.
// more are outbox rows that are committed with it.
func (r *Router) settleWith(ctx context.Context, in chat.Inbound, ids []int64, s chat.InboundState, why chat.Code, more []chat.Out, rs ...chat.Reply) error {
	if len(rs) > 0 && !in.Place.Direct && in.Kind != chat.KindClick && rs[0].ReplyTo.Zero() {
		rs[0].ReplyTo = in.Ref // among several people it must be clear who is meant
	}
	var outs []chat.Out
	if len(rs) > 0 {
		outs = r.desk.voice.Compose(in.Place, 0, fmt.Sprintf("in/%d", in.ID), chat.OutNotice, rs...)
	}
	outs = append(outs, more...)
	if err := r.desk.Inbox.Settle(ctx, ids, s, why, outs); err != nil {
		return fmt.Errorf("settle message %d: %w", in.ID, err)
	}
	if len(outs) > 0 {
		r.desk.voice.Wake(in.Place)
	}
	return nil
}

// tellable reports whether an error with that code is an answer to the author,
// and not trouble of ours.
func tellable(c chat.Code) bool {
	switch c {
	case chat.Invalid, chat.Missing, chat.Conflict, chat.Expired, chat.Denied, chat.Full, chat.Unsupported,
		chat.NoSession, chat.ModelUnknown, chat.NotInstalled, chat.LoggedOut:
		return true
	default:
		return false
	}
}

// refuse ends messages with the sentence for err, when that is an answer to
// their author; other errors are returned as they are.
func (r *Router) refuse(ctx context.Context, in chat.Inbound, ids []int64, c chat.Conversation, err error) error {
	code := chat.CodeOf(err)
	if !tellable(code) {
		return err
	}
	state := chat.InboundDone
	if code == chat.Full || code == chat.Denied {
		state = chat.InboundRefused
	}
	text := i18n.T(r.desk.lang(c, in.Sender), "error."+string(code), "detail", chat.DetailOf(err), "agent", c.Agent)
	return r.settleWith(ctx, in, ids, state, code, nil, say(text)...)
}
