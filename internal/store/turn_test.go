package store

import (
	"context"
	"testing"

	"cligate/internal/chat"
)

func TestMessageBelongsToOneTurn(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2)
	s := l.session(ms[0])
	l.turn(s, ms[0])
	n := chat.NewTurn{Conversation: s.Conversation, Session: s.ID, Place: ms[0].Place, Inbound: []int64{ms[1].ID, ms[0].ID}}
	_, err := l.Turns().NewTurn(ctx, n)
	wantCode(t, err, chat.Conflict)
	// Nothing of the refused turn remains: its other message is still new.
	if un := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(ctx, 10)); len(un) != 1 || un[0].ID != ms[1].ID {
		t.Errorf("unrouted %+v", un)
	}
	if qs := ok[[]chat.Turn](t)(l.Turns().Queued(ctx, s.ID)); len(qs) != 1 {
		t.Errorf("%d turns are queued", len(qs))
	}
	n.Inbound, n.Cause = nil, ms[1].ID
	ok[chat.Turn](t)(l.Turns().NewTurn(ctx, n))
	_, err = l.Turns().NewTurn(ctx, n)
	wantCode(t, err, chat.Conflict)
	must(t, l.Inbox().Settle(ctx, []int64{ms[1].ID}, chat.InboundDone, chat.CodeNone, nil))
	n.Inbound, n.Cause = []int64{ms[1].ID}, 0
	_, err = l.Turns().NewTurn(ctx, n)
	wantCode(t, err, chat.Conflict)
}

func TestQueueStartsInOrder(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2, 3)
	s := l.session(ms[0])
	first, second := l.turn(s, ms[0]), l.turn(s, ms[1])
	side := l.session(ms[0])
	after := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{
		Conversation: s.Conversation, Session: side.ID, Place: ms[2].Place, Inbound: []int64{ms[2].ID}, After: second.ID,
	}))
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, s.ID)); q.ID != first.ID {
		t.Errorf("next is %d", q.ID)
	}
	_, err := l.Turns().NextTurn(ctx, side.ID)
	wantCode(t, err, chat.Missing)
	if ids := ok[[]int64](t)(l.Turns().WaitingSessions(ctx)); len(ids) != 1 || ids[0] != s.ID {
		t.Errorf("waiting sessions %v", ids)
	}
	if n := ok[int](t)(l.Turns().Hold(ctx, s.ID)); n != 2 {
		t.Errorf("%d turns are held", n)
	}
	_, err = l.Turns().NextTurn(ctx, s.ID)
	wantCode(t, err, chat.Missing)
	// A turn that is held does not hold up what waits for it.
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, side.ID)); q.ID != after.ID {
		t.Errorf("next is %d", q.ID)
	}
	if n := ok[int](t)(l.Turns().Release(ctx, s.ID)); n != 2 {
		t.Errorf("%d turns were released", n)
	}
	must(t, l.Turns().Withdraw(ctx, first.ID, nil))
	wantCode(t, l.Turns().Withdraw(ctx, first.ID, nil), chat.Conflict)
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, s.ID)); q.ID != second.ID {
		t.Errorf("next is %d", q.ID)
	}
}

// A turn that waits for one of another session has its place in its own: what
// was said later does not start before it.
func TestWhatWaitsForAnotherSessionIsNotOvertaken(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2, 3, 4)
	old, now := l.session(ms[0]), l.session(ms[0])
	first := l.turn(old, ms[0])
	waits := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{
		Conversation: now.Conversation, Session: now.ID, Place: ms[1].Place, Inbound: []int64{ms[1].ID}, After: first.ID,
	}))
	behind := l.turn(now, ms[2])
	_, err := l.Turns().NextTurn(ctx, now.ID)
	wantCode(t, err, chat.Missing)
	if ids := ok[[]int64](t)(l.Turns().WaitingSessions(ctx)); len(ids) != 1 || ids[0] != old.ID {
		t.Errorf("waiting sessions %v", ids)
	}
	must(t, l.Turns().Withdraw(ctx, first.ID, nil))
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, now.ID)); q.ID != waits.ID {
		t.Errorf("next is %d", q.ID)
	}
	must(t, l.Turns().Withdraw(ctx, waits.ID, nil))
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, now.ID)); q.ID != behind.ID {
		t.Errorf("next is %d", q.ID)
	}
}

func TestSessionHasOneActiveTurn(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, a := l.running(1)
	second := l.turn(s, l.say(2)...)
	_, err := l.Runs().Claim(ctx, second.ID, chat.AttemptClaimed)
	wantCode(t, err, chat.Conflict)
	_, _, err = l.Runs().Uninvited(ctx, s.ID, q.Place.ID)
	wantCode(t, err, chat.Conflict)
	_, err = l.Runs().Claim(ctx, q.ID, chat.AttemptClaimed)
	wantCode(t, err, chat.Conflict)
	// Not even by hand.
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE turn SET state = 'waiting' WHERE id = ?`, second.ID)
		return err
	})
	if !isTaken(err) {
		t.Fatalf("two active turns: %v", err)
	}
	if got := ok[chat.Turn](t)(l.Turns().Active(ctx, s.ID)); got.ID != q.ID || got.StartedAt.IsZero() {
		t.Errorf("active %+v", got)
	}
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnStopped, Reason: chat.Stopped}))
	b := ok[chat.Attempt](t)(l.Runs().Claim(ctx, second.ID, chat.AttemptReady))
	if b.No != 1 || b.State != chat.AttemptReady {
		t.Errorf("attempt %+v", b)
	}
}

func TestTurnEndsOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, a := l.running(1)
	must(t, l.Sessions().Bind(ctx, s.ID, "native", chat.Settings{Model: "m"}))
	e := chat.Ending{
		Turn: q.ID, Attempt: a.ID, State: chat.TurnFailed, Reason: chat.Quota,
		Outs: []chat.Out{{Key: "f1", Place: q.Place, Turn: q.ID, Class: chat.OutFinal}},
	}
	must(t, l.Runs().Finish(ctx, e))
	e.State, e.Reason, e.Outs[0].Key = chat.TurnSucceeded, chat.CodeNone, "f2"
	wantCode(t, l.Runs().Finish(ctx, e), chat.Conflict)
	got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID))
	if got.State != chat.TurnFailed || got.Reason != chat.Quota || got.EndedAt.IsZero() {
		t.Errorf("turn %+v", got)
	}
	if c := ok[Counts](t)(l.Books().Counts(ctx)); c.Outbox != 1 || c.Active != 0 {
		t.Errorf("counts %+v", c)
	}
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); got.NativeID != "native" || got.Model != "m" {
		t.Errorf("an empty native id overwrote the known one: %+v", got)
	}
	wantCode(t, l.Runs().Advance(ctx, a.ID, chat.AttemptSent, ""), chat.Conflict)
	wantCode(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, State: chat.TurnWaiting}), chat.Invalid)
	queued := l.turn(s, l.say(2)...)
	wantCode(t, l.Runs().Finish(ctx, chat.Ending{Turn: queued.ID, From: chat.TurnQueued, State: chat.TurnSucceeded}), chat.Invalid)
	wantCode(t, l.Runs().Finish(ctx, chat.Ending{Turn: queued.ID, State: chat.TurnFailed}), chat.Conflict)
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: queued.ID, From: chat.TurnQueued, State: chat.TurnFailed}))
}

func TestChoiceIsMadeOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, a := l.running(1)
	wantCode(t, l.Turns().Choose(ctx, q.ID, "retry"), chat.Conflict)
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnInterrupted}))
	must(t, l.Turns().Choose(ctx, q.ID, "retry"))
	wantCode(t, l.Turns().Choose(ctx, q.ID, "drop"), chat.Conflict)
	if got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.Choice != "retry" {
		t.Errorf("choice %q", got.Choice)
	}
}

func TestPromptThatTheAgentSawIsNotRequeued(t *testing.T) {
	t.Parallel()
	for state, again := range map[chat.AttemptState]bool{
		chat.AttemptClaimed: true, chat.AttemptReady: true, chat.AttemptIntent: false, chat.AttemptSent: false,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			l := openTest(t)
			ctx := t.Context()
			_, q, a := l.running(1)
			must(t, l.Runs().Advance(ctx, a.ID, state, "pid 7"))
			must(t, l.Runs().Advance(ctx, a.ID, "", ""))
			us := ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx))
			if len(us) != 1 || us[0].Turn.ID != q.ID || us[0].Attempt.State != state || us[0].Attempt.Runner != "pid 7" {
				t.Fatalf("unfinished %+v", us)
			}
			err := l.Runs().Requeue(ctx, q.ID)
			if !again {
				wantCode(t, err, chat.Conflict)
				return
			}
			must(t, err)
			if b := ok[chat.Attempt](t)(l.Runs().Claim(ctx, q.ID, chat.AttemptClaimed)); b.No != 2 {
				t.Errorf("attempt %+v", b)
			}
		})
	}
}

func TestUninvitedTurnAnswersWhereTheLastOneDid(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, a := l.running(1)
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnSucceeded}))
	u, b, err := l.Runs().Uninvited(ctx, s.ID, 0)
	must(t, err)
	if u.Origin != chat.OriginAgent || u.State != chat.TurnRunning || u.Place != q.Place || b.State != chat.AttemptSent {
		t.Errorf("turn %+v, attempt %+v", u, b)
	}
	_, _, err = l.Runs().Uninvited(ctx, 999, 0)
	wantCode(t, err, chat.Missing)
}
