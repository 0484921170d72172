package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// Topics through the whole daemon.

// A group with topics.
const (
	lobby  = int64(-1000000004001)
	plums  = int64(77)
	pears  = int64(78)
	anyone = int64(1002) // a second owner
)

// unhurried lets groups be served without their twenty messages a minute, which
// are the business of other tests.
const unhurried = "CLIGATE_TELEGRAM_UNPACED=true"

// forum is a house in which two owners share a group with two topics.
func forum(t *testing.T, o rig.Options) user {
	t.Helper()
	o.Owners = []int64{rig.Owner, anyone}
	o.Env = append(o.Env, unhurried)
	r := rig.New(t, o)
	r.Telegram.AddChat(lobby, telegram.Supergroup, "Lobby")
	r.Telegram.AddTopic(lobby, plums)
	r.Telegram.AddTopic(lobby, pears)
	r.Start()
	return user{rig.Topic(r, lobby, 0, rig.Owner), t, r}
}

// topic is the same house, seen by the owner in a topic.
func (u user) topic(thread int64) user { return u.in(rig.Topic(u.r, lobby, thread, rig.Owner)) }

// sound checks all that an oracle can see but the pace, and that the service
// refused nothing but these.
func (u user) sound(refused ...string) {
	u.t.Helper()
	u.r.Rest()
	w := u.r.World()
	w.Rates = slices.DeleteFunc(w.Rates, func(s string) bool {
		_, why, is := strings.Cut(s, " is refused: ")
		return !is || slices.ContainsFunc(refused, func(known string) bool { return strings.Contains(why, known) })
	})
	for _, bad := range oracle.Judge(w) {
		u.t.Errorf("%s\n%s", bad, u.r.Story())
	}
}

func TestEachTopicIsAConversationOfItsOwn(t *testing.T) {
	t.Parallel()
	general := forum(t, rig.Options{})
	one, two := general.topic(plums), general.topic(pears)
	for u, word := range map[user]string{general: "fig", one: "plum", two: "pear"} {
		u.remember(word)
	}
	general.r.Kill()
	general.r.Start()
	for u, word := range map[user]string{general: "fig", one: "plum", two: "pear"} {
		u.recall(word)
	}
	if n := general.r.Count("SELECT count(DISTINCT session) FROM turn"); n != 3 {
		t.Errorf("%d sessions", n)
	}
	general.r.Telegram.RenameTopic(rig.Token, lobby, plums, anyone, "Orchard")
	m := one.ask("/topic", "Orchard")
	if !strings.Contains(m.Text, "Topic 78") {
		t.Errorf("the topics are %q", m.Text)
	}
	general.sound()
}

func TestANewTopicIsMadeOnceBoundAndGreeted(t *testing.T) {
	t.Parallel()
	u := forum(t, workspaces(t, "shop"))
	tg := u.r.Telegram
	before := len(tg.Topics(lobby))
	u.ask("/topic new Figs shop", text("reply.topic_denied"))
	tg.Promote(rig.Token, lobby, map[string]any{"can_manage_topics": true})
	u.Say("/topic new Figs shop")
	made := u.newTopic(before)
	if name := tg.Topics(lobby)[made]; name != "Figs" {
		t.Errorf("it is called %q", name)
	}
	there := u.topic(made)
	there.Await("shop")
	m := there.ask("/status", "shop")
	if strings.Contains(m.Text, "work"+"\n") {
		t.Errorf("it works in %q", m.Text)
	}
	there.remember("fig")
	u.r.Kill()
	u.r.Start()
	there.recall("fig")
	u.sound("not enough rights")
	if n := len(tg.Topics(lobby)); n != before+1 {
		t.Errorf("%d topics were made", n-before)
	}
}

// newTopic waits until there are more topics than before, and returns the one
// that was made here.
func (u user) newTopic(before int) (id int64) {
	u.t.Helper()
	u.r.Until("a topic is made", func() bool { return len(u.r.Telegram.Topics(lobby)) > before })
	for n := range u.r.Telegram.Topics(lobby) {
		if n != plums && n != pears {
			id = max(id, n)
		}
	}
	return id
}

func TestATopicOverWhichTheDaemonDiesIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]telegram.FaultKind{"after it was made": telegram.Hang, "before it was made": telegram.Deaf} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := forum(t, rig.Options{})
			tg := u.r.Telegram
			tg.Promote(rig.Token, lobby, map[string]any{"can_manage_topics": true})
			before := len(tg.Topics(lobby))
			f := tg.Fail(telegram.Fault{Kind: kind, Method: "createForumTopic", Times: 1})
			u.Say("/topic new Figs")
			u.r.Until("the call is under way", func() bool { return tg.Used(f) == 1 })
			if kind == telegram.Hang {
				u.r.Until("it is made", func() bool { return len(tg.Topics(lobby)) == before+1 })
			}
			u.r.Kill()
			u.r.Start()
			u.Await(text("reply.topic_unsure", "name", "Figs"))
			u.r.Rest()
			if n := len(tg.Topics(lobby)) - before; n != map[telegram.FaultKind]int{telegram.Hang: 1, telegram.Deaf: 0}[kind] {
				t.Errorf("%d topics were made", n)
			}
			u.Say("/topic new Figs") // the person looked, and sends it again
			u.newTopic(before)
			u.r.Rest()
		})
	}
}

// gate is a command that ends when the test says so.
type gate string

func (u user) gate() gate { return gate(filepath.Join(u.r.Dir, "open")) }

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(string(g), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// answersAfter has a turn run in a topic until the gate opens.
func (u user) answersAfter(g gate, answer string) {
	u.t.Helper()
	before, asks := len(u.journal("tool")), u.r.Count("SELECT count(*) FROM ask")
	u.Say(fmt.Sprintf("run while [ ! -e %s ]; do sleep 0.02; done\nsay %s", g, answer))
	u.r.Until("it asks", func() bool { return u.r.Count("SELECT count(*) FROM ask") > asks })
	u.Press(fmt.Sprintf("ask:%d:", asks+1), text("turn.allow"))
	u.r.Until("the command runs", func() bool { return len(u.journal("tool")) > before })
}

func TestAnAnswerForADeletedTopicIsKeptAskedAboutOnceAndGoesWhereItIsSent(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"here", "new", "drop"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			general := forum(t, rig.Options{})
			tg, u := general.r.Telegram, general.topic(plums)
			tg.Promote(rig.Token, lobby, map[string]any{"can_manage_topics": true})
			u.remember("plum")
			g := u.gate()
			u.answersAfter(g, "first kept")
			u.Say("say second kept")
			u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
			before := len(tg.Topics(lobby)) - 1
			tg.DeleteTopic(rig.Token, lobby, plums)
			g.open(t)
			asked := text("reply.shut_gone", "name", "Topic 77")
			general.Await(asked)
			u.r.Until("both turns are over", func() bool {
				return u.r.Count("SELECT count(*) FROM turn WHERE state IN ('queued', 'running', 'waiting')") == 0
			})
			general.r.Kill()
			general.r.Start()
			general.Press("lost:", map[string]string{
				"here": text("reply.button_here"), "new": text("reply.button_topic"), "drop": text("reply.button_discard"),
			}[what])
			switch what {
			case "here":
				general.Await("first kept", "second kept")
			case "new":
				there := general.topic(general.newTopic(before))
				there.Await("first kept", "second kept")
				there.recall("plum")
			case "drop":
				general.r.Until("it is dropped", func() bool { return strings.Contains(general.Text(), "Dropped") })
				general.r.Rest()
			}
			general.r.Rest()
			all := general.in(general.r.Chat(lobby)).Text()
			want := 1
			if what == "drop" {
				want = 0
			}
			for _, answer := range []string{"first kept", "second kept"} {
				if n := strings.Count(all, answer); n != want {
					t.Errorf("%q is shown %d times in %s", answer, n, all)
				}
			}
			if n := strings.Count(all, asked); n != 1 {
				t.Errorf("asked %d times in %s", n, all)
			}
		})
	}
}

func TestAnAnswerForAClosedTopicGoesOnWhenItOpens(t *testing.T) {
	t.Parallel()
	for name, rights := range map[string]map[string]any{"by a person": nil, "by the bot, which may": {"can_manage_topics": true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			general := forum(t, rig.Options{})
			tg, u := general.r.Telegram, general.topic(plums)
			tg.Promote(rig.Token, lobby, rights)
			u.remember("plum")
			g := u.gate()
			u.answersAfter(g, "late answer")
			tg.CloseTopic(rig.Token, lobby, plums, anyone, true)
			g.open(t)
			said := text("reply.shut_closed", "name", "Topic 77")
			if rights == nil {
				general.Await(said)
				general.topic(pears).ask("say elsewhere", "elsewhere") // the others go on
				u.r.Kill()
				u.r.Start()
				general.ask("say here", "here")
				if strings.Contains(u.Text(), "late answer") {
					t.Error("it came although the topic is closed")
				}
				tg.CloseTopic(rig.Token, lobby, plums, anyone, false)
			}
			u.Await("late answer")
			u.recall("plum")
			u.r.Rest()
			if n := strings.Count(u.Text(), "late answer"); n != 1 {
				t.Errorf("it came %d times", n)
			}
			if n := strings.Count(general.Text(), said); n != 1 && rights == nil || n != 0 && rights != nil {
				t.Errorf("said %d times", n)
			}
			general.sound("TOPIC_CLOSED", "not enough rights")
		})
	}
}

func TestAPrivateTopicIsAConversationWithANameOfItsOwn(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Env: []string{unhurried}})
	tg := r.Telegram
	tg.SetFlags(rig.Token, map[string]any{"has_topics_enabled": true})
	r.Start()
	all := user{r.Chat(rig.Owner), t, r}
	lane := func(word string) user {
		before := tg.Topics(rig.Owner)
		all.Say("remember the word " + word)
		var id int64
		r.Until("it has a name", func() bool {
			for n, name := range tg.Topics(rig.Owner) {
				if before[n] == "" && strings.Contains(name, word) {
					id = n
				}
			}
			return id != 0
		})
		u := all.in(rig.Topic(r, rig.Owner, id, rig.Owner))
		u.Await("I will remember " + word)
		return u
	}
	one, two := lane("plum"), lane("pear")
	r.Kill()
	r.Start()
	one.recall("plum")
	two.recall("pear")
	one.sound()
}
