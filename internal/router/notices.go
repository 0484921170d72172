package router

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

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

// Signals gives signs of life outside messages.
type Signals interface {
	// Sign shows how a turn stands on the message that asked for it; SignNone
	// takes the sign away. failed, if not nil, is called beside the caller when it
	// is not shown. It never blocks. What a turn that runs does is shown by others.
	Sign(t chat.Turn, s chat.Sign, failed func())
}

// notices makes waiting visible. Nothing here blocks the caller, and nothing
// here is needed for a message to be answered.
type notices struct {
	ctx     context.Context // without an end of its own
	form    Notices
	signals Signals
	voice   Voice
	turns   Turns
	log     *slog.Logger
	wg      sync.WaitGroup

	mu    sync.Mutex
	shown map[int64]chat.Turn // turns whose messages show that they wait
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
		Waits:    t.ID, Over: i18n.T(lang, "router.queued_over"),
	})
}

// again shows that t, which continues or repeats an earlier turn, waits behind
// ahead others. That is always a text: whoever asks for something once more
// expects it to begin, and can end what it waits for.
func (n *notices) again(in chat.Inbound, t chat.Turn, running int64, ahead int, lang string) {
	row := []chat.Button{removeButton(t, lang)}
	if running != 0 {
		row = append(row, chat.Button{Label: i18n.T(lang, "router.button_stop"), Data: fmt.Sprintf("stop:%d", running), Style: "danger"})
	}
	n.say(in, t, chat.Reply{
		Kind: chat.ReplyNotice, Silent: true, ReplyTo: t.ReplyTo, Markdown: i18n.T(lang, "router.again_waits", "n", ahead),
		Buttons: [][]chat.Button{row}, Waits: t.ID, Over: i18n.T(lang, "router.queued_over"),
	})
}

// offered shows that the words of t are on their way to the turn that runs,
// whose agent has not taken them yet.
func (n *notices) offered(t chat.Turn, into int64, agent, lang string) {
	if n.form == NoticeOff {
		return
	}
	r := chat.Reply{
		Kind: chat.ReplyNotice, Silent: true, ReplyTo: t.ReplyTo, Markdown: i18n.T(lang, "router.offered", "agent", agent),
		Waits: t.ID, Over: i18n.T(lang, "router.queued_over"),
	}
	n.wg.Go(func() {
		if err := n.voice.Say(n.ctx, t.Place, fmt.Sprintf("offered/%d/%d", t.ID, into), r); err != nil {
			n.log.WarnContext(n.ctx, "notice not stored", "turn", t.ID, "err", err)
		}
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
		Waits: t.ID, Over: i18n.T(lang, "router.queued_over"),
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
	n.mu.Lock()
	n.shown[t.ID] = t
	n.mu.Unlock()
	n.signals.Sign(t, chat.SignQueued, func() {
		if _, still := n.leave(t.ID); still {
			n.store(in, t, r)
		}
	})
}

// leave forgets that a turn waits, and returns it if that was shown.
func (n *notices) leave(turn int64) (chat.Turn, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, ok := n.shown[turn]
	delete(n.shown, turn)
	return t, ok
}

// over shows s where it was shown that a turn waits: it is not in the queue any
// more.
func (n *notices) over(turn int64, s chat.Sign) {
	if t, ok := n.leave(turn); ok {
		n.signals.Sign(t, s, nil)
	}
}

// changed has the messages changed that tell of a turn which is not in the
// queue any more. The ledger has noted what they are now.
func (n *notices) changed(ctx context.Context, turn int64) {
	t, err := n.turns.TurnByID(ctx, turn)
	if err != nil { // they are changed a little later
		n.log.DebugContext(ctx, "place of a turn not found", "turn", turn, "err", err)
		return
	}
	n.voice.Wake(t.Place)
}

// took shows that the words of t went to the turn that runs.
func (n *notices) took(t chat.Turn) {
	n.leave(t.ID)
	if n.form == NoticeReaction {
		n.signals.Sign(t, chat.SignSteered, nil)
	}
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
		w.notices.over(turn, chat.SignNone)
		w.notices.changed(ctx, turn)
	}
	return err
}
