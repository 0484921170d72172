package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// configured writes a configuration with these lines.
func configured(t *testing.T, o rig.Options, lines ...string) rig.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cligate.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Env = append(o.Env, "CLIGATE_CONFIG="+file)
	return o
}

// settings are the mode and the effort that /status tells.
func (u user) settings() (mode, effort string) {
	u.t.Helper()
	s := u.status()
	line := find(s.text, "command.status_settings", "mode", `(.+?)`, "effort", `(.+)`)
	if line == nil {
		u.t.Fatalf("no settings in %q", s.text)
	}
	return line[1], line[2]
}

func TestSessionIsKeptWhenModeAndEffortChange(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true})
	u.remember("plum")
	before := u.status()
	u.ask("/mode plan", text("command.mode_set", "mode", "plan", "when", text("command.applies_now")))
	u.ask("/effort high", text("command.effort_set", "effort", "high", "when", text("command.applies_now")))
	u.kept(before, "plum")
	if mode, effort := u.settings(); mode != "plan" || effort != "high" {
		t.Errorf("mode %s, effort %s", mode, effort)
	}
	u.asleep() // they are stated at the next opening
	u.kept(before, "plum")
	if mode, effort := u.settings(); mode != "plan" || effort != "high" {
		t.Errorf("after a resume mode %s, effort %s", mode, effort)
	}
	u.ask("/effort enormous", "no effort enormous")
	u.kept(before, "plum")
}

func TestModeWithoutAskingNeedsTheOperatorsWord(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true})
	u.remember("plum")
	u.ask("/mode yolo", text("command.mode_not_allowed", "mode", "yolo", "agent", "Demo agent", "name", "demo"))
	if mode, _ := u.settings(); mode != "default" {
		t.Errorf("mode %s", mode)
	}
	v := house(t, configured(t, rig.Options{Agent: rig.Demo, NoTelegram: true}, "agents: {demo: {unattended: true}}"))
	v.remember("plum")
	before := v.status()
	v.ask("/mode yolo", text("command.mode_set", "mode", "yolo", "when", text("command.applies_now")))
	v.kept(before, "plum")
	if mode, _ := v.settings(); mode != "yolo" {
		t.Errorf("mode %s", mode)
	}
}

func TestAnotherAgentIsToldWhatWasSaidWhenAsked(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"/agent demo recap", "/agent demo"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			u := house(t, rig.Options{NoTelegram: true})
			u.remember("plum")
			first := u.status()
			u.ask(how, text("command.agent_set", "agent", "Demo agent"))
			if !strings.HasSuffix(how, "recap") {
				known := u.known()
				u.Press("recap:")
				u.news(known, text("command.recap_set"))
			}
			u.recall("plum") // by the recap
			second := u.status()
			u.recall("plum") // by its memory
			u.ask("/agent claude", text("command.agent_set", "agent", "Claude Code"))
			u.kept(first, "plum")
			u.ask("/agent demo", text("command.agent_set", "agent", "Demo agent"))
			u.kept(second, "plum")
		})
	}
}

func TestLostSessionIsAskedAboutWhenSoConfigured(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true, Env: []string{"CLIGATE_SESSIONS_ON_LOST=ask"}})
	u.remember("plum")
	before := u.status()
	u.r.Kill()
	files, err := filepath.Glob(u.r.DataDir() + "/demo/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	u.r.Start()
	u.ask("what was the word?", text("turn.lost_ask", "agent", titles[rig.Demo]))
	if now := u.status(); now.session != before.session {
		t.Errorf("nobody chose, and session %d became %d", before.session, now.session)
	}
	known := u.known()
	u.Press("renew:", text("turn.button.renew"))
	u.news(known, "the word was plum") // by the recap
	if now := u.status(); now.session == before.session {
		t.Error("the lost session is still current")
	}
}

func TestSessionGoesOnInATerminalAndComesBack(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	m := u.ask("/handoff", "handed over")
	if want := regexp.MustCompile(`cd \S*/work && \S+ --resume ` + regexp.QuoteMeta(before.native)); !want.MatchString(m.Text) {
		t.Errorf("printed %q", m.Text)
	}
	for _, pid := range u.agents() {
		if line := cmdline(pid); strings.Contains(line, before.native) { // not one that another agent is looked at with
			t.Errorf("its process lives: %s", line)
		}
	}
	if now := u.status(); !strings.Contains(now.text, text("command.status_parked")) {
		t.Errorf("status %s", now.text)
	}
	u.kept(before, "plum")
}

func TestStandingPermissionIsGivenUsedAndTakenBack(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		words, answer := u.r.Words().Ask("pear")
		u.Say(words)
		u.Press("ask:", text("turn.allow_always"))
		u.Await(answer...)
		u.ask("/new", start("command.new", ""))
		known := u.known()
		u.Say(words)
		u.news(known, answer[len(answer)-1]) // nobody was asked
		u.ask("/rules", text("command.rules", "n", 1))
		u.ask("/rules remove 1", text("command.rule_removed", "n", 1))
		known = u.known()
		u.Say(words)
		u.Press("ask:", text("turn.allow"))
		u.news(known, answer[len(answer)-1])
	})
}

func TestAgentsAreListedWithWhatTheyCan(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.r.Until("the agents were looked at", func() bool {
		m := u.ask("/agents", "Demo agent (demo)")
		return strings.Contains(m.Text, "Claude Code (claude)") && strings.Count(m.Text, fmt.Sprintf("%.4s", text("command.agent_can"))) >= 2
	})
}

func TestWordsReachTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	u.Say("run sleep 4\nsay done")
	u.Press("ask:", text("turn.allow"))
	known := u.known()
	u.Say("/steer say pear")
	u.news(known, text("router.steered"))
	u.r.Rest()
	if n := u.r.Count("SELECT count(*) FROM turn WHERE state = 'succeeded'"); n != 2 {
		t.Errorf("%d turns succeeded; the words are part of the one that ran\n%s", n, u.Text())
	}
	u.recall("plum")
}

func TestSessionFromATerminalIsTakenOver(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	// As if that had happened in a terminal: the ledger does not know it.
	u.r.Kill()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(u.r.DataDir(), "cligate.db"+suffix)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	u.r.Start()
	u = user{u.r.WebChat("other"), t, u.r}
	m := u.ask("/sessions", text("command.foreign", "agent", "Claude Code"))
	if !strings.Contains(m.Text, "plum") {
		t.Errorf("listed as %q", m.Text)
	}
	u.Press("take:")
	u.Await("goes on here")
	u.recall("plum")
	if now := u.status(); now.native != before.native {
		t.Errorf("session %s became %s", before.native, now.native)
	}
}
