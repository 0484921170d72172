package store

import (
	"testing"

	"cligate/internal/chat"
)

// next ends a turn and begins another in the given session.
func (l *ledger) next(s chat.Session, q chat.Turn, a chat.Attempt, n int) (chat.Turn, chat.Attempt) {
	l.t.Helper()
	must(l.t, l.Runs().Finish(l.t.Context(), chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnSucceeded}))
	q = l.turn(s, l.say(n)...)
	return q, ok[chat.Attempt](l.t)(l.Runs().Claim(l.t.Context(), q.ID, chat.AttemptIntent))
}

func TestStandingRuleHoldsInLaterSessionsOfTheConversationOnly(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, attempt := l.running(1)
	asked := func(q chat.Turn, key string) chat.Ask {
		t.Helper()
		a := question(q, key)
		a.Digest = "same"
		return ok[chat.Ask](t)(l.Asks().Ask(ctx, a, nil))
	}
	a := asked(q, "k")
	_, err := l.Asks().Decide(ctx, decision(a, ann, chat.RoleMember, chat.EffectAlways))
	wantCode(t, err, chat.Denied) // an operator's to give
	ok[chat.Ask](t)(l.Asks().Decide(ctx, decision(a, ann, chat.RoleOperator, chat.EffectAlways)))
	must(t, l.Asks().Resume(ctx, q.ID))

	rules := ok[[]chat.Rule](t)(l.Rules().Rules(ctx, s.Conversation, s.ID))
	if len(rules) != 1 || rules[0].Session != 0 || rules[0].Question.Detail != "rm x" || rules[0].By.Name != "Ann" {
		t.Fatalf("rules %+v", rules)
	}
	if n := ok[int64](t)(first(ctx, l.readers, value[int64], `SELECT count(*) FROM audit WHERE action = 'rule always'`)); n != 1 {
		t.Errorf("%d lines in the audit trail", n)
	}
	later := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{
		Conversation: s.Conversation, Agent: s.Agent, Workspace: s.Workspace,
	}))
	q, attempt = l.next(later, q, attempt, 2)
	if got := asked(q, "k2"); got.State != chat.AskAnswered || got.Answer.Option != "y" {
		t.Errorf("not answered in a later session: %+v", got)
	}
	for i, n := range []chat.NewSession{
		{Conversation: s.Conversation, Agent: "other", Workspace: s.Workspace},
		{Conversation: s.Conversation, Agent: s.Agent, Workspace: "/elsewhere"},
	} {
		one := ok[chat.Session](t)(l.Sessions().StartSession(ctx, n))
		q, attempt = l.next(one, q, attempt, 3+i)
		if got := asked(q, "k"); got.State != chat.AskOpen {
			t.Errorf("answered in %+v", n)
		}
	}
	wantCode(t, l.Rules().Drop(ctx, s.Conversation+1, rules[0].ID, ann), chat.Missing)
	must(t, l.Rules().Drop(ctx, s.Conversation, rules[0].ID, ann))
	q, _ = l.next(later, q, attempt, 9)
	if got := asked(q, "k"); got.State != chat.AskOpen {
		t.Error("a removed rule answers")
	}
}

func TestNothingButARequestForPermissionMakesARule(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, _ := l.running(1)
	plan := question(q, "k")
	plan.Question.Kind = chat.AskPlan
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, plan, nil))
	ok[chat.Ask](t)(l.Asks().Decide(ctx, decision(a, ann, chat.RoleOwner, chat.EffectAlways)))
	if rules := ok[[]chat.Rule](t)(l.Rules().Rules(ctx, s.Conversation, s.ID)); len(rules) != 0 {
		t.Errorf("rules %+v", rules)
	}
}
