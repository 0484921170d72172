package workertest

import (
	"errors"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// The rules here are for agents whose process serves several sessions.

// pair opens two sessions of one workspace.
func (k Kit) pair(t *testing.T, d worker.Driver) (one, two worker.Worker) {
	t.Helper()
	one = k.open(t, d, "")
	two = k.openSpec(t, d, worker.Spec{Session: 2})
	if one.Process() != two.Process() || one.Process() == "" {
		t.Errorf("processes %q and %q", one.Process(), two.Process())
	}
	return one, two
}

// stream starts a turn that shows text for a while.
func (k Kit) stream(t *testing.T, w worker.Worker) *turn {
	t.Helper()
	r := prompt(t, w, k.Say[Stream], NewHost(nil))
	r.host.AwaitText(t, "")
	return r
}

func shared(t *testing.T, k Kit) {
	d := k.Driver(t)
	one, two := k.pair(t, d)
	say(t, one, k.Say[Remember])
	if got := say(t, two, k.Say[Recall]); strings.Contains(got, "plum") {
		t.Errorf("the other session knows: %q", got)
	}
	k.wantWord(t, one)
	if one.NativeID() == two.NativeID() {
		t.Errorf("both are %q", one.NativeID())
	}
}

func sharedStop(t *testing.T, k Kit) {
	one, two := k.pair(t, k.Driver(t))
	first, second := k.stream(t, one), k.stream(t, two)
	first.stop(errStopped)
	if err := first.wait(t); !errors.Is(err, errStopped) {
		t.Errorf("the stopped turn ended with %v", err)
	}
	if err := second.wait(t); err != nil {
		t.Errorf("the other turn ended with %v", err)
	}
	wantAlive(t, one)
	wantAlive(t, two)
	say(t, one, k.Say[Recall])
	say(t, two, k.Say[Recall])
}

func sharedClose(t *testing.T, k Kit) {
	one, two := k.pair(t, k.Driver(t))
	first, second := k.stream(t, one), k.stream(t, two)
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if err := first.wait(t); err == nil {
		t.Error("the turn of a closed session succeeded")
	}
	wantDone(t, one)
	if err := second.wait(t); err != nil {
		t.Errorf("the other turn ended with %v", err)
	}
	wantAlive(t, two)
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	wantDone(t, two)
	if left := k.left(); len(left) > 0 {
		t.Errorf("nobody uses the process any more, and it is there: %q", left)
	}
}

func sharedDeath(t *testing.T, k Kit) {
	d := k.Driver(t)
	one, two := k.pair(t, d)
	idle := k.openSpec(t, d, worker.Spec{Session: 3})
	say(t, idle, k.Say[Remember])
	// Another workspace has another process, which is not concerned.
	far := k.openSpec(t, d, worker.Spec{Session: 4, Workspace: k.workspace(t)})
	first, second, third := k.stream(t, one), k.stream(t, two), k.stream(t, far)
	k.kill(t, one)
	wantCode(t, first.wait(t), chat.Crashed)
	wantCode(t, second.wait(t), chat.Crashed)
	if err := third.wait(t); err != nil {
		t.Errorf("a turn of another process ended with %v", err)
	}
	for _, w := range []worker.Worker{one, two, idle} {
		wantDone(t, w)
	}
	wantAlive(t, far)
	again := k.openSpec(t, d, worker.Spec{Session: 3, NativeID: idle.NativeID()})
	k.wantWord(t, again)
}

func sharedApart(t *testing.T, k Kit) {
	d := k.Driver(t)
	one := k.open(t, d, "")
	two := k.openSpec(t, d, worker.Spec{Session: 2, Workspace: k.workspace(t)})
	if one.Process() == two.Process() {
		t.Errorf("both are in %q", one.Process())
	}
	say(t, one, k.Say[Recall])
	say(t, two, k.Say[Recall])
}
