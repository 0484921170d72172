package router

import (
	"context"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// ender ends messages, each with what is said about it, in one transaction.
type ender struct {
	inbox Inbox
	voice Voice
	desk  *desk
}

func say(text string) []chat.Reply {
	return []chat.Reply{{Kind: chat.ReplyNotice, Markdown: text}}
}

// settle ends a message, with what is said about it.
func (e *ender) settle(ctx context.Context, in chat.Inbound, s chat.InboundState, why chat.Code, rs ...chat.Reply) error {
	return e.settleWith(ctx, in, []int64{in.ID}, s, why, nil, rs...)
}

// settleWith ends several messages at once; in is the one that is answered.
// more are outbox rows that are committed with it.
func (e *ender) settleWith(ctx context.Context, in chat.Inbound, ids []int64, s chat.InboundState, why chat.Code, more []chat.Out, rs ...chat.Reply) error {
	if len(rs) > 0 && !in.Place.Direct && in.Kind != chat.KindClick && rs[0].ReplyTo.Zero() {
		rs[0].ReplyTo = in.Ref // among several people it must be clear who is meant
	}
	var outs []chat.Out
	if len(rs) > 0 {
		outs = e.voice.Compose(in.Place, 0, fmt.Sprintf("in/%d", in.ID), chat.OutNotice, rs...)
	}
	outs = append(outs, more...)
	if err := e.inbox.Settle(ctx, ids, s, why, outs); err != nil {
		return fmt.Errorf("settle message %d: %w", in.ID, err)
	}
	if len(outs) > 0 {
		e.voice.Wake(in.Place)
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
func (e *ender) refuse(ctx context.Context, in chat.Inbound, ids []int64, c chat.Conversation, err error) error {
	code := chat.CodeOf(err)
	if !tellable(code) {
		return err
	}
	state := chat.InboundDone
	if code == chat.Full || code == chat.Denied {
		state = chat.InboundRefused
	}
	text := i18n.T(e.desk.lang(c, in.Sender), "error."+string(code), "detail", i18n.Detail(e.desk.lang(c, in.Sender), err), "agent", e.desk.called(c.Agent))
	return e.settleWith(ctx, in, ids, state, code, nil, say(text)...)
}

// tell ends in with one of our sentences.
func (e *ender) tell(ctx context.Context, in chat.Inbound, s chat.InboundState, key string, args ...any) error {
	c, err := e.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	return e.settle(ctx, in, s, chat.CodeNone, say(i18n.T(e.desk.lang(c, in.Sender), "router."+key, args...))...)
}
