package store

import (
	"testing"

	"cligate/internal/chat"
)

func TestWordsThatARunningTurnTookBelongToIt(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, run, _ := l.running(1)
	ms := l.say(2)
	q := l.turn(s, ms...)
	must(t, l.Turns().Offer(ctx, q.ID))
	wantCode(t, l.Turns().Offer(ctx, q.ID), chat.Conflict)
	// Neither [Run] nor a stop touches what is on its way to the agent.
	ok[int](t)(l.Turns().Hold(ctx, s.ID))
	if n := ok[int](t)(l.Turns().Release(ctx, s.ID)); n != 0 {
		t.Errorf("%d released", n)
	}
	must(t, l.Turns().Join(ctx, q.ID, run.ID, nil))
	if got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.State != chat.TurnWithdrawn {
		t.Errorf("turn %s", got.State)
	}
	got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, run.ID))
	if len(got.Input.Pieces) != len(run.Input.Pieces)+len(q.Input.Pieces) {
		t.Errorf("input %+v", got.Input)
	}
	of := ok[chat.Turn](t)(l.History().TurnOfMessage(ctx, q.Place.ID, ms[0].Ref.ID))
	if of.ID != run.ID {
		t.Errorf("the message belongs to turn %d", of.ID)
	}
	wantCode(t, l.Turns().Join(ctx, q.ID, run.ID, nil), chat.Conflict)
}

func TestWordsThatMayHaveReachedATurnAreHeldAfterARestart(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, _, _ := l.running(1)
	q := l.turn(s, l.say(2)...)
	back := l.turn(s, l.say(3)...)
	must(t, l.Turns().Offer(ctx, q.ID))
	must(t, l.Turns().Offer(ctx, back.ID))
	must(t, l.Turns().Return(ctx, back.ID))
	wantCode(t, l.Turns().Return(ctx, back.ID), chat.Conflict)
	left := ok[[]chat.Turn](t)(l.Turns().Undecided(ctx))
	if len(left) != 1 || left[0].ID != q.ID || !left[0].Held {
		t.Fatalf("undecided %+v", left)
	}
	if again := ok[[]chat.Turn](t)(l.Turns().Undecided(ctx)); len(again) != 0 {
		t.Errorf("again %+v", again)
	}
	if n := ok[int](t)(l.Turns().Release(ctx, s.ID)); n != 1 {
		t.Errorf("%d released", n)
	}
}
