//go:build agents

package agents

import (
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheRealCopilotKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	_, k := acpKit(t, "copilot", noSession)
	workertest.Run(t, k)
}

// TestTheRealCopilotPlans changes the mode: in another one the agent puts words
// of its own around the user's, so that our model does not hear the suite's.
func TestTheRealCopilotPlans(t *testing.T) { //nolint:paralleltest // the agents are heavy
	l, k := acpKit(t, "copilot", noSession)
	w, err := k.Driver(t).Open(t.Context(), worker.Spec{Session: 1, Workspace: l.Workspace(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := w.Info().Mode; got != "agent" {
		t.Errorf("it begins in %q", got)
	}
	if applied, err := w.Set(t.Context(), chat.Settings{Mode: "plan"}); err != nil || applied != chat.AppliedNow || w.Info().Mode != "plan" {
		t.Errorf("%q, %v, in %q", applied, err, w.Info().Mode)
	}
	if _, err := workertest.Prompt(t, w, "say hello", nil); err != nil {
		t.Fatal(err)
	}
	rs := l.Server.Requests()
	if users := rs[len(rs)-1].Users; !strings.Contains(strings.Join(users, " "), "[[PLAN]]") {
		t.Errorf("the model was told %q", users)
	}
	if _, err := w.Set(t.Context(), chat.Settings{Mode: "autopilot"}); err != nil || !worker.Unasked(w.Info().Mode) {
		t.Errorf("in %q, %v", w.Info().Mode, err)
	}
}
