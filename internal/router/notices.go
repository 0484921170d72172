package router

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Notices says how it is shown that a message waits.
type Notices string

// Forms of notices.
const (
	NoticeReaction Notices = "reaction" // on the message itself; text where that is not possible
	NoticeText     Notices = "text"
	NoticeOff      Notices = "off"
)

// waitingMark is the reaction on a message that waits.
const waitingMark = "👀"

// signalLimit bounds one sign of life.
const signalLimit = 10 * time.Second

// Signals gives signs of life outside messages.
type Signals interface {
	// React puts a reaction on a person's message, or takes it away (empty
	// emoji). An error means that it is not shown.
	React(ctx context.Context, p chat.Place, ref chat.Ref, emoji string) error
}

// notices makes waiting visible. Nothing here blocks the caller, and nothing
// here is needed for a message to be answered.
type notices struct {
	ctx     context.Context // without an end of its own
	form    Notices
	signals Signals
	voice   Voice
	log     *slog.Logger
	wg      sync.WaitGroup

	mu    sync.Mutex
	marks map[int64]*mark // by turn
}

// mark is a reaction on the message of a waiting turn.
type mark struct {
	place chat.Place
	ref   chat.Ref
	there bool // the service has taken it
	over  bool // the turn does not wait any more
}

// queued shows that t waits behind ahead others; takes says that the running
// turn takes words.
func (n *notices) queued(in chat.Inbound, t chat.Turn, ahead int, takes bool, lang string) {
	if n.form == NoticeOff {
		return
	}
	row := []chat.Button{removeButton(t, lang)}
	if takes {
		row = append(row, chat.Button{Label: i18n.T(lang, "router.button_now"), Data: fmt.Sprintf("now:%d", t.ID)})
	}
	n.react(in, t, chat.Reply{
		Kind: chat.ReplyNotice, Silent: true, ReplyTo: t.ReplyTo,
		Markdown: i18n.T(lang, "router.queued", "n", ahead),
		Buttons:  [][]chat.Button{row},
	})
}

// waits shows that t, the first turn of a new session, waits for one of the
// earlier session. It needs its buttons and is always a text.
func (n *notices) waits(in chat.Inbound, t, after chat.Turn, lang string) {
	n.say(in, t, chat.Reply{
		Kind: chat.ReplyNotice, Silent: true, ReplyTo: t.ReplyTo,
		Markdown: i18n.T(lang, "router.waits_for_old"),
		Buttons: [][]chat.Button{{
			{Label: i18n.T(lang, "router.button_stop"), Data: fmt.Sprintf("stop:%d", after.ID), Style: "danger"},
			removeButton(t, lang),
		}},
	})
}

func removeButton(t chat.Turn, lang string) chat.Button {
	return chat.Button{Label: i18n.T(lang, "router.button_remove"), Data: fmt.Sprintf("rm:%d", t.ID)}
}

// react marks the message; where that cannot be, r says it.
func (n *notices) react(in chat.Inbound, t chat.Turn, r chat.Reply) {
	if n.form != NoticeReaction || in.Kind == chat.KindClick {
		n.say(in, t, r)
		return
	}
	m := &mark{place: in.Place, ref: in.Ref}
	n.mu.Lock()
	n.marks[t.ID] = m
	n.mu.Unlock()
	n.wg.Go(func() {
		err := n.signal(m, waitingMark)
		n.mu.Lock()
		m.there = err == nil
		late := m.over
		if err != nil {
			delete(n.marks, t.ID)
		}
		n.mu.Unlock()
		switch {
		case err != nil && !late:
			n.store(in, t, r)
		case err == nil && late:
			_ = n.signal(m, "")
		}
	})
}

// over takes the reaction of t away: it does not wait any more.
func (n *notices) over(turn int64) {
	n.mu.Lock()
	m := n.marks[turn]
	delete(n.marks, turn)
	there := m != nil && m.there
	if m != nil {
		m.over = true
	}
	n.mu.Unlock()
	if there {
		n.wg.Go(func() { _ = n.signal(m, "") })
	}
}

func (n *notices) signal(m *mark, emoji string) error {
	ctx, cancel := context.WithTimeout(n.ctx, signalLimit)
	defer cancel()
	err := n.signals.React(ctx, m.place, m.ref, emoji)
	if err != nil {
		n.log.DebugContext(ctx, "reaction not shown", "err", err)
	}
	return err
}

func (n *notices) say(in chat.Inbound, t chat.Turn, r chat.Reply) {
	n.wg.Go(func() { n.store(in, t, r) })
}

func (n *notices) store(in chat.Inbound, t chat.Turn, r chat.Reply) {
	if err := n.voice.Say(n.ctx, in.Place, fmt.Sprintf("queued/%d", t.ID), r); err != nil {
		n.log.WarnContext(n.ctx, "notice not stored", "turn", t.ID, "err", err)
	}
}

// withdrawing is the queue with the marks of what leaves it taken away.
type withdrawing struct {
	QueueControl
	notices *notices
}

// Withdraw is described at QueueControl.
func (w withdrawing) Withdraw(ctx context.Context, turn int64, outs []chat.Out) error {
	err := w.QueueControl.Withdraw(ctx, turn, outs)
	if err == nil {
		w.notices.over(turn)
	}
	return err
}
