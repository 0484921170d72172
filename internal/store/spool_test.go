package store

import (
	"slices"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestFilesOfTheSpoolAreNeededWhileTheirRowsAreOpen(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	m := l.say(1)[0]
	box := l.Outbox()
	now := time.Now()
	for _, name := range []string{"open", "sent", "dead", "words"} {
		must(t, box.Enqueue(t.Context(), []chat.Out{{Key: name, Place: m.Place, Class: chat.OutFinal, Op: chat.OpPost,
			Part: chat.Part{Text: "x", File: &chat.OutFile{Name: "a", Spool: name, Size: 3}}}}))
	}
	must(t, box.Enqueue(t.Context(), []chat.Out{{Key: "plain", Place: m.Place, Class: chat.OutFinal, Op: chat.OpPost, Part: chat.Part{Text: "x"}}}))
	id := func(key string) int64 {
		return ok[int64](t)(first(t.Context(), l.readers, value[int64], `SELECT id FROM outbox WHERE idem_key = ?`, key))
	}
	must(t, box.Sent(t.Context(), id("sent"), chat.Ref{ID: "1"}))
	must(t, box.Bury(t.Context(), id("dead"), chat.OutDead, "no"))
	must(t, box.Replace(t.Context(), id("words"), chat.Part{Text: "it lies there"}))
	for account, want := range map[string][]string{
		"nobody":        {"open"},
		m.Place.Account: {"dead", "open", "sent"},
	} {
		got := ok[[]string](t)(box.Spooled(t.Context(), account, now.Add(-time.Hour)))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", account, got, want)
		}
	}
	if got := ok[[]string](t)(box.Spooled(t.Context(), m.Place.Account, now.Add(time.Hour))); !slices.Equal(got, []string{"open"}) {
		t.Errorf("long after: %q", got)
	}
	o := ok[chat.Out](t)(box.NextOut(t.Context(), m.Place.Channel()))
	if f := o.Part.File; f == nil || f.Spool != "open" || f.Size != 3 {
		t.Errorf("read %+v", f)
	}
}

func TestAgentOfASessionIsBriefedOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	m := l.say(1)[0]
	s := ok[chat.Session](t)(l.Sessions().StartSession(t.Context(), chat.NewSession{Conversation: m.Conversation, Agent: "a", Workspace: "/w"}))
	for _, told := range []bool{false, true, false} {
		must(t, l.Sessions().Briefed(t.Context(), s.ID, told))
		if now := ok[chat.Session](t)(l.Sessions().SessionByID(t.Context(), s.ID)); now.Briefed != told {
			t.Errorf("briefed %v, want %v", now.Briefed, told)
		}
	}
	must(t, l.Sessions().Briefed(t.Context(), s.ID, true))
	next := ok[chat.Session](t)(l.Sessions().Lose(t.Context(), s.ID))
	if next.Briefed {
		t.Error("a successor was told before it began")
	}
}
