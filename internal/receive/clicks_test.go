package receive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/receive"
)

var approval = chat.Question{Key: "q", Kind: chat.AskApproval, Tool: "Bash", Options: []chat.Option{
	{ID: "yes", Label: "Allow", Effect: chat.EffectAllow}, {ID: "no", Label: "Deny", Effect: chat.EffectDeny},
}}

// ask has a running turn of who ask q in a group.
func (d *door) ask(who chat.Person, q chat.Question, life time.Duration) chat.Ask {
	d.t.Helper()
	ctx := d.t.Context()
	place, conv, err := d.db.Places().Ensure(ctx, group)
	must(d.t, err)
	s, err := d.db.Sessions().StartSession(ctx, chat.NewSession{Conversation: conv, Agent: "demo", Workspace: "/w"})
	must(d.t, err)
	turn, err := d.db.Turns().NewTurn(ctx, chat.NewTurn{Conversation: conv, Session: s.ID, Place: place, By: who})
	must(d.t, err)
	_, err = d.db.Runs().Claim(ctx, turn.ID, chat.AttemptSent)
	must(d.t, err)
	a, err := d.db.Asks().Ask(ctx, chat.Ask{
		Turn: turn.ID, Session: s.ID, Place: place, Asker: who, Question: q, Digest: "d", State: chat.AskOpen, Expires: time.Now().Add(life),
	}, nil)
	must(d.t, err)
	return a
}

func (d *door) grant(id string, r chat.Role) {
	d.t.Helper()
	_, err := d.db.People().Grant(d.t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: id, Role: r, By: "test"})
	must(d.t, err)
}

func (d *door) press(who chat.Person, data string) chat.Message {
	m := d.message(chat.KindClick, group, who)
	m.Data = data
	return m
}

func (d *door) state(a chat.Ask) chat.Ask {
	d.t.Helper()
	a, err := d.db.Asks().AskByID(d.t.Context(), a.ID)
	must(d.t, err)
	return a
}

func TestManyPressesAreOneDecision(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.grant(member.ID, chat.RoleMember)
	a := d.ask(member, approval, time.Hour)
	var wg sync.WaitGroup
	var mu sync.Mutex
	toasts := map[string]int{}
	for i := range 50 {
		who := member
		if i%2 == 1 {
			who = owner
		}
		m := d.press(who, fmt.Sprintf("ask:%d:%d", a.ID, i%2))
		wg.Go(func() {
			acks, err := d.gate.Receive(t.Context(), platform.Batch{Account: "bot", Messages: []chat.Message{m}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			toasts[acks[0].Toast]++
			mu.Unlock()
		})
	}
	wg.Wait()
	got := d.state(a)
	won, other := "Allowed", "Already answered by Mia."
	if got.Answer.By.ID == owner.ID {
		won, other = "Denied", "Already answered by Olga."
	}
	if len(toasts) != 2 || toasts[won] != 25 || toasts[other] != 25 {
		t.Errorf("decided by %s; toasts %v", got.Answer.By.Name, toasts)
	}
}

func TestRedeliveredPressShowsTheSameAndDoesNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.ask(owner, approval, time.Hour)
	m := d.press(owner, fmt.Sprintf("ask:%d:0", a.ID))
	first, second := d.receive(m)[0], d.receive(m)[0]
	if first.Toast != "Allowed" || second.Toast != first.Toast || second.Alert {
		t.Errorf("acks %+v, %+v", first, second)
	}
	if n := d.board.n.Load(); n != 1 {
		t.Errorf("the turn was told %d times", n)
	}
}

func TestPressThatMayNotDecideLeavesTheRequestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who   chat.Person
		data  string
		place chat.Place
		want  string
	}{
		"another member":     {who: chat.Person{ID: "201"}, data: "ask:%d:0", place: group, want: "may not decide"},
		"viewer":             {who: chat.Person{ID: "202"}, data: "ask:%d:0", place: group, want: "may not decide"},
		"stranger":           {who: stranger, data: "ask:%d:0", place: group},
		"owner, other place": {who: owner, data: "ask:%d:0", place: direct, want: "no longer does anything"},
		"no such option":     {who: owner, data: "ask:%d:2", place: group, want: "no longer does anything"},
		"no such query":      {who: owner, data: "ask:%d:0:0", place: group, want: "no longer does anything"},
		"negative":           {who: owner, data: "ask:%d:-1", place: group, want: "no longer does anything"},
		"leading zero":       {who: owner, data: "ask:%d:00", place: group, want: "no longer does anything"},
		"plus":               {who: owner, data: "ask:+%d:0", place: group, want: "no longer does anything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.grant("201", chat.RoleMember)
			d.grant("202", chat.RoleViewer)
			a := d.ask(member, approval, time.Hour)
			m := d.press(c.who, fmt.Sprintf(c.data, a.ID))
			m.Place = c.place
			ack := d.receive(m)[0]
			if d.state(a).State != chat.AskOpen || !strings.Contains(ack.Toast, c.want) || d.board.n.Load() != 0 {
				t.Errorf("request %s, ack %+v", d.state(a).State, ack)
			}
		})
	}
}

func TestSomebodyElseAddsNothingToAnAnswer(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.grant("201", chat.RoleMember)
	a := d.ask(member, chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{
		{ID: "one", Text: "?", Options: []chat.Option{{Label: "a"}, {Label: "b"}}}, {ID: "two", Text: "?", Options: []chat.Option{{Label: "c"}}},
	}}, time.Hour)
	d.receive(d.press(chat.Person{ID: "201"}, fmt.Sprintf("ask:%d:0:1", a.ID)))
	if got := d.state(a); len(got.Answer.Values) != 0 {
		t.Errorf("answer = %+v", got.Answer)
	}
	ack := d.receive(d.press(owner, fmt.Sprintf("ask:%d:0:1", a.ID)))[0]
	if ack.Toast != "Noted (1 of 2)" || ack.Replace == nil {
		t.Errorf("ack = %+v", ack)
	}
	d.receive(d.press(owner, fmt.Sprintf("ask:%d:1:0", a.ID)))
	if got := d.state(a); got.State != chat.AskAnswered || got.Answer.Values["one"][0] != "b" || got.Answer.Values["two"][0] != "c" {
		t.Errorf("answer = %+v", got.Answer)
	}
}

func TestButtonOfAnExpiredRequestSaysSo(t *testing.T) {
	t.Parallel()
	d := open(t)
	late := d.ask(owner, approval, -time.Second)
	if ack := d.receive(d.press(owner, fmt.Sprintf("ask:%d:0", late.ID)))[0]; !strings.Contains(ack.Toast, "expired") || !ack.Alert || ack.Replace == nil || !strings.HasPrefix(ack.Replace.Markdown, "expired") {
		t.Errorf("ack %+v", ack)
	}
	void := d.ask(owner, approval, time.Hour)
	_, err := d.db.Asks().CloseAsk(t.Context(), void.ID, chat.AskVoid)
	must(t, err)
	if ack := d.receive(d.press(owner, fmt.Sprintf("ask:%d:0", void.ID)))[0]; !strings.Contains(ack.Toast, "expired") || ack.Replace == nil || !strings.HasPrefix(ack.Replace.Markdown, "void") {
		t.Errorf("ack %+v", ack)
	}
	if d.board.n.Load() != 0 {
		t.Error("the turn was told")
	}
}

func TestDataThatIsNoButtonIsNotEvenStored(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, data := range []string{"", "x", ":1", "STOP:1", "a b:1", `{"ask":1}`, "'; DROP TABLE turn;--:1", strings.Repeat("a", 40) + ":" + strings.Repeat("1", 40), "stop:1\x00", "\xff:1", "stop:\n"} {
		d.receive(d.press(owner, data))
	}
	if n := len(d.stored()); n != 0 {
		t.Errorf("%d presses were stored", n)
	}
}

type brokenAsks struct {
	receive.Asks
	fails int
}

func (b *brokenAsks) Decide(ctx context.Context, x chat.Decision) (chat.Ask, error) {
	if b.fails--; b.fails >= 0 {
		return chat.Ask{}, errors.New("disk")
	}
	return b.Asks.Decide(ctx, x)
}

func TestPressThatCouldNotBeDecidedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	var d *door
	d = open(t, func(x *receive.Deps) {
		x.Clicks = receive.NewClicks(&brokenAsks{lazyAsks{&d}, 1}, &board{}, faces{}, nil)
	})
	a := d.ask(owner, approval, time.Hour)
	m := d.press(owner, fmt.Sprintf("ask:%d:0", a.ID))
	if _, err := d.gate.Receive(t.Context(), platform.Batch{Account: "bot", Messages: []chat.Message{m}}); err == nil {
		t.Fatal("it was acknowledged")
	}
	if ack := d.receive(m)[0]; ack.Toast != "Allowed" || d.state(a).State != chat.AskAnswered {
		t.Errorf("delivered again: %+v", ack)
	}
}

// lazyAsks is the ledger of a door that is not built yet.
type lazyAsks struct{ d **door }

func (l lazyAsks) Decide(ctx context.Context, x chat.Decision) (chat.Ask, error) {
	return (*l.d).db.Asks().Decide(ctx, x)
}

func (l lazyAsks) AskByID(ctx context.Context, id int64) (chat.Ask, error) {
	return (*l.d).db.Asks().AskByID(ctx, id)
}

func (l lazyAsks) AskMessages(ctx context.Context, id int64) ([]chat.Ref, error) {
	return (*l.d).db.Asks().AskMessages(ctx, id)
}

func (l lazyAsks) Fill(ctx context.Context, id int64, a chat.Answer) error {
	return (*l.d).db.Asks().Fill(ctx, id, a)
}
