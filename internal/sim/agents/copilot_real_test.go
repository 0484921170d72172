//go:build agents

package agents

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheRealCopilotKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	_, k := acpKit(t, "copilot", noSession)
	delete(k.Say, workertest.Seen)
	k.Lacks[workertest.Seen] = "it puts words of its own behind the user's; that it sees pictures is looked at where the model is"
	conform(t, "copilot", k)
}

// TestTheRealCopilotSeesPictures looks at what the model was sent.
func TestTheRealCopilotSeesPictures(t *testing.T) { //nolint:paralleltest // the agents are heavy
	l, k := acpKit(t, "copilot", noSession)
	dir := l.Workspace(t)
	w, err := k.Driver(t).Open(t.Context(), worker.Spec{Session: 1, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	file := filepath.Join(dir, "photo.png")
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	in := workertest.Input("say seen")
	in.Pieces[0].Files = []chat.FileRef{{ID: "1", Name: "photo.png", Path: file}}
	if err := w.Prompt(t.Context(), in, workertest.NewHost(nil)); err != nil {
		t.Fatal(err)
	}
	rs := l.Server.Requests()
	if n := rs[len(rs)-1].Images; n != 1 {
		t.Errorf("the model was sent %d pictures", n)
	}
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
