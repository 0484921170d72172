package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/web/client"
)

// What happens while an agent is busy, slow or hung.

func TestMessagesWhileTheAgentStartsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_AGENTS_CLAUDE_ENV=SIM_CLAUDE_DELAY=3s"}})
	u.Tell("say apple", "apple", "apple")
	u.r.Until("the first message is routed", func() bool { return u.r.Count("SELECT count(*) FROM turn") == 1 })
	u.Await(text("reply.doing")) // a sign of life, long before the agent has one
	if n := len(u.journal("start")); n != 0 {
		t.Errorf("the agent was there already")
	}
	u.Tell("say banana", "banana", "banana")
	u.r.Until("the second message is routed", func() bool { return u.r.Count("SELECT count(*) FROM turn") == 2 })
	u.Tell("say cherry", "cherry", "cherry")
	u.Await("apple", "banana", "cherry")
	u.r.Rest()
	u.r.Judge()
	got := u.prompts()
	got[0], _, _ = strings.Cut(got[0], "\n") // behind it the agent is told about its chat, once
	if !slices.Equal(got, []string{"say apple", "say banana", "say cherry"}) {
		t.Errorf("prompts %q", got)
	}
	if n := len(u.journal("start", "resume")); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

func TestHungTurnFreesItsQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, told string }{
		"by its limit":                  {"CLIGATE_TURN_TIMEOUT=3s", text("error.timeout")},
		"when it gives no sign of life": {"CLIGATE_STALL_STOP=3s", text("error.stalled", "agent", titles[rig.Claude])},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := house(t, rig.Options{NoTelegram: true, Env: []string{c.env}})
			u.remember("plum")
			before := u.status()
			known := u.known()
			u.Say("hang")
			u.runs()
			u.Say("what was the word?")
			u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
			u.Say("say last")
			told := u.news(known, c.told)
			answer, last := u.news(known, "the word was plum"), u.news(known, "last")
			order := []string{}
			for _, m := range u.Shown() {
				if m.ID == told.ID || m.ID == answer.ID || m.ID == last.ID {
					order = append(order, m.ID)
				}
			}
			if !slices.Equal(order, []string{told.ID, answer.ID, last.ID}) {
				t.Errorf("shown in another order:\n%s", u.Text())
			}
			u.kept(before, "plum")
			u.ask("/queue", text("command.queue_empty"))
		})
	}
}

func TestStoppedIsSaidWhenItIsTrue(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	late := filepath.Join(u.r.Dir, "work", "late")
	// An agent that obeys no interrupt and no polite signal, in the middle of a
	// tool with an effect.
	u.Say("deaf\nrun touch started; sleep 30; touch late")
	u.Press("ask:", text("turn.allow"))
	u.r.Until("the tool runs", func() bool { return exists(filepath.Join(u.r.Dir, "work", "started")) })
	known := u.known()
	u.Say("/stop")
	u.Say("/stop") // twice is harmless
	u.news(known, text("error.stopped"))
	for _, pid := range u.r.Processes() {
		if strings.Contains(cmdline(pid), "touch late") {
			t.Errorf("it was said and was not true: %s", cmdline(pid))
		}
	}
	if exists(late) {
		t.Error("the tool went on")
	}
	u.kept(before, "plum")
	u.r.Stop()
	if left := u.r.Orphans(); len(left) > 0 || exists(late) {
		t.Error(left)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestOldTurnIsNeverTakenForTheNewSessions(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	old := u.status()
	u.Tell("slow 2500\nsay from the old one", "old", "from the old one")
	u.runs()
	m := u.ask("/new", text("command.old_goes_on"))
	if !has(m, "stop:") {
		t.Errorf("no way to end the old turn: %+v", m)
	}
	known := u.known()
	u.Say("what was the word?")
	first := u.news(known, "from the old one")
	second := u.news(known, "the word was nothing")
	order := []string{}
	for _, m := range u.Shown() {
		if m.ID == first.ID || m.ID == second.ID {
			order = append(order, m.ID)
		}
	}
	if !slices.Equal(order, []string{first.ID, second.ID}) {
		t.Errorf("shown in another order:\n%s", u.Text())
	}
	if now := u.status(); now.session == old.session || now.native == old.native {
		t.Errorf("session %+v became %+v", old, now)
	}
	u.r.Rest()
	u.r.Judge()
}

func TestManyChatsNeedFewProcesses(t *testing.T) {
	t.Parallel()
	const most, chats = 3, 10
	r := rig.New(t, rig.Options{NoTelegram: true, Env: []string{fmt.Sprintf("CLIGATE_WORKERS_MAX=%d", most)}})
	r.Start()
	c := client.New(r.Socket(), "en")
	defer c.Close()
	var us []user
	for i := range chats {
		u := user{r.WebChat(fmt.Sprintf("chat%d", i)), t, r}
		us = append(us, u)
		u.Say(fmt.Sprintf("remember the word %s", word(i)))
	}
	check := func() {
		t.Helper()
		if s, err := c.Status(t.Context()); err != nil || s.Workers > most {
			t.Errorf("%d processes, %v", s.Workers, err)
		}
		// One more, for a moment: right after the start each agent is asked what
		// it can do.
		r.Until("as many processes as are allowed", func() bool { return len(us[0].agents()) <= most })
	}
	for i, u := range us {
		u.Await("I will remember " + word(i))
		check()
	}
	for i, u := range us {
		u.recall(word(i))
		check()
	}
	// Who waits for a process is told, and waits no longer than it takes.
	for _, u := range us[:most+1] {
		u.Say("slow 1500\nsay done here")
	}
	for _, u := range us[:most+1] {
		u.Await("done here")
	}
}

func word(i int) string { return "word" + string(rune('a'+i)) }

// Long turns of several people at once, on every platform, and a restart in
// the middle: nobody is ever shown anything of another's.
func TestAnswersNeverReachAnotherChat(t *testing.T) {
	t.Parallel()
	owners := []int64{3001, 3002}
	r := rig.New(t, rig.Options{Owners: owners, Feishu: rig.Socket})
	r.Start()
	var us []user
	for i := range 6 {
		u := user{t: t, r: r}
		switch n := i / 3; i % 3 {
		case 0:
			u.Talk = r.Chat(owners[n])
		case 1:
			u.Talk = r.FeishuChat(owners[n])
		case 2:
			u.Talk = r.WebChat(fmt.Sprintf("chat%d", i))
		}
		us = append(us, u)
	}
	for round := range 3 {
		for i, u := range us {
			u.Say(fmt.Sprintf("stream 10 30\nsay %s round%d", word(i), round))
		}
		if round == 1 {
			us[0].runs()
			r.Kill()
			r.Start()
		}
		for i, u := range us {
			u.r.Until("the turns of a chat are over", func() bool {
				return strings.Contains(u.Text(), fmt.Sprintf("%s round%d", word(i), round)) || round == 1 && strings.Contains(u.Text(), text("error.daemon_died"))
			})
		}
	}
	r.Rest()
	for i, u := range us {
		for j := range us {
			if got := u.Text(); i != j && strings.Contains(got, word(j)) {
				t.Errorf("chat %s shows words of %s:\n%s", u.Chat, us[j].Chat, got)
			}
		}
		var mine int
		for _, m := range u.Shown() {
			mine += strings.Count(m.Text, word(i)+" round2")
		}
		if mine != 1 {
			t.Errorf("chat %s shows its last answer %d times", u.Chat, mine)
		}
	}
}

// A session that was replaced is no target of anything, also after a restart.
func TestReplacedSessionReceivesNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	other := u.in(u.r.WebChat("another"))
	u.remember("plum")
	old := u.status()
	u.ask("/new", start("command.new", ""))
	u.remember("pear")
	now := u.status()
	u.r.Kill()
	u.r.Start()
	other.ask("what was the word?", "the word was nothing")
	if s := other.status(); s.session == old.session || s.session == now.session {
		t.Errorf("the other chat uses session %d", s.session)
	}
	u.kept(now, "pear")
	for _, e := range u.journal("resume") {
		if e.Session == old.native {
			t.Error("the replaced session was opened again")
		}
	}
	u.ask(fmt.Sprintf("/use %d", old.session), fmt.Sprintf("#%d (", old.session))
	u.kept(old, "plum")
}
