package store

import (
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestEventKeyIsStoredOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := []chat.Inbound{message(1), message(2), message(1)}
	recs := ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "cursor-3", ms))
	if !recs[0].Fresh || !recs[1].Fresh || recs[2].Fresh || recs[2].ID != recs[0].ID {
		t.Fatalf("records %+v", recs)
	}
	if ms[0].Place.ID == 0 || ms[0].Conversation == 0 || ms[0].Conversation != ms[1].Conversation {
		t.Errorf("place and conversation are not set: %+v", ms)
	}
	again := []chat.Inbound{message(2)}
	if recs = ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", again)); recs[0].Fresh {
		t.Error("a redelivered event is fresh")
	}
	if c := ok[string](t)(l.Inbox().Cursor(ctx, "bot")); c != "cursor-3" {
		t.Errorf("cursor %q", c)
	}
	if c := ok[string](t)(l.Inbox().Cursor(ctx, "other")); c != "" {
		t.Errorf("cursor of an unknown account %q", c)
	}
	other := message(1) // the same key on another account is another event
	if recs = ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot2", "", []chat.Inbound{other})); !recs[0].Fresh {
		t.Error("accounts share event keys")
	}
}

func TestStoredMessageComesBackAsItWas(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	m := message(7)
	m.Text, m.Quote, m.Pairing = "<b>&\x00\u2028 漢字 👩‍👩‍👧", "quoted", "SECRET-CODE"
	m.Files = []chat.FileRef{{ID: "f", Name: "a.txt", Size: 3}}
	ok[[]chat.Recorded](t)(l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{m}))
	got := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(t.Context(), 10))
	if len(got) != 1 {
		t.Fatalf("%d rows", len(got))
	}
	g := got[0]
	if g.Text != m.Text || g.Quote != m.Quote || len(g.Files) != 1 || string(g.Raw) != string(m.Raw) || g.Role != m.Role {
		t.Errorf("got %+v", g)
	}
	if g.Pairing != "" {
		t.Error("the pairing code was stored")
	}
	if g.State != chat.InboundNew || g.Sender != m.Sender || !g.SentAt.Equal(m.SentAt) || time.Since(g.At) > time.Minute {
		t.Errorf("got %+v", g)
	}
}

func TestPlaceHasOneConversation(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	renamed := message(2)
	renamed.Place.Title, renamed.Place.Space = "new name", "other"
	thread := message(3)
	thread.Place.Thread = "t"
	ms := []chat.Inbound{renamed, thread}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	if ms[0].Place.ID != m.Place.ID || ms[0].Conversation != m.Conversation {
		t.Error("a renamed chat became another place")
	}
	if ms[1].Conversation == m.Conversation {
		t.Error("threads share a conversation")
	}
	p := ok[chat.Place](t)(l.Places().PlaceByID(ctx, m.Place.ID))
	if p.Title != "new name" || p.Space != "other" {
		t.Errorf("place %+v", p)
	}
	same, conv, err := l.Places().Ensure(ctx, message(9).Place)
	if err != nil || same != p || conv != m.Conversation {
		t.Errorf("ensured %+v %d, %v", same, conv, err)
	}
}

func TestParkedChatWaitsUntilItSpeaks(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "k", Place: m.Place, Class: chat.OutNotice}}))
	must(t, l.Outbox().Park(ctx, m.Place.Channel(), "blocked"))
	if cs := ok[[]string](t)(l.Outbox().Channels(ctx)); len(cs) != 0 {
		t.Errorf("channels %v", cs)
	}
	_, err := l.Outbox().NextOut(ctx, m.Place.Channel())
	wantCode(t, err, chat.Missing)
	left := message(2)
	left.Kind = chat.KindLeft
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{left}))
	if cs := ok[[]string](t)(l.Outbox().Channels(ctx)); len(cs) != 0 {
		t.Error("leaving unparked the chat")
	}
	other := message(3) // any thread of the chat proves that it can be reached
	other.Place.Thread = "t"
	l.say(1) // a redelivery proves nothing
	if cs := ok[[]string](t)(l.Outbox().Channels(ctx)); len(cs) != 0 {
		t.Error("a redelivery unparked the chat")
	}
	joined := message(4)
	joined.Kind = chat.KindJoined
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{joined}))
	if cs := ok[[]string](t)(l.Outbox().Channels(ctx)); len(cs) != 1 || cs[0] != "bot/c1" {
		t.Errorf("channels %v", cs)
	}
}

func TestSettledMessageKeepsItsEnd(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2)
	out := chat.Out{Key: "told", Place: ms[0].Place, Class: chat.OutNotice}
	must(t, l.Inbox().Settle(ctx, []int64{ms[0].ID}, chat.InboundAsked, chat.CodeNone, nil))
	if aged := ok[[]chat.Inbound](t)(l.Inbox().Aged(ctx, ms[0].Place.ID)); len(aged) != 1 || aged[0].ID != ms[0].ID {
		t.Errorf("aged %+v", aged)
	}
	must(t, l.Inbox().Settle(ctx, []int64{ms[0].ID}, chat.InboundExpired, chat.CodeNone, []chat.Out{out}))
	must(t, l.Inbox().Settle(ctx, []int64{ms[0].ID}, chat.InboundDone, chat.CodeNone, []chat.Out{out}))
	got := ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", "1"))
	if got.State != chat.InboundExpired || !got.Ended {
		t.Errorf("fate %+v", got)
	}
	if un := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(ctx, 10)); len(un) != 1 || un[0].ID != ms[1].ID {
		t.Errorf("unrouted %+v", un)
	}
}

func TestEditReachesOnlyWhatIsQueued(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2)
	s := l.session(ms[0])
	q := l.turn(s, ms...)
	place := ms[0].Place.ID
	if id := ok[int64](t)(l.Inbox().Revise(ctx, place, "2", chat.Message{Text: "better"})); id != q.ID {
		t.Errorf("revised turn %d", id)
	}
	got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID))
	if got.Input.Text() != "text 1\n\nbetter" {
		t.Errorf("input %q", got.Input.Text())
	}
	ok[int64](t)(l.Inbox().Recall(ctx, place, "1"))
	if got = ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.Input.Text() != "better" || got.State != chat.TurnQueued {
		t.Errorf("turn %+v", got)
	}
	_, err := l.Inbox().Recall(ctx, place, "1")
	wantCode(t, err, chat.Missing)
	ok[int64](t)(l.Inbox().Recall(ctx, place, "2"))
	if got = ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.State != chat.TurnWithdrawn {
		t.Errorf("an empty turn is %s", got.State)
	}
	for _, n := range []string{"1", "2"} {
		if f := ok[chat.Fate](t)(l.WebChats().FateOf(ctx, "bot", "c1", n)); f.State != chat.InboundWithdrawn || !f.Ended {
			t.Errorf("message %s: %+v", n, f)
		}
	}

	_, q, _ = l.running(3)
	_, err = l.Inbox().Revise(ctx, q.Place.ID, "3", chat.Message{Text: "too late"})
	wantCode(t, err, chat.Missing)
	_, err = l.Inbox().Revise(ctx, q.Place.ID, "nothing", chat.Message{Text: "x"})
	wantCode(t, err, chat.Missing)
}

func TestAMessageUnderAnotherIdIsStoredOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	one := message(1)
	one.Twin = "same"
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{one}))
	again := message(2)
	again.Twin, again.Place.Thread = "same", "a new topic"
	same, other, elsewhere := message(1), message(3), message(4)
	same.Twin, other.Twin = "same", "another time"
	ms := []chat.Inbound{again, same, other}
	recs := ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	if recs[0].Fresh || !recs[0].Twin || recs[0].ID == 0 || recs[1].Fresh || recs[1].Twin || !recs[2].Fresh {
		t.Errorf("records %+v", recs)
	}
	if ms[0].Place.Thread != "" || ms[0].Conversation != ms[1].Conversation {
		t.Errorf("a place was made for it: %+v", ms[0].Place)
	}
	elsewhere.Twin = "same"
	if recs = ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot2", "", []chat.Inbound{elsewhere})); !recs[0].Fresh {
		t.Error("accounts share twins")
	}
}

func TestAMessageIsKnownAMonthLater(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	l := openIn(t, Config{Dir: t.TempDir(), Ballast: -1, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	ctx := t.Context()
	m := message(1)
	m.Twin = "same"
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{m}))
	for day := range 31 { // whatever is tidied up on the way
		now.Add(int64(24 * time.Hour))
		ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{message(10 + day)}))
	}
	under := message(2)
	under.Twin = "same"
	if recs := ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{message(1), under})); recs[0].Fresh || recs[1].Fresh || !recs[1].Twin {
		t.Errorf("records %+v", recs)
	}
}

func TestTheAuthorOfAMessageIsFoundByItsIdAlone(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := message(1)
	m.Place.Thread, m.Ref.ID, m.Sender = "t", "om_1", chat.Person{ID: "7", Name: "Mia"}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{message(2), m}))
	p, by, err := l.Places().Author(ctx, "bot", "om_1")
	if err != nil || p.Thread != "t" || by.ID != "7" || by.Name != "Mia" {
		t.Errorf("%+v %+v, %v", p, by, err)
	}
	for _, c := range [][2]string{{"bot", "om_2"}, {"bot2", "om_1"}} {
		_, _, err := l.Places().Author(ctx, c[0], c[1])
		wantCode(t, err, chat.Missing)
	}
}
