package router

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// thread is the session that a reply goes on with.
type thread struct {
	session int64     // 0 = the current one
	turn    chat.Turn // whose message is replied to; zero when it is none's
	lost    bool      // the agent has lost that session; session is its successor
}

// thread finds out what in replies to. A reply to an answer of an earlier
// session goes on with that one, and leaves the current one as it is.
func (k *intake) thread(ctx context.Context, in chat.Inbound) (th thread, err error) {
	if in.Reply.Zero() {
		return th, nil
	}
	th.turn, err = k.desk.History.TurnOfMessage(ctx, in.Place.ID, in.Reply.ID)
	switch {
	case chat.CodeOf(err) == chat.Missing, err == nil && th.turn.Conversation != in.Conversation:
		return thread{}, nil
	case err != nil:
		return thread{}, fmt.Errorf("find the turn that is replied to: %w", err)
	}
	conv, err := k.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return th, err
	}
	s, err := k.desk.Conversations.SessionByID(ctx, th.turn.Session)
	if err != nil {
		return th, fmt.Errorf("read session: %w", err)
	}
	if s.State == chat.SessionLost {
		th.lost = true
		if s, err = k.desk.Conversations.Lose(ctx, s.ID); err != nil {
			return th, fmt.Errorf("find the successor of a session: %w", err)
		}
		// The successor may be the current one only because it was just made.
		if conv, err = k.desk.conversation(ctx, in.Conversation); err != nil {
			return th, err
		}
	}
	if !s.Serves(conv) {
		th.session = s.ID
	}
	return th, nil
}

// pieces makes the input of a burst's messages, and finds the session that they
// are for: the first reply says it.
func (k *intake) pieces(ctx context.Context, rows []chat.Inbound) (ps []chat.Piece, to thread, err error) {
	for _, in := range rows {
		th, err := k.thread(ctx, in)
		if err != nil {
			return nil, to, err
		}
		if to.turn.ID == 0 {
			to = th
		}
		p := piece(in)
		if in.Source.Kind == chat.SourceOwn {
			known, err := k.fresh(ctx, in, th)
			if err != nil {
				return nil, to, err
			}
			if known {
				p.Quote, p.Source = "", chat.Source{}
			}
		}
		ps = append(ps, p)
	}
	if err := k.once(ctx, rows[0].Place.ID, ps); err != nil {
		return nil, to, err
	}
	return ps, to, nil
}

// once leaves what was said earlier in a topic to the first turn there, and to
// the first message that has it.
func (k *intake) once(ctx context.Context, place int64, ps []chat.Piece) error {
	earlier := func(f chat.FileRef) bool { return f.Kind == chat.MediaQuote && f.Source.Kind == chat.SourceTopic }
	has := false
	for i, p := range ps {
		if !slices.ContainsFunc(p.Files, earlier) {
			continue
		}
		if !has {
			led, err := k.desk.Inbox.Led(ctx, place)
			if err != nil {
				return fmt.Errorf("look for earlier turns of a topic: %w", err)
			}
			if has = true; !led {
				continue
			}
		}
		ps[i].Files = slices.DeleteFunc(slices.Clone(p.Files), earlier)
	}
	return nil
}

// fresh reports whether an agent needs no copy of its own message that is
// replied to: it is part of its last answer, or no agent's at all.
func (k *intake) fresh(ctx context.Context, in chat.Inbound, th thread) (bool, error) {
	if th.turn.ID == 0 {
		answer, err := k.answered(ctx, in)
		return !answer, err
	}
	if th.lost {
		return false, nil
	}
	last, err := k.desk.History.LastTurn(ctx, th.turn.Session)
	if err != nil {
		return false, fmt.Errorf("read last turn: %w", err)
	}
	return last.ID == th.turn.ID, nil
}

// answered reports whether in replies to an answer, for whomever that was.
func (k *intake) answered(ctx context.Context, in chat.Inbound) (bool, error) {
	of, err := k.desk.Places.Owner(ctx, in.Place.Account, in.Place.Chat, in.Reply.ID)
	if err == nil {
		_, err = k.desk.History.TurnOfMessage(ctx, of.ID, in.Reply.ID)
	}
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return true, nil
	case chat.Missing:
		return false, nil
	default:
		return false, fmt.Errorf("find the answer that is replied to: %w", err)
	}
}

// replaced tells that the session of the answer that was replied to is gone.
func (k *intake) replaced(ctx context.Context, in chat.Inbound) {
	conv, err := k.desk.conversation(ctx, in.Conversation)
	if err == nil {
		r := chat.Reply{Kind: chat.ReplyNotice, Silent: true, ReplyTo: in.Ref, Markdown: i18n.T(k.desk.lang(conv, in.Sender), "router.reply_lost")}
		err = k.desk.voice.Say(ctx, in.Place, fmt.Sprintf("replaced/%d", in.ID), r)
	}
	if err != nil {
		k.desk.cfg.Log.WarnContext(ctx, "notice not stored", "inbound", in.ID, "err", err)
	}
}
