package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
)

func question(q chat.Turn, key string) chat.Ask {
	return chat.Ask{
		Turn: q.ID, Session: q.Session, Place: q.Place, Asker: ann, Digest: "d-" + key,
		Question: chat.Question{Key: key, Kind: chat.AskApproval, Detail: "rm x", Options: []chat.Option{
			{ID: "n", Effect: chat.EffectDeny}, {ID: "y", Effect: chat.EffectAllow}, {ID: "s", Effect: chat.EffectSession},
		}},
		Expires: time.Now().Add(time.Hour),
	}
}

func card(q chat.Turn, key string) func(int64) []chat.Out {
	return func(int64) []chat.Out {
		return []chat.Out{{Key: key, Place: q.Place, Turn: q.ID, Class: chat.OutAsk, Op: chat.OpPost}}
	}
}

func decision(a chat.Ask, by chat.Person, role chat.Role, e chat.Effect) chat.Decision {
	return chat.Decision{Ask: a.ID, Place: a.Place, Role: role, Answer: chat.Answer{Option: "y", Effect: e, By: by}, At: time.Now()}
}

func TestAskingAgainFindsTheSameRow(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), card(q, "card")))
	if a.ID == 0 || a.State != chat.AskOpen || a.Question.Detail != "rm x" || a.Asker.Name != "Ann" || a.At.IsZero() {
		t.Fatalf("ask %+v", a)
	}
	if got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.State != chat.TurnWaiting {
		t.Errorf("turn is %s", got.State)
	}
	again := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), card(q, "card 2")))
	if again.ID != a.ID {
		t.Errorf("a second row: %+v", again)
	}
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
	if o.Ask != a.ID {
		t.Errorf("card %+v", o)
	}
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "77", Extra: "x"}))
	if got := ok[chat.Ask](t)(l.Asks().AskOfMessage(ctx, q.Place.ID, "77")); got.ID != a.ID {
		t.Errorf("ask of the message %+v", got)
	}
	_, err := l.Asks().AskOfMessage(ctx, q.Place.ID+1, "77")
	wantCode(t, err, chat.Missing)
	if refs := ok[[]chat.Ref](t)(l.Runs().AskMessages(ctx, a.ID)); len(refs) != 1 || refs[0].Extra != "x" {
		t.Errorf("refs %+v", refs)
	}
	if open := ok[[]chat.Ask](t)(l.Asks().OpenAsks(ctx, q.Place.ID)); len(open) != 1 {
		t.Errorf("open %+v", open)
	}
}

func TestAskThatIsOverOffersUntilItsMessageIsEdited(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), card(q, "card")))
	offering := func(want int) {
		t.Helper()
		if got := ok[[]chat.Ask](t)(l.Runs().Offering(ctx)); len(got) != want {
			t.Errorf("%d asks offer buttons, want %d", len(got), want)
		}
	}
	offering(0) // it is open
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, o.ID))
	ok[chat.Ask](t)(l.Asks().CloseAsk(ctx, a.ID, chat.AskExpired))
	offering(1) // its message may be on the platform
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "77"}))
	offering(1)
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{
		Key: "asked/1/1", Place: q.Place, Class: chat.OutNotice, Op: chat.OpEdit, Ask: a.ID, Target: chat.Ref{ID: "77"},
	}}))
	offering(0)
}

func TestDecisionIsTakenOnceFromWhoMay(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), nil))
	bob := chat.Person{ID: "bob"}

	elsewhere := decision(a, ann, chat.RoleOwner, chat.EffectAllow)
	elsewhere.Place.ID++
	late := decision(a, ann, chat.RoleMember, chat.EffectAllow)
	late.At = a.Expires
	for name, c := range map[string]struct {
		d    chat.Decision
		want chat.Code
	}{
		"a member about another's turn": {decision(a, bob, chat.RoleMember, chat.EffectAllow), chat.Denied},
		"nobody":                        {decision(a, chat.Person{}, chat.RoleOwner, chat.EffectAllow), chat.Denied},
		"another place":                 {elsewhere, chat.Denied},
		"too late":                      {late, chat.Expired},
		"no such ask":                   {chat.Decision{Ask: 999}, chat.Missing},
	} {
		if _, err := l.Asks().Decide(ctx, c.d); chat.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	click := message(5)
	click.Kind, click.Key = chat.KindClick, "click"
	ms := []chat.Inbound{click}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	d := decision(a, bob, chat.RoleOperator, chat.EffectAllow)
	d.Inbound = ms[0].ID
	got := ok[chat.Ask](t)(l.Asks().Decide(ctx, d))
	if got.State != chat.AskAnswered || got.Answer.By != bob {
		t.Errorf("ask %+v", got)
	}
	if un := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(ctx, 10)); len(un) != 0 {
		t.Errorf("the click is not settled: %+v", un)
	}
	got, err := l.Asks().Decide(ctx, decision(a, ann, chat.RoleMember, chat.EffectDeny))
	wantCode(t, err, chat.Conflict)
	if got.Answer.By != bob || got.Answer.Effect != chat.EffectAllow {
		t.Errorf("the refused decision does not say who decided: %+v", got)
	}
	got, err = l.Asks().CloseAsk(ctx, a.ID, chat.AskExpired)
	wantCode(t, err, chat.Conflict)
	if got.State != chat.AskAnswered {
		t.Errorf("ask %+v", got)
	}
}

func TestOnlyOneOfManyDecisionsWins(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(t.Context(), question(q, "k"), nil))
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := l.Asks().Decide(t.Context(), decision(a, ann, chat.RoleMember, chat.EffectAllow))
			if err == nil {
				won.Add(1)
			} else if chat.CodeOf(err) == chat.Conflict {
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 15 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

func TestSessionRuleAnswersTheExactRequest(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, attempt := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), nil))
	ok[chat.Ask](t)(l.Asks().Decide(ctx, decision(a, ann, chat.RoleMember, chat.EffectSession)))
	must(t, l.Asks().Resume(ctx, q.ID))
	same := question(q, "k2")
	same.Digest = a.Digest
	got := ok[chat.Ask](t)(l.Asks().Ask(ctx, same, card(q, "no card")))
	if got.State != chat.AskAnswered || got.Answer.Effect != chat.EffectAllow || got.Answer.Option != "y" || got.Answer.By.ID != ann.ID {
		t.Errorf("ask %+v", got)
	}
	if turn := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); turn.State != chat.TurnRunning {
		t.Errorf("turn is %s", turn.State)
	}
	if other := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k3"), nil)); other.State != chat.AskOpen {
		t.Errorf("another request was answered: %+v", other)
	}
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: attempt.ID, State: chat.TurnSucceeded}))
	_ = s
	_, q2, _ := l.running(2) // another session
	foreign := question(q2, "k")
	foreign.Digest = a.Digest
	if got := ok[chat.Ask](t)(l.Asks().Ask(ctx, foreign, nil)); got.State != chat.AskOpen {
		t.Errorf("the rule holds in another session: %+v", got)
	}
}

func TestEndOfTurnVoidsItsQuestions(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, attempt := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), card(q, "card")))
	must(t, l.Asks().Resume(ctx, q.ID)) // an ask is open: nothing happens
	if got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.State != chat.TurnWaiting {
		t.Errorf("turn is %s", got.State)
	}
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: q.ID, Attempt: attempt.ID, State: chat.TurnInterrupted, Reason: chat.DaemonDied}))
	got, err := l.Asks().Decide(ctx, decision(a, ann, chat.RoleMember, chat.EffectAllow))
	wantCode(t, err, chat.Expired)
	if got.State != chat.AskVoid {
		t.Errorf("ask %+v", got)
	}
	// A card that was not sent yet is not sent any more.
	_, err = l.Outbox().NextOut(ctx, q.Place.Channel())
	wantCode(t, err, chat.Missing)
	_, err = l.Asks().Ask(ctx, question(q, "k2"), nil)
	wantCode(t, err, chat.Conflict)
}

func TestPartialAnswersAreKeptByQuestion(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), nil))
	must(t, l.Asks().Fill(ctx, a.ID, chat.Answer{Values: map[string][]string{"q1": {"a"}}, By: ann}))
	must(t, l.Asks().Fill(ctx, a.ID, chat.Answer{Values: map[string][]string{"q2": {"b"}}}))
	must(t, l.Asks().Fill(ctx, a.ID, chat.Answer{Values: map[string][]string{"q1": {"c", "d"}}}))
	got := ok[chat.Ask](t)(l.Asks().AskByID(ctx, a.ID))
	if len(got.Answer.Values) != 2 || len(got.Answer.Values["q1"]) != 2 || got.Answer.By != ann || got.State != chat.AskOpen {
		t.Errorf("answer %+v", got.Answer)
	}
	ok[chat.Ask](t)(l.Asks().CloseAsk(ctx, a.ID, chat.AskExpired))
	wantCode(t, l.Asks().Fill(ctx, a.ID, chat.Answer{}), chat.Conflict)
}

func TestAnswerThatMayNotHaveArrivedIsFoundAtBoot(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	first := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "1"), nil))
	ok[chat.Ask](t)(l.Asks().Decide(ctx, decision(first, ann, chat.RoleMember, chat.EffectAllow)))
	must(t, l.Asks().Resume(ctx, q.ID))
	second := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "2"), nil))
	us := ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx))
	if len(us) != 1 || len(us[0].Asks) != 1 || us[0].Asks[0].ID != second.ID {
		t.Fatalf("unfinished %+v", us)
	}
	ok[chat.Ask](t)(l.Asks().Decide(ctx, decision(second, ann, chat.RoleMember, chat.EffectAllow)))
	us = ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx))
	if len(us[0].Asks) != 1 || us[0].Asks[0].ID != second.ID || us[0].Asks[0].State != chat.AskAnswered {
		t.Errorf("asks %+v", us[0].Asks)
	}
	third := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "3"), nil))
	if as := ok[[]chat.Ask](t)(l.Runs().Expiring(ctx, third.Expires)); len(as) != 0 {
		t.Errorf("expiring too early: %+v", as)
	}
	if as := ok[[]chat.Ask](t)(l.Runs().Expiring(ctx, third.Expires.Add(time.Second))); len(as) != 1 || as[0].ID != third.ID {
		t.Errorf("expiring %+v", as)
	}
}
