package store

import (
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

func texts(ls []chat.Line) string {
	var all []string
	for _, l := range ls {
		all = append(all, l.Text)
	}
	return strings.Join(all, "|")
}

// answered says n and answers it.
func (l *ledger) answered(s chat.Session, n int, answer string) {
	l.t.Helper()
	q := l.turn(s, l.say(n)...)
	a := ok[chat.Attempt](l.t)(l.Runs().Claim(l.t.Context(), q.ID, chat.AttemptSent))
	must(l.t, l.Runs().Finish(l.t.Context(), chat.Ending{
		Turn: q.ID, Attempt: a.ID, State: chat.TurnSucceeded,
		Outs: []chat.Out{{Key: answer, Place: q.Place, Turn: q.ID, Class: chat.OutFinal, Part: chat.Part{Text: answer}}},
	}))
}

func TestHistoryIsInOrderAndPaged(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	s := l.session(m)
	must(t, l.Inbox().Settle(ctx, []int64{m.ID}, chat.InboundIgnored, chat.CodeNone, nil))
	l.answered(s, 2, "A")
	l.answered(s, 3, "B")
	l.say(4)
	if got := texts(ok[[]chat.Line](t)(l.History().Lines(ctx, m.Conversation, time.Time{}, 100))); got != "text 2|A|text 3|B|text 4" {
		t.Errorf("lines %s", got)
	}
	last := ok[[]chat.Line](t)(l.History().Lines(ctx, m.Conversation, time.Time{}, 2))
	if texts(last) != "B|text 4" {
		t.Errorf("last lines %s", texts(last))
	}
	if got := texts(ok[[]chat.Line](t)(l.History().Lines(ctx, m.Conversation, last[0].At, 2))); got != "A|text 3" {
		t.Errorf("lines before %s", got)
	}

	tail := ok[[]chat.Line](t)(l.WebChats().Tail(ctx, "bot", "c1", chat.Mark{}, 3))
	if texts(tail) != "text 3|B|text 4" || tail[1].Key != "B" || tail[0].Key != "event-3" {
		t.Errorf("tail %+v", tail)
	}
	older := ok[[]chat.Line](t)(l.WebChats().Tail(ctx, "bot", "c1", chat.Mark{Inbound: tail[0].Inbound, Outbox: tail[1].Outbox}, 9))
	if texts(older) != "text 2|A" {
		t.Errorf("older %s", texts(older))
	}
	since := ok[[]chat.Line](t)(l.WebChats().Since(ctx, "bot", "c1", chat.Mark{Inbound: older[0].Inbound, Outbox: older[1].Outbox}, 2))
	if texts(since) != "text 3|B" {
		t.Errorf("since %s", texts(since))
	}
	if ls := ok[[]chat.Line](t)(l.WebChats().Tail(ctx, "bot", "unknown", chat.Mark{}, 3)); len(ls) != 0 {
		t.Errorf("an unknown chat has lines: %+v", ls)
	}
}

func TestFateFollowsTheTurn(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, a := l.running(1)
	f := ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", "1"))
	if f.Turn != q.ID || f.Ended || f.As != chat.TurnRunning || f.State != chat.InboundTurn {
		t.Errorf("fate %+v", f)
	}
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnFailed}))
	if f = ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", "1")); !f.Ended || f.As != chat.TurnFailed {
		t.Errorf("fate %+v", f)
	}
	m := l.say(2)[0]
	if f = ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", "2")); f.Ended || f.Turn != 0 {
		t.Errorf("fate %+v", f)
	}
	caused := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{
		Conversation: q.Conversation, Session: q.Session, Place: q.Place, Cause: m.ID,
	}))
	must(t, l.Inbox().Settle(ctx, []int64{m.ID}, chat.InboundDone, chat.CodeNone, nil))
	if f = ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", "2")); f.Turn != caused.ID || f.Ended {
		t.Errorf("fate of a command %+v", f)
	}
	_, err := l.WebChats().FateOf(ctx, "bot", "c1", "404")
	wantCode(t, err, chat.Missing)
}

func TestLastUsedChatComesFirst(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	other := message(1)
	other.Place.Chat = "c2"
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{other}))
	l.say(2)
	ps := ok[[]chat.Place](t)(l.WebChats().WebChats(ctx, "bot", 10))
	if len(ps) != 2 || ps[0].Chat != "c1" || ps[1].Chat != "c2" {
		t.Errorf("chats %+v", ps)
	}
}
