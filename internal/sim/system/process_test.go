package system

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cligate/internal/sim/rig"
)

// agents are the ways to speak to an agent.
var agents = []string{rig.Claude, rig.Demo}

// busy is a rig with a turn that runs for long, its prompt with the agent.
func busy(t *testing.T, agent string, env ...string) (*rig.Rig, *person) {
	t.Helper()
	r := rig.New(t, rig.Options{Agent: agent, Env: env})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "b"}
	p.tell(func(k string) (string, []string) { return r.Words().Slow(k, 60) })
	running(p)
	return r, p
}

// running waits until the agent has the prompt of the running turn.
func running(p *person) {
	p.t.Helper()
	p.r.Until("the prompt is written", func() bool { return p.r.Count("SELECT count(*) FROM attempt WHERE state = 'sent'") > 0 })
}

// kin returns the processes of the rig whose arguments contain what.
func kin(r *rig.Rig, what string) (pids []int) {
	for _, pid := range r.Processes() {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(raw, []byte(what)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// only is the one process of an agent. Right after the start there may be
// another for a moment: the daemon asks each agent what it can do.
func only(r *rig.Rig, what string) (pid int) {
	r.Until("one agent runs", func() bool {
		pids := kin(r, what)
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1
	})
	return pid
}

// agentName is what the arguments of an agent's process contain.
var agentName = map[string]string{rig.Claude: "stream-json", rig.Demo: "demo-agent"}

func TestKilledAgentEndsTheTurnAndNotTheSession(t *testing.T) {
	t.Parallel()
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r, p := busy(t, agent)
			if err := syscall.Kill(only(r, agentName[agent]), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			crashed(t, p)
		})
	}
}

// crashed expects one turn that failed because its agent died, and life after
// it in the same session.
func crashed(t *testing.T, p *person) {
	t.Helper()
	p.settle()
	if got := p.r.Values("SELECT state || ' ' || reason FROM turn"); len(got) != 1 || got[0] != "failed crashed" {
		t.Errorf("the turn is %v", got)
	}
	if _, _, ok := p.c.Find("retry:"); !ok {
		t.Error("no way to try again is offered")
	}
	p.last()
	if n := p.r.Count("SELECT count(DISTINCT session) FROM turn"); n != 1 {
		t.Errorf("%d sessions", n)
	}
	p.r.Judge()
	finish(t, p.r)
}

func TestKilledRunnerLeavesNothingAndEndsTheTurn(t *testing.T) {
	t.Parallel()
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r, p := busy(t, agent)
			pid := only(r, agentName[agent])
			if err := syscall.Kill(parent(t, pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.Until("the agent is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			crashed(t, p)
		})
	}
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var ppid int
	rest := raw[bytes.LastIndexByte(raw, ')')+1:]
	if _, err := fmt.Sscan(string(rest), &state, &ppid); err != nil {
		t.Fatal(err)
	}
	return ppid
}

func TestOrderlyEndTellsAboutTurnsThatRun(t *testing.T) {
	t.Parallel()
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r, p := busy(t, agent, "CLIGATE_DRAIN_LIMIT=300ms")
			p.tell(r.Words().Echo) // waits behind it
			r.Until("it waits", func() bool { return r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
			r.Stop()
			if left := r.Orphans(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if got := r.Values("SELECT state || ' ' || reason FROM turn ORDER BY id"); strings.Join(got, ",") != "interrupted shutdown,queued " {
				t.Errorf("turns are %q", got)
			}
			if _, _, ok := p.c.Find("cont:"); !ok {
				t.Errorf("the user was not told before the end, only\n%s", p.c.Text())
			}
			if clean := r.Values("SELECT value FROM meta WHERE key = 'clean_shutdown'"); len(clean) != 1 || clean[0] != "1" {
				t.Errorf("clean flag %v", clean)
			}
			r.Start()
			p.settle()
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

func TestOrderlyEndLetsShortTurnsEnd(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Env: []string{"CLIGATE_DRAIN_LIMIT=20s"}})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "e"}
	p.tell(func(k string) (string, []string) { return r.Words().Slow(k, 1) })
	running(p)
	r.Stop()
	if got := r.Values("SELECT state FROM turn"); len(got) != 1 || got[0] != "succeeded" {
		t.Errorf("the turn is %v", got)
	}
	p.c.Await("e1-1") // sent before the end
	r.Start()
	p.last()
	r.Judge()
	finish(t, r)
}

func TestSecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	r, p := busy(t, rig.Claude)
	cmd := exec.Command(rig.Build(t).Daemon, "serve")
	cmd.Env = r.Environ()
	cmd.Dir = r.Dir
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("another cligate")) {
		t.Errorf("got %v\n%s", err, out)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if !r.Alive() || r.Count("SELECT count(*) FROM turn WHERE state = 'running'") != 1 || len(kin(r, agentName[rig.Claude])) != 1 {
		t.Errorf("the first one suffered\n%s", r.Tail())
	}
	p.c.Say("/stop")
	p.settle()
	p.last()
	r.Judge()
	finish(t, r)
}

// TestNothingLeavesAStubbornChild lets the agent start processes that ignore
// every signal but one, in sessions of their own, and ends things in each way.
func TestNothingLeavesAStubbornChild(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *rig.Rig, p *person){
		"stop":   func(r *rig.Rig, p *person) { p.c.Say("/stop"); p.settle(); r.Stop() },
		"term":   func(r *rig.Rig, _ *person) { r.Stop() },
		"kill":   func(r *rig.Rig, _ *person) { r.Kill() },
		"idle":   func(r *rig.Rig, p *person) { p.c.Say("/stop"); p.settle() },
		"runner": func(r *rig.Rig, p *person) { killRunner(p.t, r); p.settle(); r.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"CLIGATE_DRAIN_LIMIT=100ms"}
			if name == "idle" {
				env = append(env, "CLIGATE_WORKER_IDLE=200ms")
			}
			r := rig.New(t, rig.Options{Env: env})
			r.Start()
			p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "c"}
			p.c.Say("child\nchild\nslow 60000")
			running(p)
			var kids []int
			r.Until("the children are there", func() bool {
				kids = kin(r, "trap")
				return len(kids) >= 2
			})
			end(r, p)
			r.Until("the children are gone", func() bool { return len(kin(r, "trap")) == 0 && len(kin(r, "sleep")) == 0 })
			if !r.Alive() {
				if left := r.Orphans(); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				r.Start()
			}
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

func killRunner(t *testing.T, r *rig.Rig) {
	t.Helper()
	pids := []int{only(r, agentName[rig.Claude])}
	if err := syscall.Kill(parent(t, pids[0]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestEveryPermissionIsNarrow looks at what the daemon wrote to the disk.
func TestEveryPermissionIsNarrow(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Start()
	(&person{t: t, r: r, c: r.Chat(rig.Owner), name: "n"}).last()
	err := filepath.WalkDir(r.DataDir(), func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return nil // files come and go
		}
		if fi, err := e.Info(); err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, r)
}
