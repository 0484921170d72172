package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// each runs a test with every agent that needs nothing from elsewhere: one from
// Telegram, the other from the web chat; and from Feishu.
func each(t *testing.T, env []string, test func(t *testing.T, u user)) {
	t.Helper()
	for name, o := range map[string]rig.Options{
		"telegram/claude": {Agent: rig.Claude},
		"web/demo":        {Agent: rig.Demo, NoTelegram: true},
		"feishu/claude":   {Agent: rig.Claude, NoTelegram: true, Feishu: rig.Socket},
	} {
		o.Env = env
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, house(t, o))
		})
	}
}

func TestSessionIsKeptWhenATurnSucceeds(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		if before.native == "" || !before.live {
			t.Fatalf("status %+v", before)
		}
		process := u.process()
		u.kept(before, "plum")
		if now := u.process(); now != process {
			t.Errorf("process %v became %v", process, now)
		}
	})
}

// failing is what makes a turn fail.
func failing(u user) string {
	if u.status().agent == titles[rig.Demo] {
		return "fail"
	}
	return "fail 400"
}

func TestSessionIsKeptWhenATurnFails(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		u.ask(failing(u), start("error.agent_error", before.agent))
		u.kept(before, "plum")
	})
}

// start is the beginning of an error's text, up to its first detail.
func start(key, agent string) string {
	s, _, _ := strings.Cut(text(key, "agent", agent), "{")
	return strings.TrimSpace(s)
}

// slow is a turn that takes so many seconds.
func slow(u user, seconds int) string {
	words, _ := u.r.Words().Slow("late", seconds)
	return words
}

func TestSessionIsKeptWhenATurnIsStopped(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		process := u.process()
		u.Say(slow(u, 60))
		u.runs()
		u.ask("/stop", text("error.stopped"))
		u.kept(before, "plum")
		if now := u.process(); now != process {
			t.Errorf("process %v became %v", process, now)
		}
		if strings.Contains(u.Text(), "late-a") {
			t.Errorf("the stopped turn was answered: %s", u.Text())
		}
	})
}

func TestSessionIsKeptWhenATurnIsStoppedByItsButton(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	u.Say("stream 2000 20")
	u.Press("stop:")
	u.Await(text("error.stopped"))
	u.kept(before, "plum")
}

func TestSessionIsKeptWhenATurnTimesOut(t *testing.T) {
	t.Parallel()
	each(t, []string{"CLIGATE_TURN_TIMEOUT=5s"}, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		u.ask(slow(u, 600), text("error.timeout"))
		u.kept(before, "plum")
	})
}

func TestSessionIsKeptWhenItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		known := u.known()
		u.Say(slow(u, 600))
		u.runs()
		u.murder()
		u.news(known, start("error.crashed", before.agent))
		u.kept(before, "plum")
		u.asleep() // between turns: nobody notices who does not ask
		if now := u.status(); now.live {
			t.Errorf("status tells of a process: %s", now.text)
		}
		u.kept(before, "plum")
	})
}

func TestSessionIsKeptWhenTheDaemonIsKilled(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		u.Say(slow(u, 600))
		u.runs()
		known := u.known()
		u.r.Kill()
		u.r.Start()
		u.news(known, text("error.daemon_died"))
		u.kept(before, "plum")
		if left := u.r.Orphans(); len(left) > 0 {
			t.Error(left)
		}
	})
}

func TestSessionIsKeptWhenItsWorkerIsClosedForIdleness(t *testing.T) {
	t.Parallel()
	each(t, []string{"CLIGATE_WORKER_IDLE=500ms"}, func(t *testing.T, u user) {
		u.remember("plum")
		u.r.Until("the idle worker is closed", func() bool { return len(u.agents()) == 0 })
		before := u.status()
		if before.live {
			t.Errorf("status tells of a process: %s", before.text)
		}
		u.kept(before, "plum")
	})
}

func TestSessionIsKeptWhenTheModelChanges(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	before := u.status()
	u.ask("/model sim-small", text("command.model_set", "model", "sim-small", "when", text("command.applies_now")))
	u.kept(before, "plum")
	if now := u.status(); now.model != "sim-small" {
		t.Errorf("status %s", now.text)
	}
	// A dead process does not matter: the wish is stored and stated at the next
	// opening.
	u.murder()
	u.r.Until("the process is gone", func() bool { return len(u.agents()) == 0 })
	u.ask("/model sim-large", text("command.applies_reopen"))
	u.kept(before, "plum")
	last := u.journal("resume")
	if args := fmt.Sprint(last[len(last)-1].Args); !strings.Contains(args, "sim-large") {
		t.Errorf("resumed with %s", args)
	}
}

func TestSessionIsReplacedByNewAndUndoReturns(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		first := u.status()
		m := u.ask("/new", start("command.new", first.agent))
		if !has(m, "undo:") {
			t.Errorf("no way back is offered: %+v", m)
		}
		u.forgot()
		second := u.status()
		if second.session == first.session || second.native == first.native {
			t.Errorf("session %+v became %+v", first, second)
		}
		u.ask("/sessions", text("command.sessions", "n", 2))
		u.Press("undo:")
		u.Await(fmt.Sprintf("#%d (", first.session))
		u.kept(first, "plum")
		u.ask("/undo", fmt.Sprintf("#%d (", second.session)) // of the undo
		u.forgot()
	})
}

func has(m rig.Message, verb string) bool {
	for _, b := range m.Buttons {
		if strings.HasPrefix(b.Data, verb) {
			return true
		}
	}
	return false
}

func TestNewWithTextStartsTheNewSessionWithIt(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	u.ask("/new what was the word?", "the word was nothing")
	// Neither the old process nor its session serve the new one.
	if n := len(u.journal("start")); n != 2 {
		t.Errorf("%d sessions were started", n)
	}
	u.r.Until("the replaced session's process is closed", func() bool { return len(u.agents()) == 1 })
}

func TestAForkKnowsWhatWasSaidAndLeavesItsOriginAlone(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.ask("/fork", text("command.fork_none"))
	u.remember("plum")
	first := u.status()
	u.ask("/fork what was the word?", "the word was plum")
	second := u.status()
	if second.session == first.session || second.native == first.native {
		t.Errorf("the fork of %+v is %+v", first, second)
	}
	u.remember("pear")
	u.r.Kill()
	u.r.Start()
	u.kept(second, "pear")
	u.ask(fmt.Sprintf("/use %d", first.session), fmt.Sprintf("#%d (", first.session))
	u.kept(first, "plum")
	u.ask("/agent demo", text("command.agent_set", "agent", "Demo agent"))
	u.remember("plum")
	u.ask("/fork", text("command.fork_cannot", "agent", "Demo agent"))
}

func TestAForkThatTheDaemonDiesOverIsMadeOnce(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	u.ask("/fork", text("command.fork", "session", 2))
	u.r.Kill() // its session is not opened yet
	u.r.Start()
	u.ask("/fork", text("command.fork", "session", 2)) // nothing was said in it
	u.ask("what was the word?", "the word was plum")
	if n := len(u.journal("start")); n != 2 {
		t.Errorf("%d sessions were started", n)
	}
}

func TestSessionIsReplacedByUseOfAnother(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	first := u.status()
	u.ask("/new", start("command.new", first.agent))
	u.remember("pear")
	second := u.status()
	m := u.ask(fmt.Sprintf("/use %d", first.session), fmt.Sprintf("#%d (", first.session))
	if !has(m, "undo:") {
		t.Errorf("no way back is offered: %+v", m)
	}
	u.kept(first, "plum")
	u.Press("undo:")
	u.Await(fmt.Sprintf("#%d (", second.session))
	u.kept(second, "pear")
	u.ask("/use 99", text("command.use_missing", "session", 99))
	u.kept(second, "pear")
}

func TestSessionIsReplacedByAChangeOfAgentAndFoundAgain(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	first := u.status()
	m := u.ask("/agent demo", text("command.agent_set", "agent", "Demo agent"))
	if !has(m, "undo:") {
		t.Errorf("no way back is offered: %+v", m)
	}
	u.forgot()
	u.remember("pear")
	second := u.status()
	if second.agent != titles[rig.Demo] || second.session == first.session || second.native == first.native {
		t.Errorf("session %+v became %+v", first, second)
	}
	m = u.ask("/agent claude", text("command.agent_set", "agent", "Claude Code"))
	if !has(m, "undo:") {
		t.Errorf("no way back is offered: %+v", m)
	}
	u.kept(first, "plum")
	u.ask("/agent demo", text("command.agent_set", "agent", "Demo agent"))
	u.kept(second, "pear")
}

// workspaces writes a configuration with further workspaces and a model.
func workspaces(t *testing.T, names ...string) rig.Options {
	t.Helper()
	dir := t.TempDir()
	lines := []string{"agents: {claude: {model: sim-small}}", "workspaces:"}
	for _, n := range names {
		path := filepath.Join(dir, n)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "  - {name: "+n+", path: "+path+"}")
	}
	file := filepath.Join(dir, "cligate.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return rig.Options{Env: []string{"CLIGATE_CONFIG=" + file}}
}

func TestSessionIsReplacedByAChangeOfWorkspaceAndFoundAgain(t *testing.T) {
	t.Parallel()
	u := house(t, workspaces(t, "shop"))
	u.remember("plum")
	first := u.status()
	m := u.ask("/workspace shop", text("command.workspace_set", "workspace", "shop"))
	if !has(m, "undo:") {
		t.Errorf("no way back is offered: %+v", m)
	}
	u.forgot()
	u.remember("pear")
	known := u.known()
	u.Say("run pwd")
	u.Press("ask:", text("turn.allow"))
	u.news(known, "/shop")
	second := u.status()
	if second.session == first.session || second.native == first.native {
		t.Errorf("session %+v became %+v", first, second)
	}
	u.ask("/workspace 1", text("command.workspace_set", "workspace", "default"))
	u.kept(first, "plum")
	u.ask("/workspace shop", text("command.workspace_set", "workspace", "shop"))
	u.kept(second, "pear")
}

func TestSessionThatTheAgentHasLostIsToldAndFollowedWithARecap(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		before := u.status()
		u.r.Kill()
		for _, glob := range []string{u.r.Home() + "/.claude/projects/*/*", u.r.DataDir() + "/demo/*"} {
			files, err := filepath.Glob(glob)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		u.r.Start()
		known := u.known()
		u.Say("what was the word?")
		u.news(known, text("error.session_lost", "agent", before.agent))
		u.news(known, "the word was plum") // by the recap
		now := u.status()
		if now.session == before.session || now.native == before.native {
			t.Errorf("session %+v became %+v", before, now)
		}
		u.ask(fmt.Sprintf("/use %d", before.session), text("command.use_lost", "session", before.session))
		u.kept(now, "plum")
	})
}

func TestModelThatAnAgentCannotHaveChangesNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true})
	u.remember("plum")
	before := u.status()
	u.ask("/model large", "There is no model large")
	u.kept(before, "plum")
	// Chosen while no process can be asked, it is said to be open, with what the
	// agent was known to have in the daemon's earlier life; the next turn refuses
	// it, and the session goes on as before.
	u.r.Stop()
	u.r.Start()
	u.ask("/effort enormous", "no effort enormous")
	u.ask("/model large", text("command.model_unsure", "agent", titles[rig.Demo])+"\n"+text("command.model_listed", "names", "demo-large, demo-small"))
	u.ask("what was the word?", text("error.model_unknown", "agent", titles[rig.Demo], "detail", "large"))
	u.Await("of before again: ")
	u.kept(before, "plum")
}

func TestConfiguredModelIsTheDefaultOfEverySession(t *testing.T) {
	t.Parallel()
	o := workspaces(t)
	o.NoTelegram = true
	u := house(t, o)
	u.remember("plum")
	if s := u.status(); s.model != "sim-small" {
		t.Errorf("status %s", s.text)
	}
	u.ask("/model sim-large", text("command.model_set", "model", "sim-large", "when", text("command.applies_now")))
	u.asleep()
	u.recall("plum")
	if s := u.status(); s.model != "sim-large" {
		t.Errorf("the configured model came back: %s", s.text)
	}
}
