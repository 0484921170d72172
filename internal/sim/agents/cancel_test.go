package agents

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// cancelAtAnyMoment stops turns at random moments, from before the agent has
// read the prompt to after its end. The next turn must be its own, in the same
// process.
func cancelAtAnyMoment(t *testing.T, s subject, rounds int) { //nolint:thelper // it is the test
	w, err := s.driver.Open(t.Context(), worker.Spec{Session: 1, Workspace: t.TempDir(), Seed: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := workertest.Prompt(t, w, "say hi", nil); err != nil {
		t.Fatal(err)
	}
	pid := s.pid(t)
	scripts := []string{"stream 3 20", "tool 2\nsay end", "think\nsay end", "run sleep 0.05", "fail 529 1\nsay end"}
	for i := range rounds {
		a := workertest.NewHost(workertest.Allow)
		cancel, result := workertest.Begin(t, w, scripts[i%len(scripts)], a)
		time.AfterFunc(rand.N(120*time.Millisecond), func() { cancel(errStop) })
		if err := <-result; err != nil && chat.CodeOf(err) != chat.Stopped {
			t.Fatalf("round %d: %v", i, err)
		}
		want := fmt.Sprintf("this is %d", i)
		next, err := workertest.Prompt(t, w, "say "+want, nil)
		if err != nil || next.Blocks() != want+"|" {
			t.Fatalf("round %d was answered %q, %v", i, next.Blocks(), err)
		}
	}
	if s.pid(t) != pid {
		t.Error("the process was ended on the way")
	}
}
