package store

import (
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

func TestADoubtfulRowKnowsWhenItWasFirstTried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
		must(t, err)
		l := &ledger{DB: db, t: t}
		ctx := t.Context()
		o := l.post(l.say(1)[0], "a")
		time.Sleep(time.Hour)
		began := time.Now()
		ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
		for range 2 { // a later try does not make it younger
			time.Sleep(time.Hour)
			must(t, l.Outbox().Later(ctx, o.ID, time.Now(), false, "no answer"))
			if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u == nil || u.At.Sub(began).Abs() > time.Second {
				t.Errorf("unsure %+v, want since %v", u, began)
			}
		}
		must(t, l.Outbox().Later(ctx, o.ID, time.Now(), true, "did not arrive"))
		ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
		if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u == nil || time.Since(u.At).Abs() > time.Second {
			t.Errorf("unsure %+v", u)
		}
		must(t, db.Close())
	})
}

// live queues the live message of a turn, and sends it.
func (l *ledger) live(q chat.Turn, key string) chat.Ref {
	l.t.Helper()
	ctx, ref := l.t.Context(), chat.Ref{ID: key, Extra: `{"card":"` + key + `"}`}
	must(l.t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: key, Place: q.Place, Turn: q.ID, Class: chat.OutProgress, Op: chat.OpPost}}))
	for {
		o := ok[chat.Out](l.t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
		ok[*chat.Unsure](l.t)(l.Outbox().Sending(ctx, o.ID))
		must(l.t, l.Outbox().Sent(ctx, o.ID, ref))
		if o.Key == key {
			return ref
		}
	}
}

func TestALiveMessageThatWasClosedByNameIsNotTheTurnsAnyMore(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	first := l.live(q, "first")
	if got := ok[chat.Ref](t)(l.Outbox().Shown(ctx, q.ID)); got != first {
		t.Errorf("shown %+v", got)
	}
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "close", Place: q.Place, Turn: q.ID, Class: chat.OutFinal, Op: chat.OpFinish, Target: first}}))
	_, err := l.Outbox().Shown(ctx, q.ID)
	wantCode(t, err, chat.Missing)
	second := l.live(q, "second")
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "final", Place: q.Place, Turn: q.ID, Class: chat.OutFinal, Op: chat.OpFinish}}))
	if got := ok[chat.Ref](t)(l.Outbox().Shown(ctx, q.ID)); got != second {
		t.Errorf("shown %+v", got)
	}
}

func TestOnlyLiveMessagesThatNobodyIsGoingToEndAreEnded(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	ref := l.live(q, "live")
	part := chat.Part{Text: "restarted", Keep: true}
	open := func() int { return ok[Counts](t)(l.Books().Counts(ctx)).Outbox }
	must(t, l.Outbox().Loose(ctx, "bot", part))
	if open() != 0 {
		t.Error("that of a running turn is ended")
	}
	must(t, l.Runs().Requeue(ctx, q.ID))
	must(t, l.Outbox().Loose(ctx, "other", part))
	if open() != 0 {
		t.Error("that of another account is ended")
	}
	for range 2 {
		must(t, l.Outbox().Loose(ctx, "bot", part))
	}
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
	if open() != 1 || o.Op != chat.OpFinish || o.Target != ref || o.Part.Text != "restarted" || !o.Part.Keep {
		t.Errorf("%d rows, first %+v", open(), o)
	}
}

func TestTheEndOfALiveMessageIsSaidLikeAMessage(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	row := func(key string, c chat.OutClass, op chat.Op) chat.Out {
		return chat.Out{Key: key, Place: m.Place, Class: c, Op: op, Part: chat.Part{Text: key}}
	}
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{row("edit", chat.OutAsk, chat.OpEdit), row("line", chat.OutProgress, chat.OpFinish), row("answer", chat.OutFinal, chat.OpFinish)}))
	ls := ok[[]chat.Line](t)(l.History().Lines(ctx, m.Conversation, time.Time{}, 10))
	if len(ls) != 2 || ls[1].Text != "answer" {
		t.Errorf("lines %+v", ls)
	}
}
