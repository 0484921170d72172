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

func TestWordsMeantInPlaceOfWhatRunsComeFirst(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, run, _ := l.running(1)
	waits := l.turn(s, l.say(2)...)
	m := l.say(3)[0]
	q := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{
		Conversation: m.Conversation, Session: s.ID, Place: m.Place, Inbound: []int64{m.ID}, Instead: true,
		Input: chat.Input{Pieces: []chat.Piece{{Inbound: m.ID, Text: m.Text}}},
	}))
	if all := ok[[]chat.Turn](t)(l.Turns().Queued(ctx, s.ID)); len(all) != 2 || all[0].ID != q.ID || all[1].ID != waits.ID || q.Held {
		t.Errorf("queued %+v", all)
	}
	us := ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx))
	if len(us) != 1 || us[0].Turn.ID != run.ID || us[0].Instead.ID != q.ID {
		t.Errorf("unfinished %+v", us)
	}
	must(t, l.Turns().Offer(ctx, q.ID)) // from here on they may have arrived: that is asked about
	if us := ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx)); us[0].Instead.ID != 0 {
		t.Errorf("unfinished %+v", us)
	}
	if left := ok[[]chat.Turn](t)(l.Turns().Undecided(ctx)); len(left) != 1 || left[0].ID != q.ID {
		t.Errorf("undecided %+v", left)
	}
	if next := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, s.ID)); next.ID != waits.ID {
		t.Errorf("next %+v", next)
	}
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
