package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
)

// What people decide on cards of Feishu: buttons, forms, and what a press shows.

// ownerName is what an owner is called there.
func ownerName(n int64) string { return fmt.Sprintf("Owner %d", n) }

// larkHouse starts a daemon on Feishu and returns its owner in the direct chat.
func larkHouse(t *testing.T, o rig.Options) user {
	t.Helper()
	o.NoTelegram, o.Feishu = true, cmp.Or(o.Feishu, rig.Socket)
	r := rig.New(t, o)
	r.Start()
	return user{r.FeishuChat(rig.Owner), t, r}
}

// card waits for a message that offers what ok wants, and which the ledger
// knows to be there.
func (u user) card(what string, ok func(feishu.Control) bool) (found feishu.Seen) {
	u.t.Helper()
	u.r.Until(what, func() bool {
		for _, m := range u.r.Feishu.Shown(u.Chat) {
			if slices.ContainsFunc(m.Buttons, ok) {
				found = m
				return u.r.Count("SELECT count(*) FROM receipt WHERE msg = ?", m.ID) == 1
			}
		}
		return false
	})
	return found
}

// reborn kills the daemon, and starts the next one. Presses are handed over
// once: it has to be there.
func (u user) reborn() {
	u.t.Helper()
	f := u.r.Feishu
	u.r.Kill()
	u.r.Until("the service has noticed", func() bool { return f.Connections(rig.App) == 0 })
	u.r.Start()
	u.r.Until("it is connected", func() bool { return f.Connections(rig.App) > 0 })
}

func labelled(label string) func(feishu.Control) bool {
	return func(c feishu.Control) bool { return c.Label == label }
}

// pressOn presses the button with this label.
func (u user) pressOn(m feishu.Seen, from, label string) feishu.Click {
	u.t.Helper()
	i := slices.IndexFunc(m.Buttons, labelled(label))
	if i < 0 {
		u.t.Fatalf("no button %q in %+v", label, m)
	}
	return u.r.Feishu.Press(rig.App, m.ID, from, m.Buttons[i].Value, nil)
}

// submit sends the form of a message.
func (u user) submit(m feishu.Seen, label string, values map[string]any) feishu.Click {
	u.t.Helper()
	c, err := u.r.Feishu.Submit(rig.App, m.ID, rig.Person(rig.Owner), label, values)
	if err != nil {
		u.t.Fatal(err)
	}
	u.answered(c)
	return c
}

// answered checks that a press got its answer, and a card.
func (u user) answered(c feishu.Click) {
	u.t.Helper()
	if c.Code != 0 || !c.Answered || c.Toast == "" || !c.Replaced {
		u.t.Errorf("the press is answered by %+v", c)
	}
}

// now is a message as it is shown now.
func (u user) now(id string) feishu.Seen {
	u.t.Helper()
	for _, m := range u.r.Feishu.Shown(u.Chat) {
		if m.ID == id {
			return m
		}
	}
	u.t.Fatalf("message %s is gone", id)
	return feishu.Seen{}
}

func TestAPressIsAnsweredWithTheCardItLeadsTo(t *testing.T) {
	t.Parallel()
	for _, way := range []rig.Way{rig.Socket, rig.Hook} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			answersPresses(larkHouse(t, rig.Options{Feishu: way}))
		})
	}
}

func answersPresses(u user) {
	t := u.t
	t.Helper()
	u.Say("run echo decided")
	m := u.card("an approval", labelled(text("turn.allow")))
	c := u.pressOn(m, rig.Person(rig.Owner), text("turn.allow"))
	u.answered(c)
	if c.Toast != text("receive.click_allowed") || c.Kind != "success" {
		t.Errorf("%+v", c)
	}
	if seen := u.now(m.ID); !strings.Contains(seen.Text, text("turn.ask.allowed", "by", ownerName(rig.Owner))) || len(seen.Buttons) > 0 {
		t.Errorf("the card shows %q, %+v", seen.Text, seen.Buttons)
	}
	u.Await("ran: decided")
	again := u.pressOn(m, rig.Person(rig.Owner), text("turn.deny")) // a client that has not caught up
	u.answered(again)
	if again.Toast != text("receive.click_decided", "name", ownerName(rig.Owner)) || again.Kind != "warning" {
		t.Errorf("%+v", again)
	}
	if min(c.Took, again.Took) > time.Second { // one of them may meet a busy machine
		t.Errorf("the presses are answered after %s and %s", c.Took, again.Took)
	}
	u.quiet(1)
	u.sound()
}

func TestSeveralQuestionsAreOneFormAndWhatIsMissingIsAskedAgain(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{})
	u.Say("questions")
	m := u.card("a form", labelled(text("turn.send")))
	if n := len(slices.DeleteFunc(slices.Clone(m.Buttons), func(c feishu.Control) bool { return c.Tag != "button" })); n != 1 {
		t.Errorf("%d buttons: %+v", n, m.Buttons)
	}
	c := u.submit(m, text("turn.send"), map[string]any{"q0": "1", "q1": []string{"0", "2"}})
	if want := text("receive.click_partial", "done", 2, "all", 3); c.Toast != want {
		t.Errorf("told %q, want %q", c.Toast, want)
	}
	half := u.now(m.ID)
	filled := map[string]any{}
	for _, f := range half.Buttons {
		filled[f.Name] = f.Filled
	}
	if several, _ := filled["q1"].([]string); filled["q0"] != "1" || !slices.Equal(several, []string{"0", "2"}) {
		t.Errorf("kept: %+v", filled)
	}
	u.submit(half, text("turn.send"), map[string]any{"w2": "Zoë, “the boss”"})
	u.Await("you chose blue; plum, fig; Zoë, “the boss”")
	if seen := u.now(m.ID); len(seen.Buttons) > 0 || !strings.Contains(seen.Text, ownerName(rig.Owner)) {
		t.Errorf("%+v", seen)
	}
	u.quiet(1)
	u.sound()
}

func TestAPlanAndAnApprovalAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{})
	for _, what := range []string{"run touch made", "plan"} {
		if what == "plan" {
			u.ask("/mode plan", "plan")
		}
		known := u.known()
		u.Say(what)
		var m feishu.Seen
		u.r.Until("a request", func() bool {
			m = u.card("a request", labelled(text("turn.deny_why")))
			return !known[m.ID]
		})
		u.submit(m, text("turn.deny_why"), map[string]any{"why": "use make for " + what})
		u.news(known, "denied: ")
		u.Await("use make for " + what)
		if seen := u.now(m.ID); !strings.Contains(seen.Text, "use make for "+what) || len(seen.Buttons) > 0 {
			t.Errorf("%+v", seen)
		}
	}
	u.sound()
}

func TestACardOfAnEarlierLifeExplainsItself(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{})
	u.remember("plum")
	u.Say("run touch made")
	m := u.card("an approval", labelled(text("turn.allow")))
	u.reborn()
	c := u.pressOn(m, rig.Person(rig.Owner), text("turn.allow"))
	u.answered(c)
	if c.Toast != text("receive.click_expired") || c.Kind != "warning" {
		t.Errorf("%+v", c)
	}
	if seen := u.now(m.ID); !strings.Contains(seen.Text, text("turn.ask.void")) || len(seen.Buttons) > 0 {
		t.Errorf("%+v", seen)
	}
	u.recall("plum")
	u.sound()
	for _, p := range u.prompts() {
		if strings.Contains(strings.ToLower(p), "allow") {
			t.Errorf("the agent was told %q", p)
		}
	}
}

func TestOfTwoPeopleWhoPressAtOnceOneDecides(t *testing.T) {
	t.Parallel()
	const second, guest = int64(2), "ou_guest"
	u := larkHouse(t, rig.Options{Owners: []int64{rig.Owner, second}})
	f := u.r.Feishu
	f.AddPerson(guest, "Guest")
	f.AddChat("oc_team", feishu.Group, "Team", []string{rig.App}, rig.Person(rig.Owner), rig.Person(second), guest)
	boss := u.in(u.r.FeishuAs("oc_team", rig.Person(rig.Owner)))
	boss.To = "@" + rig.AppName
	boss.Say("run echo decided")
	m := boss.card("an approval", labelled(text("turn.allow")))
	if c := boss.pressOn(m, guest, text("turn.allow")); c.Code != 0 || c.Toast != text("receive.click_stranger") || c.Replaced {
		t.Errorf("a guest is told %+v", c)
	}
	clicks := make([]feishu.Click, 2)
	var wg sync.WaitGroup
	for i, label := range []string{text("turn.allow"), text("turn.deny")} {
		wg.Go(func() { clicks[i] = boss.pressOn(m, rig.Person([]int64{rig.Owner, second}[i]), label) })
	}
	wg.Wait()
	won, lost := 0, 1
	if clicks[0].Kind == "warning" {
		won, lost = 1, 0
	}
	name := ownerName([]int64{rig.Owner, second}[won])
	if clicks[won].Kind != "success" || clicks[lost].Toast != text("receive.click_decided", "name", name) {
		t.Errorf("%+v", clicks)
	}
	for _, c := range clicks {
		boss.answered(c)
	}
	if seen := boss.now(m.ID); !strings.Contains(seen.Text, name) {
		t.Errorf("%q does not name %s", seen.Text, name)
	}
	boss.news(nil, []string{"ran: decided", "denied"}[won])
	if n := u.r.Count("SELECT count(*) FROM inbound WHERE sender = ?", guest); n != 0 {
		t.Errorf("%d presses of a guest are stored", n)
	}
	boss.quiet(1)
	boss.sound()
}

func TestTheDirectChatOpensWithOneWelcomeAndItsMenuBelongsToIt(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{})
	f, me := u.r.Feishu, rig.Person(rig.Owner)
	hello := strings.Split(text("command.start"), "{")[0]
	f.Choose(rig.App, me, "whoami") // before anybody knows the chat
	u.Await(me)
	f.Enter(rig.App, me)
	u.remember("plum")
	before := u.status()
	u.reborn()
	known := u.known()
	f.Choose(rig.App, me, "status") // the first that this process hears of them
	m := u.news(known, before.native)
	if !strings.Contains(m.Text, "#"+before.native) && !strings.Contains(m.Text, before.native) {
		t.Errorf("another session: %q", m.Text)
	}
	f.Enter(rig.App, me)
	u.kept(before, "plum")
	if strings.Contains(u.Text(), hello) { // who has spoken needs no welcome
		t.Errorf("welcomed: %q", u.Text())
	}
	u.sound()
}

func TestWhoOpensAnEmptyDirectChatIsWelcomedOnceForEver(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{})
	f, me := u.r.Feishu, rig.Person(rig.Owner)
	hello := strings.Split(text("command.start"), "{")[0]
	f.Enter(rig.App, me)
	u.Await(hello)
	u.reborn()
	f.Enter(rig.App, me)
	u.remember("plum")
	if n := strings.Count(u.Text(), hello); n != 1 {
		t.Errorf("welcomed %d times: %q", n, u.Text())
	}
	u.sound()
}

func TestARequestWhoseTimeIsUpSaysSoOnItsCard(t *testing.T) {
	t.Parallel()
	u := larkHouse(t, rig.Options{Env: []string{"CLIGATE_ASK_TIMEOUT=2s"}})
	u.Say("run touch made")
	m := u.card("an approval", labelled(text("turn.allow")))
	u.r.Until("its card says so", func() bool { return strings.Contains(u.now(m.ID).Text, text("turn.ask.expired")) })
	c := u.pressOn(m, rig.Person(rig.Owner), text("turn.allow")) // a client that has not caught up
	u.answered(c)
	if seen := u.now(m.ID); c.Toast != text("receive.click_expired") || len(seen.Buttons) > 0 || !strings.Contains(seen.Text, text("turn.ask.expired")) {
		t.Errorf("%+v, %q", c, seen.Text)
	}
	u.Await("denied")
	u.quiet(1)
	u.sound()
}

// team puts the owner into a group, where the bot is named with every message.
func (u user) team() user {
	u.t.Helper()
	u.r.Feishu.AddChat("oc_team", feishu.Group, "Team", []string{rig.App}, rig.Person(rig.Owner))
	boss := u.in(u.r.FeishuAs("oc_team", rig.Person(rig.Owner)))
	boss.To = "@" + rig.AppName
	return boss
}

func TestWordsDecideInAGroupOfFeishuToo(t *testing.T) {
	t.Parallel()
	boss := larkHouse(t, rig.Options{}).team()
	me := rig.Person(rig.Owner)
	for n, c := range []struct {
		decide func(card string)
		want   string
		answer string
	}{
		{func(card string) {
			boss.r.Feishu.Say(feishu.Say{App: rig.App, Chat: boss.Chat, From: me, Text: "允许。 @" + rig.AppName, ReplyTo: card})
		}, text("turn.ask.allowed", "by", ownerName(rig.Owner)), "ran: decided0"},
		{func(string) { boss.Say("/approve") }, text("turn.ask.allowed", "by", ownerName(rig.Owner)), "ran: decided1"},
		{func(string) { boss.Say("/deny not today") }, text("turn.ask.denied_why", "by", ownerName(rig.Owner), "reason", "not today"), "user denied this. not today"},
	} {
		known := boss.known()
		boss.Say(fmt.Sprint("run echo decided", n))
		var m feishu.Seen
		boss.r.Until("a request", func() bool {
			m = boss.card("a request", labelled(text("turn.allow")))
			return !known[m.ID]
		})
		c.decide(m.ID)
		boss.news(known, c.answer)
		boss.r.Until("its card says so", func() bool {
			seen := boss.now(m.ID)
			return strings.Contains(seen.Text, c.want) && len(seen.Buttons) == 0
		})
	}
	boss.quiet(3)
	boss.sound()
}

// What a press carries names neither the thread nor the kind of chat, and the
// process that is pressed knows of none.
func TestAButtonInAThreadBelongsThereAfterARestart(t *testing.T) {
	t.Parallel()
	boss := larkHouse(t, rig.Options{}).team()
	f, me := boss.r.Feishu, rig.Person(rig.Owner)
	root, _ := f.Say(feishu.Say{App: rig.App, Chat: boss.Chat, From: me, Text: "about this", Quiet: true})
	f.Say(feishu.Say{App: rig.App, Chat: boss.Chat, From: me, Text: "@" + rig.AppName + " run echo decided", ReplyTo: root, Thread: true})
	m := boss.card("an approval", labelled(text("turn.allow")))
	if m.Thread == "" {
		t.Fatalf("outside of the thread: %+v", m)
	}
	boss.reborn()
	means := func(verb string) func(feishu.Control) bool {
		return func(c feishu.Control) bool { d, _ := c.Value["data"].(string); return strings.HasPrefix(d, verb) }
	}
	bare := func(verb string) feishu.Click {
		m = boss.card(verb, means(verb))
		if m.Thread == "" {
			t.Errorf("outside of the thread: %+v", m)
		}
		b := m.Buttons[slices.IndexFunc(m.Buttons, means(verb))]
		return f.Press(rig.App, m.ID, me, map[string]any{"data": b.Value["data"]}, nil)
	}
	if c := bare("retry:"); c.Code != 0 || c.Kind == "warning" {
		t.Fatalf("%+v", c)
	}
	boss.answered(bare("ask:2:0"))
	boss.Await("ran: decided")
	for _, seen := range f.Shown(boss.Chat) {
		if seen.FromBot && seen.Thread != m.Thread {
			t.Errorf("outside of the thread: %+v", seen)
		}
	}
	if n := boss.r.Count("SELECT count(*) FROM place"); n != 1 {
		t.Errorf("%d places", n)
	}
	boss.sound()
}

func TestAGroupThatTheBotIsTakenIntoIsWelcomedOnceAndOneThatItLeftGetsNothing(t *testing.T) {
	t.Parallel()
	boss := larkHouse(t, rig.Options{}).team()
	f, me := boss.r.Feishu, rig.Person(rig.Owner)
	hello := strings.Split(text("router.welcome"), "!")[0]
	f.Invite(rig.App, boss.Chat, me)
	boss.Await(hello)
	boss.Say("run echo decided")
	m := boss.card("an approval", labelled(text("turn.allow")))
	f.Expel(rig.App, boss.Chat, me)
	boss.r.Until("it knows", func() bool { return boss.r.Count("SELECT count(*) FROM place WHERE parked = 1") == 1 })
	if c := boss.pressOn(m, me, text("turn.allow")); c.Code != 0 { // a client can still show the card
		t.Errorf("%+v", c)
	}
	boss.r.Until("the turn is over", func() bool { return boss.r.Count("SELECT count(*) FROM turn WHERE state = 'succeeded'") == 1 })
	if strings.Contains(boss.Text(), "ran: decided") {
		t.Error("it writes where it is no more")
	}
	f.Invite(rig.App, boss.Chat, me)
	boss.Await("ran: decided")
	if n := strings.Count(boss.Text(), hello); n != 1 {
		t.Errorf("welcomed %d times", n)
	}
	boss.sound("out of the chat")
}
