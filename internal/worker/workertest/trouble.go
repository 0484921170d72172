package workertest

import (
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

func failures(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	for act, code := range map[Act]chat.Code{FailLogin: chat.LoggedOut, FailQuota: chat.Quota} {
		wantCode(t, prompt(t, w, k.Say[act], NewHost(nil)).wait(t), code)
	}
	say(t, w, k.Say[Recall])
}

// fails tests a failure whose class an agent that declares classes must tell,
// and that costs the turn only.
func fails(a Act, want chat.Code) func(t *testing.T, k Kit) {
	return func(t *testing.T, k Kit) {
		w := k.open(t, k.Driver(t), "")
		err := prompt(t, w, k.Say[a], NewHost(nil)).wait(t)
		switch got := chat.CodeOf(err); {
		case got == want:
		case err == nil, got == chat.NoSession, got == chat.Crashed, got == chat.Internal, k.can.Has(worker.Failures):
			t.Errorf("error code %q, want %q: %v", got, want, err)
		}
		wantAlive(t, w)
		if k.Say[Recall] != "" && a != FailContext { // a full context stays full
			say(t, w, k.Say[Recall])
		}
	}
}

// cut: some agents call half an answer a success and nothing shows it. Either
// way the turn ends, once, and the session goes on.
func cut(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Cut], h).wait(t); chat.CodeOf(err) == chat.NoSession || chat.CodeOf(err) == chat.Internal {
		t.Errorf("a cut stream: %v", err)
	}
	if h.Text() == "" {
		t.Error("what came before the cut is lost")
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
