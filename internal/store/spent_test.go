package store

import (
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestFiguresOfTurnsAddUp(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	begin := time.Now()
	if u := ok[chat.Usage](t)(l.Books().Spent(ctx, 0, time.Time{})); u != (chat.Usage{}) {
		t.Errorf("before anything: %+v", u)
	}
	s, first, a := l.running(1)
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: first.ID, Attempt: a.ID, State: chat.TurnSucceeded, Usage: chat.Usage{In: 100, Out: 7, CostUSD: 0.25, Took: time.Second}}))
	next := l.turn(s, l.say(2)...)
	b := ok[chat.Attempt](t)(l.Runs().Claim(ctx, next.ID, chat.AttemptSent))
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: next.ID, Attempt: b.ID, State: chat.TurnStopped, Reason: chat.Stopped, Usage: chat.Usage{In: 50}}))
	l.turn(s, l.say(3)...) // one that has not run
	side := l.session(l.say(4)[0])
	want := chat.Usage{In: 150, Out: 7, CostUSD: 0.25}
	for name, c := range map[string]struct {
		session int64
		since   time.Time
		want    chat.Usage
	}{
		"of the session":   {s.ID, time.Time{}, want},
		"of all":           {0, time.Time{}, want},
		"of all, since":    {0, begin, want},
		"of another":       {side.ID, time.Time{}, chat.Usage{}},
		"later than these": {0, time.Now().Add(time.Hour), chat.Usage{}},
	} {
		if got := ok[chat.Usage](t)(l.Books().Spent(ctx, c.session, c.since)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
