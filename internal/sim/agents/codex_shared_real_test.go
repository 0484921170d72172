//go:build agents

package agents

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

// sharedCodex opens two sessions of one workspace that act unasked.
func sharedCodex(t *testing.T) (l *lab.Lab, d *codex.Driver, one, two worker.Worker, spec worker.Spec) {
	t.Helper()
	l = lab.New(t, "codex")
	d = codex.New(codex.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
	spec = worker.Spec{Session: 1, Workspace: l.Workspace(t), Mode: "yolo"}
	open := func() worker.Worker {
		w, err := d.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		return w
	}
	one, two = open(), open()
	if one.Process() != two.Process() {
		t.Fatalf("processes %s and %s", one.Process(), two.Process())
	}
	return l, d, one, two, spec
}

// until waits for ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func TestTheRealCodexStopsItsOwnCommandsOnly(t *testing.T) {
	l, _, one, two, _ := sharedCodex(t)
	runs := func(seconds string) bool {
		return slices.ContainsFunc(l.Left(), func(s string) bool { return strings.Contains(s, "timeout "+seconds) })
	}
	stop, ended := workertest.Begin(t, one, "run timeout 71 tail -f /dev/null", workertest.NewHost(nil))
	stopOther, otherEnded := workertest.Begin(t, two, "run timeout 72 tail -f /dev/null", workertest.NewHost(nil))
	until(t, "both commands", func() bool { return runs("71") && runs("72") })
	stop(chat.E(chat.Stopped, "", nil))
	if err := <-ended; chat.CodeOf(err) != chat.Stopped {
		t.Errorf("ended with %v", err)
	}
	until(t, "the end of the stopped command", func() bool { return !runs("71") })
	if !runs("72") {
		t.Error("the other session's command is gone")
	}
	stopOther(chat.E(chat.Stopped, "", nil))
	<-otherEnded
	until(t, "the end of the other command", func() bool { return !runs("72") })
	for _, w := range []worker.Worker{one, two} {
		if _, err := workertest.Prompt(t, w, "say after", nil); err != nil {
			t.Error(err)
		}
	}
}

func TestTheRealCodexKilledLosesNoSession(t *testing.T) {
	_, d, one, two, spec := sharedCodex(t)
	for _, w := range []worker.Worker{one, two} {
		if _, err := workertest.Prompt(t, w, "remember the word plum", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, ended := workertest.Begin(t, one, "run timeout 73 tail -f /dev/null", workertest.NewHost(nil))
	pid, _, ok := proc.ParseIdentity(one.Process())
	if !ok || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("cannot kill %q", one.Process())
	}
	if err := <-ended; chat.CodeOf(err) != chat.Crashed {
		t.Errorf("ended with %v", err)
	}
	<-two.Done() // idle, on the same process
	for _, w := range []worker.Worker{one, two} {
		spec.NativeID = w.NativeID()
		again, err := d.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		h, err := workertest.Prompt(t, again, "what was the word?", nil)
		if err != nil || !strings.Contains(h.Text(), "plum") {
			t.Errorf("%q, %v", h.Text(), err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheRealCodexLetsASessionGoWhileItsProcessLives(t *testing.T) {
	l, _, one, two, spec := sharedCodex(t)
	for _, w := range []worker.Worker{one, two} {
		if _, err := workertest.Prompt(t, w, "remember the word plum", nil); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := codex.New(codex.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
	spec.NativeID = one.NativeID()
	if _, err := elsewhere.Open(t.Context(), spec); chat.CodeOf(err) != chat.Unavailable {
		t.Errorf("a session that is in use: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	there, err := elsewhere.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if h, err := workertest.Prompt(t, there, "what was the word?", nil); err != nil || !strings.Contains(h.Text(), "plum") {
		t.Errorf("%q, %v", h.Text(), err)
	}
}
