package workertest

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

func seed(t *testing.T) string {
	t.Helper()
	return uuid.NewString()
}

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
	w, err := k.tryOpen(t, k.Driver(t), k.Unknown)
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

// wantStopped checks a turn that was interrupted, and that the session goes on.
func (k Kit) wantStopped(t *testing.T, w worker.Worker, r *turn) {
	t.Helper()
	began := time.Now()
	r.stop(errStopped)
	if err := r.wait(t); !errors.Is(err, errStopped) {
		t.Errorf("the turn ended with %v, want the cause of the stop", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	wantAlive(t, w)
	if got := say(t, w, k.Say[Recall]); got == "" {
		t.Error("no answer after the interrupt")
	}
	if n := r.host.Late(); n > 0 {
		t.Errorf("the host was used %d times after its turn", n)
	}
}

func interruptText(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Remember])
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	k.wantStopped(t, w, r)
	k.wantWord(t, w)
}

func interruptAtOnce(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.Await(t, "event", func(es []chat.Event) bool { return len(es) > 0 })
	k.wantStopped(t, w, r)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped) // before it began
	if err := w.Prompt(ctx, Input("hello"), NewHost(nil)); !errors.Is(err, errStopped) {
		t.Errorf("a prompt whose ctx had ended: %v", err)
	}
}

func interruptApproval(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(Undecided)
	r := prompt(t, w, k.Say[Approval], h)
	h.AwaitQuestions(t, 1)
	k.wantStopped(t, w, r)
	if h.Withdrawn() != 1 {
		t.Error("the question was not withdrawn")
	}
}

func failures(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	for act, code := range map[Act]chat.Code{FailLogin: chat.LoggedOut, FailQuota: chat.Quota} {
		wantCode(t, prompt(t, w, k.Say[act], NewHost(nil)).wait(t), code)
	}
	say(t, w, k.Say[Recall])
}

// survive tests an act that must cost nothing but itself.
func survive(a Act) func(t *testing.T, k Kit) {
	return func(t *testing.T, k Kit) {
		w := k.open(t, k.Driver(t), "")
		for range 2 {
			h := NewHost(nil)
			if err := prompt(t, w, k.Say[a], h).wait(t); err != nil {
				t.Fatalf("%v; so far: %s", err, h.story())
			}
			if h.Text() == "" || strings.Contains(h.Text(), "canary") {
				t.Errorf("answer: %.200q", h.Text())
			}
		}
		say(t, w, k.Say[Recall])
	}
}

func exit(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	err := prompt(t, w, k.Say[Exit], h).wait(t)
	wantCode(t, err, chat.Crashed)
	if h.Text() == "" {
		t.Error("the text before the crash is lost")
	}
	if d := chat.DetailOf(err); strings.Contains(d, "canary") {
		t.Errorf("stderr is shown: %q", d)
	}
	wantDone(t, w)
	// Nothing panics or hangs afterwards.
	if err := prompt(t, w, "hello", NewHost(nil)).wait(t); err == nil {
		t.Error("a dead worker answered")
	}
	_, _ = w.Set(t.Context(), chat.Settings{Model: "x"})
}

func mute(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	wantCode(t, prompt(t, w, k.Say[Mute], NewHost(nil)).wait(t), chat.Crashed)
	wantDone(t, w)
}

func deaf(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Deaf], h)
	h.AwaitText(t, "")
	r.stop(errStopped)
	if err := r.wait(t); !errors.Is(err, errStopped) {
		t.Errorf("the turn ended with %v, want the cause of the stop", err)
	}
	wantDone(t, w)
}

func closeInTurn(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := r.wait(t); err == nil {
		t.Error("the turn succeeded")
	}
	wantDone(t, w)
}

func children(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Children])
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if k.Left == nil {
		t.Fatal("the kit cannot tell what is left")
	}
	if left := k.Left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
