package receive_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/receive"
)

// survey is three questions: one of several options, several options, words.
var survey = chat.Question{Key: "s", Kind: chat.AskChoice, Queries: []chat.Query{
	{ID: "Which color?", Text: "Which color?", Options: []chat.Option{{Label: "Red"}, {Label: "Blue", ID: "b"}}, Free: true},
	{ID: "Which sizes?", Text: "Which sizes?", Multi: true, Options: []chat.Option{{Label: "S"}, {Label: "M"}, {Label: "L"}}},
	{ID: "What name?", Text: "What name?", Free: true},
}}

func (d *door) submit(who chat.Person, a chat.Ask, verb string, form map[string][]string) chat.Ack {
	d.t.Helper()
	m := d.press(who, fmt.Sprintf("ask:%d:%s", a.ID, verb))
	m.Form = form
	return d.receive(m)[0]
}

func TestAFormAnswersEachQuestionByItsName(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.ask(owner, survey, time.Hour)
	ack := d.submit(owner, a, "form", map[string][]string{"q0": {"1"}, "q1": {"0", "2"}, "w2": {" Rosa \n"}, "w0": {""}})
	got := d.state(a)
	want := map[string][]string{"Which color?": {"b"}, "Which sizes?": {"S", "L"}, "What name?": {"Rosa"}}
	if got.State != chat.AskAnswered || !maps.EqualFunc(got.Answer.Values, want, slices.Equal[[]string]) || d.board.n.Load() != 1 {
		t.Errorf("%s %+v", got.State, got.Answer)
	}
	if ack.Toast != "Answered" || ack.Alert || ack.Replace == nil || !ack.Follows || !strings.Contains(ack.Replace.Markdown, "answered by Olga") {
		t.Errorf("%+v", ack)
	}
}

func TestAFormThatIsHalfFilledInIsKeptAndGoesOn(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.ask(owner, survey, time.Hour)
	ack := d.submit(owner, a, "form", map[string][]string{"q0": {"0"}, "q1": {"1"}})
	if got := d.state(a); got.State != chat.AskOpen || ack.Toast != "Noted (2 of 3)" || ack.Follows || ack.Replace == nil || !strings.Contains(ack.Replace.Markdown, "Red") {
		t.Fatalf("%+v, %+v", got, ack)
	}
	// An option that was chosen before gives way to words, several can be taken back.
	d.submit(owner, a, "form", map[string][]string{"w0": {"Green"}, "q1": {}})
	if got := d.state(a).Answer.Values; got["Which color?"][0] != "Green" || len(got["Which sizes?"]) != 1 {
		t.Fatalf("kept: %v", got)
	}
	d.submit(owner, a, "form", map[string][]string{"w0": {"Green"}, "q0": {"1"}, "q1": {"2"}, "w2": {"Rosa"}})
	got := d.state(a)
	if got.State != chat.AskAnswered || got.Answer.Values["Which color?"][0] != "b" || got.Answer.Values["Which sizes?"][0] != "L" {
		t.Errorf("%s %+v", got.State, got.Answer)
	}
}

func TestNoneOfSeveralIsAnAnswerOnceAllElseIsAnswered(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.ask(owner, survey, time.Hour)
	d.submit(owner, a, "form", map[string][]string{"q0": {"0"}, "q1": {}, "w2": {"Rosa"}})
	got := d.state(a)
	if v, ok := got.Answer.Values["Which sizes?"]; got.State != chat.AskAnswered || !ok || len(v) != 0 {
		t.Errorf("%s %+v", got.State, got.Answer)
	}
}

func TestAnEmptyOrForgedFormDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    chat.Question
		verb string
		form map[string][]string
		want string
	}{
		"empty":                    {survey, "form", map[string][]string{"q1": {}, "w0": {"  "}}, "Nothing is filled in"},
		"no form":                  {survey, "form", nil, "Nothing is filled in"},
		"no such option":           {survey, "form", map[string][]string{"q0": {"2"}}, "no longer does anything"},
		"no index":                 {survey, "form", map[string][]string{"q0": {"Red"}}, "no longer does anything"},
		"another form of an index": {survey, "form", map[string][]string{"q0": {"01"}}, "no longer does anything"},
		"two of one":               {survey, "form", map[string][]string{"q0": {"0", "1"}}, "no longer does anything"},
		"one twice":                {survey, "form", map[string][]string{"q1": {"0", "0"}}, "no longer does anything"},
		"words for options":        {survey, "form", map[string][]string{"w1": {"XXL"}}, "no longer does anything"},
		"a book":                   {survey, "form", map[string][]string{"w2": {strings.Repeat("x", 17<<10)}}, "no longer does anything"},
		"a denial of a question":   {survey, "why", map[string][]string{"why": {"no"}}, "no longer does anything"},
		"a form of an approval":    {approval, "form", map[string][]string{"text": {"allow"}}, "no longer does anything"},
		"unknown":                  {approval, "whatever", nil, "no longer does anything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			a := d.ask(owner, c.q, time.Hour)
			ack := d.submit(owner, a, c.verb, c.form)
			if got := d.state(a); got.State != chat.AskOpen || len(got.Answer.Values) != 0 || !strings.Contains(ack.Toast, c.want) || !ack.Alert {
				t.Errorf("%s %+v, %+v", got.State, got.Answer, ack)
			}
		})
	}
}

func TestWordsOfAFormAnswerAQuestion(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.ask(owner, chat.Question{Key: "t", Kind: chat.AskText}, time.Hour)
	d.submit(owner, a, "form", map[string][]string{"text": {"first line\nsecond"}})
	if got := d.state(a); got.State != chat.AskAnswered || got.Answer.Text != "first line\nsecond" {
		t.Errorf("%s %+v", got.State, got.Answer)
	}
}

func TestADenialCarriesItsReason(t *testing.T) {
	t.Parallel()
	for _, kind := range []chat.AskKind{chat.AskApproval, chat.AskPlan} {
		for _, why := range []string{"use make instead", ""} {
			d := open(t)
			q := approval
			q.Kind = kind
			a := d.ask(owner, q, time.Hour)
			ack := d.submit(owner, a, "why", map[string][]string{"why": {why}})
			got := d.state(a)
			if got.State != chat.AskAnswered || got.Answer.Effect != chat.EffectDeny || got.Answer.Option != "no" || got.Answer.Text != why || ack.Toast != "Denied" {
				t.Errorf("%s: %s %+v, %+v", kind, got.State, got.Answer, ack)
			}
		}
	}
}

func TestTwoPeopleSendAFormAndOneOfThemWins(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.grant(member.ID, chat.RoleMember)
	a := d.ask(member, survey, time.Hour)
	var wg sync.WaitGroup
	acks := make([]chat.Ack, 2)
	for i, who := range []chat.Person{owner, member} {
		m := d.press(who, fmt.Sprintf("ask:%d:form", a.ID))
		m.Form = map[string][]string{"q0": {fmt.Sprint(i)}, "w2": {who.Name}}
		wg.Go(func() {
			got, err := d.gate.Receive(context.WithoutCancel(t.Context()), platform.Batch{Account: "bot", Messages: []chat.Message{m}})
			if err != nil {
				t.Error(err)
				return
			}
			acks[i] = got[0]
		})
	}
	wg.Wait()
	got := d.state(a)
	won, lost := 0, 1
	if got.Answer.By.ID == member.ID {
		won, lost = 1, 0
	}
	name := []string{"Olga", "Mia"}[won]
	if acks[won].Toast != "Answered" || acks[lost].Toast != "Already answered by "+name+"." || got.Answer.Values["What name?"][0] != name {
		t.Errorf("%+v: %+v", got.Answer, acks)
	}
	for _, ack := range acks { // both see the same card
		if ack.Replace == nil || !strings.Contains(ack.Replace.Markdown, "answered by "+name) {
			t.Errorf("%+v", ack)
		}
	}
}

// shown sends a message of an ask, or of none, to p.
func (d *door) shown(p chat.Place, ask int64, id string) {
	d.t.Helper()
	ctx := d.t.Context()
	p, _, err := d.db.Places().Ensure(ctx, p)
	must(d.t, err)
	must(d.t, d.db.Outbox().Enqueue(ctx, []chat.Out{{
		Key: "x/" + id, Place: p, Ask: ask, Class: chat.OutAsk, Op: chat.OpPost, Part: chat.Part{Text: "?"}, State: chat.OutPending,
	}}))
	o, err := d.db.Outbox().NextOut(ctx, p.Channel())
	must(d.t, err)
	_, err = d.db.Outbox().Sending(ctx, o.ID)
	must(d.t, err)
	must(d.t, d.db.Outbox().Sent(ctx, o.ID, chat.Ref{ID: id, Chat: p.Chat}))
}

func TestAButtonCountsOnlyOnAMessageOfItsRequest(t *testing.T) {
	t.Parallel()
	d := open(t)
	a, other := d.ask(owner, approval, time.Hour), int64(0)
	d.shown(group, a.ID, "mine")
	d.shown(group, other, "elsewhere")
	m := d.press(owner, fmt.Sprintf("ask:%d:0", a.ID))
	for _, id := range []string{"elsewhere", "made up"} {
		m.Key, m.Ref.ID = id, id
		if ack := d.receive(m)[0]; !strings.Contains(ack.Toast, "no longer does anything") || ack.Replace != nil || d.state(a).State != chat.AskOpen {
			t.Errorf("on %q: %+v, %s", id, ack, d.state(a).State)
		}
	}
	m.Key, m.Ref.ID = "right", "mine"
	if ack := d.receive(m)[0]; ack.Toast != "Allowed" || d.state(a).State != chat.AskAnswered {
		t.Errorf("%+v", ack)
	}
}

// A service may leave out the thread and the kind of chat.
func TestAButtonBelongsWhereItsMessageWasSentWhateverTheServiceTells(t *testing.T) {
	t.Parallel()
	topic := group
	topic.Thread = "t1"
	for name, c := range map[string]struct{ sent, told chat.Place }{
		"a thread that is left out":         {topic, group},
		"a thread that is made up":          {group, topic},
		"a direct chat told as a group":     {direct, chat.Place{Platform: "test", Account: "bot", Chat: direct.Chat}},
		"a group that is told to be direct": {group, chat.Place{Platform: "test", Account: "bot", Chat: group.Chat, Direct: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.shown(c.sent, 0, "m")
			m := d.press(owner, "stop:1")
			m.Ref.ID, m.Place = "m", c.told
			d.receive(m)
			rows := d.stored()
			if len(rows) != 1 || rows[0].Place.Thread != c.sent.Thread || rows[0].Place.Direct != c.sent.Direct {
				t.Errorf("%+v", rows)
			}
		})
	}
}

// Who may press is decided by what the chat is, not by what a client says.
func TestAGroupThatIsToldToBeDirectGivesNoRights(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, err := d.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Person: stranger.ID, Role: chat.RoleOperator, By: "test"})
	must(t, err)
	a := d.ask(member, approval, time.Hour)
	d.shown(group, a.ID, "m")
	m := d.press(stranger, fmt.Sprintf("ask:%d:0", a.ID))
	m.Ref.ID, m.Place.Direct = "m", true
	d.receive(m)
	if got := d.state(a); got.State != chat.AskOpen {
		t.Errorf("%+v", got)
	}
}

// hurried is a ledger in which somebody else is a moment faster.
type hurried struct {
	lazyAsks
	first map[string][]string
}

func (h *hurried) Fill(ctx context.Context, id int64, a chat.Answer) error {
	if h.first != nil {
		if err := h.lazyAsks.Fill(ctx, id, chat.Answer{Effect: chat.EffectChoose, By: member, Values: h.first}); err != nil {
			return err
		}
	}
	return h.lazyAsks.Fill(ctx, id, a)
}

func TestTwoHalvesOfAFormThatComeTogetherAreAnAnswer(t *testing.T) {
	t.Parallel()
	var d *door
	d = open(t, func(x *receive.Deps) {
		x.Clicks = receive.NewClicks(&hurried{lazyAsks{&d}, map[string][]string{"Which color?": {"Red"}, "Which sizes?": {"M"}}}, lazyBoard{&d}, faces{}, nil)
	})
	a := d.ask(owner, survey, time.Hour)
	ack := d.submit(owner, a, "form", map[string][]string{"w2": {"Rosa"}})
	if got := d.state(a); got.State != chat.AskAnswered || len(got.Answer.Values) != 3 || got.Answer.By.ID != owner.ID || ack.Toast != "Answered" || d.board.n.Load() != 1 {
		t.Errorf("%s %+v, %+v", got.State, got.Answer, ack)
	}
}

// lazyBoard is the board of a door that is not built yet.
type lazyBoard struct{ d **door }

func (b lazyBoard) Decided(a chat.Ask) { (*b.d).board.Decided(a) }

// A service may leave out the name, or take too long for it.
func TestWhoDecidedIsNamedAsTheyWereKnownBefore(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.grant(member.ID, chat.RoleMember)
	a := d.ask(member, approval, time.Hour)
	d.receive(d.message(chat.KindText, group, owner)) // here the name is told
	nameless := owner
	nameless.Name = ""
	ack := d.receive(d.press(nameless, fmt.Sprintf("ask:%d:0", a.ID)))[0]
	late := d.receive(d.press(member, fmt.Sprintf("ask:%d:1", a.ID)))[0]
	if ack.Replace == nil || !strings.Contains(ack.Replace.Markdown, "answered by Olga") || late.Toast != "Already answered by Olga." {
		t.Errorf("%+v, %+v", ack, late)
	}
}

// Where messages grow, the last word has the receipt of its end only.
func TestAButtonOfAMessageThatBecameTheLastWordBelongsWhereThatIs(t *testing.T) {
	t.Parallel()
	d := open(t)
	ctx := t.Context()
	topic := group
	topic.Thread = "t1"
	p, _, err := d.db.Places().Ensure(ctx, topic)
	must(t, err)
	grown := chat.Ref{ID: "grown", Chat: p.Chat}
	must(t, d.db.Outbox().Enqueue(ctx, []chat.Out{{
		Key: "end", Place: p, Class: chat.OutFinal, Op: chat.OpFinish, Target: grown, Part: chat.Part{Text: "interrupted"}, State: chat.OutPending,
	}}))
	o, err := d.db.Outbox().NextOut(ctx, p.Channel())
	must(t, err)
	_, err = d.db.Outbox().Sending(ctx, o.ID)
	must(t, err)
	must(t, d.db.Outbox().Sent(ctx, o.ID, grown))
	m := d.press(owner, "retry:1")
	m.Ref.ID = grown.ID // the service leaves out the thread
	d.receive(m)
	if rows := d.stored(); len(rows) != 1 || rows[0].Place.Thread != "t1" {
		t.Errorf("%+v", rows)
	}
}
