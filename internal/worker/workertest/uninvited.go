package workertest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/worker"
)

func agentTurn(t *testing.T, k Kit) {
	h, ended := NewHost(Allow), make(chan error, 1)
	w := k.openSpec(t, k.Driver(t), worker.Spec{
		Uninvited: func(context.Context) (worker.Host, func(error)) {
			return h, func(err error) { h.end(); ended <- err }
		},
	})
	if err := prompt(t, w, k.Say[AgentTurn], NewHost(Allow)).wait(t); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil || h.Text() == "" {
			t.Errorf("the agent's own turn: %q, %v", h.Text(), err)
		}
	case <-time.After(patience()):
		t.Fatalf("no turn of the agent's own ended; so far: %s", h.story())
	}
	say(t, w, k.Say[Recall])
	if n := h.Late(); n > 0 {
		t.Errorf("the host was used %d times after its turn", n)
	}
}

// agentTurnDropped: nobody takes the agent's own turn, and a turn that a person
// asks for is none the worse for it.
func agentTurnDropped(t *testing.T, k Kit) {
	var asked atomic.Int32
	w := k.openSpec(t, k.Driver(t), worker.Spec{
		Uninvited: func(context.Context) (worker.Host, func(error)) { asked.Add(1); return nil, nil },
	})
	if err := prompt(t, w, k.Say[AgentTurn], NewHost(Allow)).wait(t); err != nil {
		t.Fatal(err)
	}
	if !eventually(patience(), func() bool { return asked.Load() > 0 }) {
		t.Fatal("no turn of the agent's own began")
	}
	say(t, w, k.Say[Recall])
	wantAlive(t, w)
}
