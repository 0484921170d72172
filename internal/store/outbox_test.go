package store

import (
	"slices"
	"testing"
	"time"

	"cligate/internal/chat"
)

// post queues a message to the place of m and returns its row.
func (l *ledger) post(m chat.Inbound, key string) chat.Out {
	l.t.Helper()
	must(l.t, l.Outbox().Enqueue(l.t.Context(), []chat.Out{{Key: key, Place: m.Place, Class: chat.OutNotice, Op: chat.OpPost, Part: chat.Part{Text: key}}}))
	return ok[chat.Out](l.t)(l.Outbox().NextOut(l.t.Context(), m.Place.Channel()))
}

func TestKeyIsQueuedOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	l.post(m, "a")
	l.post(m, "a")
	if c := ok[Counts](t)(l.Books().Counts(ctx)); c.Outbox != 1 {
		t.Errorf("%d rows", c.Outbox)
	}
	err := l.Outbox().Enqueue(ctx, []chat.Out{{Key: "b", Place: m.Place}, {Key: "c", Place: chat.Place{ID: 99}}})
	wantCode(t, err, chat.Missing)
	if c := ok[Counts](t)(l.Books().Counts(ctx)); c.Outbox != 1 {
		t.Errorf("half of a refused call was stored: %d rows", c.Outbox)
	}
}

func TestRowsOfOneTurnAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	row := func(key string) chat.Out {
		return chat.Out{Key: key, Place: q.Place, Turn: q.ID, Seq: 1, Class: chat.OutFinal}
	}
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{row("a"), row("b")}))
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{row("c")}))
	for i, key := range []string{"a", "b", "c"} {
		o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
		if o.Key != key || o.Seq != i+1 {
			t.Errorf("row %+v, want %s with number %d", o, key, i+1)
		}
		ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
		must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: key}))
	}
}

func TestDoubtfulRowComesFirstAndKnowsItsIdSpace(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(10)[0]
	sent := l.post(m, "sent")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, sent.ID))
	must(t, l.Outbox().Sent(ctx, sent.ID, chat.Ref{ID: "12", Num: 12}))
	o := l.post(m, "doubtful")
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u != nil {
		t.Fatalf("a first try is unsure: %+v", u)
	}
	// After the intent: an older and two newer messages of people, one of our
	// own to another chat of the same space, a click on the doubtful message
	// itself, and one in another space.
	l.say(11, 15)
	other, click, foreign := message(16), message(13), message(14)
	other.Place.Chat = "c2"
	click.Kind = chat.KindClick
	foreign.Place.Chat, foreign.Place.Space = "g", "group"
	ms := []chat.Inbound{other, click, foreign}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	ours := l.post(ms[0], "ours")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, ours.ID))
	must(t, l.Outbox().Sent(ctx, ours.ID, chat.Ref{ID: "17", Num: 17}))

	must(t, l.Outbox().Later(ctx, o.ID, time.Now().Add(time.Hour), false, "no answer"))
	l.post(m, "next")
	next := ok[chat.Out](t)(l.Outbox().NextOut(ctx, m.Place.Channel()))
	if next.ID != o.ID || next.State != chat.OutSending || next.Tries != 1 {
		t.Fatalf("next is %+v", next)
	}
	u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	if u == nil || u.Since != 12 || !slices.Equal(u.Known, []int64{15, 16, 17}) {
		t.Errorf("unsure %+v", u)
	}
	// Once it is certain that it did not arrive, the next try is a first one.
	must(t, l.Outbox().Later(ctx, o.ID, time.Now(), true, "refused"))
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u != nil {
		t.Errorf("unsure %+v", u)
	}
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u == nil || u.Since != 17 || len(u.Known) != 0 {
		t.Errorf("unsure %+v", u)
	}
}

func TestUnorderedIdsAreNotListed(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := message(1)
	m.Place.Space = ""
	ms := []chat.Inbound{m}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	o := l.post(ms[0], "k")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u == nil || u.Since != 0 || u.Known != nil {
		t.Errorf("unsure %+v", u)
	}
}

func TestListOfKnownNumbersIsBounded(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	o := l.post(m, "k")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	ms := make([]chat.Inbound, 300)
	for i := range ms {
		ms[i] = message(2 + i)
	}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	if len(u.Known) != 200 || u.Known[0] != 2 || u.Known[199] != 201 {
		t.Errorf("%d known: %v", len(u.Known), u.Known)
	}
}

func TestReceiptIsKeptWhateverBecameOfTheRow(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	o := l.post(m, "k")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	must(t, l.Outbox().Bury(ctx, o.ID, chat.OutDropped, "overtaken"))
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "5"}))
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "6"})) // known already
	got := ok[chat.Out](t)(l.WebChats().OutByID(ctx, o.ID))
	if got.State != chat.OutSent {
		t.Errorf("row %+v", got)
	}
	if ls := ok[[]chat.Line](t)(l.WebChats().Tail(ctx, "bot", "c1", chat.Mark{}, 9)); len(ls) != 2 || ls[1].Ref.ID != "5" {
		t.Errorf("lines %+v", ls)
	}
}

func TestClosedRowDoesNotMove(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	o := l.post(m, "k")
	must(t, l.Outbox().Replace(ctx, o.ID, chat.Part{Text: "plain"}))
	if got := ok[chat.Out](t)(l.Outbox().NextOut(ctx, m.Place.Channel())); got.Part.Text != "plain" {
		t.Errorf("row %+v", got)
	}
	wantCode(t, l.Outbox().Bury(ctx, o.ID, chat.OutSent, ""), chat.Invalid)
	must(t, l.Outbox().Bury(ctx, o.ID, chat.OutDead, "chat not found"))
	wantCode(t, l.Outbox().Bury(ctx, o.ID, chat.OutDead, "again"), chat.Conflict)
	wantCode(t, l.Outbox().Replace(ctx, o.ID, chat.Part{}), chat.Conflict)
	wantCode(t, l.Outbox().Later(ctx, o.ID, time.Now(), true, ""), chat.Conflict)
	_, err := l.Outbox().Sending(ctx, o.ID)
	wantCode(t, err, chat.Conflict)
	_, err = l.Outbox().Sending(ctx, 999)
	wantCode(t, err, chat.Missing)
	ds := ok[[]DeadLetter](t)(l.Books().DeadLetters(ctx, 10))
	if len(ds) != 1 || ds[0].Ref != o.ID || ds[0].Kind != "outbox" || ds[0].Reason != "chat not found" {
		t.Errorf("dead letters %+v", ds)
	}
}

func TestLiveMessageOfATurnIsFound(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "live", Place: q.Place, Turn: q.ID, Class: chat.OutProgress, Op: chat.OpPost}}))
	_, err := l.Outbox().Shown(ctx, q.ID)
	wantCode(t, err, chat.Missing)
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "9", Extra: "card"}))
	if ref := ok[chat.Ref](t)(l.Outbox().Shown(ctx, q.ID)); ref.ID != "9" || ref.Extra != "card" {
		t.Errorf("ref %+v", ref)
	}
	if got := ok[chat.Turn](t)(l.History().TurnOfMessage(ctx, q.Place.ID, "9")); got.ID != q.ID {
		t.Errorf("turn of our message: %+v", got)
	}
	if got := ok[chat.Turn](t)(l.History().TurnOfMessage(ctx, q.Place.ID, "1")); got.ID != q.ID {
		t.Errorf("turn of their message: %+v", got)
	}
	_, err = l.History().TurnOfMessage(ctx, q.Place.ID, "404")
	wantCode(t, err, chat.Missing)
	if ls := ok[[]chat.Line](t)(l.History().Lines(ctx, q.Conversation, time.Time{}, 9)); len(ls) != 1 {
		t.Errorf("a live message is a line: %+v", ls)
	}
}
