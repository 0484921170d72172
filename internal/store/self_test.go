package store

import (
	"testing"

	"cligate/internal/chat"
)

// The ids of one bot must not be taken for those of another that has the same
// name in the configuration.
func TestAnotherBotUnderTheSameNameBeginsToCountAnew(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	identify := func(self string, want bool) {
		t.Helper()
		if changed := ok[bool](t)(l.Places().Identify(ctx, "bot", self)); changed != want {
			t.Errorf("%s: changed %v", self, changed)
		}
	}
	m := message(1)
	m.Ref = chat.Ref{ID: "5000", Chat: m.Place.Chat, Num: 5000}
	group := message(2)
	group.Place.Chat, group.Place.Space, group.Place.Direct = newGroup, newGroup, false
	group.Ref = chat.Ref{ID: "70", Chat: newGroup, Num: 70}
	ms := []chat.Inbound{m, group}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "100", ms))
	identify("111", false) // it was not known: nothing is forgotten
	if c := ok[string](t)(l.Inbox().Cursor(ctx, "bot")); c != "100" {
		t.Errorf("cursor %q", c)
	}
	doubtful := l.post(ms[0], "doubtful")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, doubtful.ID))
	edit := chat.Out{Key: "edit", Place: ms[0].Place, Class: chat.OutProgress, Op: chat.OpEdit, Target: chat.Ref{ID: "4999", Chat: m.Place.Chat}}
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{edit}))
	identify("111", false)
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, doubtful.ID)); u == nil || u.Since != 5000 {
		t.Errorf("the same bot: %+v", u)
	}

	identify("222", true)
	identify("222", false)
	if c := ok[string](t)(l.Inbox().Cursor(ctx, "bot")); c != "" {
		t.Errorf("it goes on at %q of the other one", c)
	}
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, doubtful.ID)); u == nil || u.Since != 0 || len(u.Known) != 0 {
		t.Errorf("what another one sent is looked for among its own: %+v", u)
	}
	must(t, l.Outbox().Later(ctx, doubtful.ID, doubtful.DueAt, true, "")) // settled
	first := message(3)
	first.Ref = chat.Ref{ID: "3", Chat: first.Place.Chat, Num: 3}
	ms = []chat.Inbound{first}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "7", ms))
	o := l.post(ms[0], "own")
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	if u := ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID)); u == nil || u.Since != 3 {
		t.Errorf("its own ids are compared with those of the other one: %+v", u)
	}
	if n := l.count(`SELECT count(*) FROM outbox WHERE idem_key = 'edit' AND state = 'dropped'`); n != 1 {
		t.Error("it is to change a message of the other one")
	}
	// A supergroup counts by itself, whoever writes there.
	if n := l.count(`SELECT coalesce(max(num), 0) FROM inbound WHERE space = ?`, newGroup); n != 70 {
		t.Errorf("highest number of the group is %d", n)
	}
}
