package workertest

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

func twoTurns(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Remember])
	process, id := w.Process(), w.NativeID()
	k.wantWord(t, w)
	if w.Process() != process || w.NativeID() != id || process == "" || id == "" {
		t.Errorf("process %q → %q, session %q → %q", process, w.Process(), id, w.NativeID())
	}
	wantAlive(t, w)
}

func idKnown(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Recall], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if w.NativeID() == "" {
		t.Error("no id")
	}
	for _, e := range h.Events() {
		if e.Kind == chat.EventSession && e.Text != w.NativeID() {
			t.Errorf("reported %q, has %q", e.Text, w.NativeID())
		}
	}
}

func (k Kit) kill(t *testing.T, w worker.Worker) {
	t.Helper()
	if k.Kill != nil {
		k.Kill(w)
		return
	}
	pid, _, ok := proc.ParseIdentity(w.Process())
	if !ok {
		t.Fatalf("no process in %q", w.Process())
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func killAndResume(t *testing.T, k Kit) {
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	k.kill(t, w)
	wantDone(t, w)
	k.wantResumed(t, d, w.NativeID())
}

func closeAndResume(t *testing.T, k Kit) {
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	wantDone(t, w)
	k.wantResumed(t, d, w.NativeID())
}

// wantResumed checks that a session can be opened again and that nothing of
// its past is taken for an answer.
func (k Kit) wantResumed(t *testing.T, d worker.Driver, id string) {
	t.Helper()
	if k.NoResume {
		return
	}
	w := k.open(t, d, id)
	got := say(t, w, k.Say[Recall])
	if strings.Count(got, "plum") != 1 {
		t.Errorf("after a resume the answer is %q", got)
	}
	if w.NativeID() != id {
		t.Errorf("session %q became %q", id, w.NativeID())
	}
}

func killInTurn(t *testing.T, k Kit) {
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	k.kill(t, w)
	wantCode(t, r.wait(t), chat.Crashed)
	wantDone(t, w)
	k.wantResumed(t, d, w.NativeID())
}

func unknownID(t *testing.T, k Kit) {
	if k.NoResume {
		return
	}
	w, err := k.tryOpen(t, k.Driver(t), worker.Spec{NativeID: k.Unknown})
	if err == nil { // an agent that only says so when it is asked something
		err = prompt(t, w, "hello", NewHost(nil)).wait(t)
	}
	wantCode(t, err, chat.NoSession)
}

func sentFirst(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Recall], h).wait(t); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, e := range h.Events() {
		switch e.Kind {
		case chat.EventSent:
			sent++
		case chat.EventText, chat.EventTool, chat.EventThought:
			if sent == 0 {
				t.Fatalf("%s before the prompt was sent", e.Kind)
			}
		default:
		}
	}
	if sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

// chosenID checks the id, and that a seed which may have been used once is no
// obstacle: that is how a session is found whose id was never stored.
func chosenID(t *testing.T, k Kit) {
	d, seed := k.Driver(t), uuid.NewString()
	w := k.openSpec(t, d, worker.Spec{Seed: seed})
	say(t, w, k.Say[Remember])
	if !strings.Contains(w.NativeID(), seed) {
		t.Errorf("session %q, want the chosen %q", w.NativeID(), seed)
	}
	k.kill(t, w)
	wantDone(t, w)
	k.wantWord(t, k.openSpec(t, d, worker.Spec{Seed: seed, Begun: true}))
}

// resumeElsewhere opens a session in another folder. An agent may refuse that;
// what it may not do is to begin an empty session in silence.
func resumeElsewhere(t *testing.T, k Kit) {
	if k.NoResume {
		return
	}
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	wantDone(t, w)
	there, err := k.tryOpen(t, d, worker.Spec{NativeID: w.NativeID(), Workspace: k.workspace(t)})
	if err == nil {
		h := NewHost(nil)
		if err = prompt(t, there, k.Say[Recall], h).wait(t); err == nil {
			if !strings.Contains(h.Text(), "plum") {
				t.Errorf("the session is empty: %q", h.Text())
			}
			return
		}
	}
	t.Logf("refused: %v", err)
	k.wantResumed(t, d, w.NativeID()) // and nothing is lost by the try
}

// apart checks that what is said in one session is not known in another of the
// same workspace.
func apart(t *testing.T, k Kit) {
	d := k.Driver(t)
	one := k.open(t, d, "")
	two := k.openSpec(t, d, worker.Spec{Session: 2})
	say(t, one, k.Say[Remember])
	if got := say(t, two, k.Say[Recall]); strings.Contains(got, "plum") {
		t.Errorf("the other session knows: %q", got)
	}
	if one.NativeID() == two.NativeID() {
		t.Errorf("both are %q", one.NativeID())
	}
	if same := one.Process() == two.Process(); same && !k.can.Has(worker.Shared) {
		t.Error("they share a process, which the agent does not declare")
	}
	k.wantWord(t, one)
}

// fork checks both directions: the new session knows what was said before, and
// the other does not learn what is said in the new one.
func fork(t *testing.T, k Kit) {
	d := k.Driver(t)
	one := k.open(t, d, "")
	say(t, one, k.Say[Fixed])
	two := k.openSpec(t, d, worker.Spec{Session: 2, Fork: one.NativeID()})
	say(t, two, k.Say[Remember])
	if id := two.NativeID(); id == "" || id == one.NativeID() {
		t.Errorf("the fork of %q is %q", one.NativeID(), id)
	}
	if got := say(t, one, k.Say[Recall]); strings.Contains(got, "plum") {
		t.Errorf("the origin learns what is said in the fork: %q", got)
	}
	k.wantWord(t, two)
	three := k.openSpec(t, d, worker.Spec{Session: 3, Fork: two.NativeID()})
	k.wantWord(t, three)
	k.kill(t, three)
	wantDone(t, three)
	k.wantResumed(t, d, three.NativeID())
	_, err := k.tryOpen(t, d, worker.Spec{Session: 4, Fork: k.Unknown})
	wantCode(t, err, chat.NoSession)
}
