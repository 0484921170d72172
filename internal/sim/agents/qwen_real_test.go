//go:build agents

package agents

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheRealQwenKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	_, k := acpKit(t, "qwen", noSession)
	k.Other.Mode = "plan"
	for _, a := range []workertest.Act{workertest.FailOverload, workertest.FailQuota} {
		delete(k.Say, a)
		k.Lacks[a] = "it tries again for minutes before it says so"
	}
	conform(t, "qwen", k)
}

// TestTheRealQwenSaysThatItIsNotLoggedIn is the half of the suite's rule that
// does not take minutes.
func TestTheRealQwenSaysThatItIsNotLoggedIn(t *testing.T) { //nolint:paralleltest // the agents are heavy
	l, k := acpKit(t, "qwen", noSession)
	w, err := k.Driver(t).Open(t.Context(), worker.Spec{Session: 1, Workspace: l.Workspace(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := workertest.Prompt(t, w, "fail 401", nil); chat.CodeOf(err) != chat.LoggedOut {
		t.Errorf("ended with %v", err)
	}
	if a, err := workertest.Prompt(t, w, "say alive", nil); err != nil || a.Text() != "alive" {
		t.Errorf("%q, %v", a.Text(), err)
	}
}
