package workertest

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// The rules here are about the calls of the contract beside Prompt.

func probe(t *testing.T, k Kit) {
	tr, err := k.Driver(t).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tr.Agent == "" || !tr.LoggedIn || tr.Can.Has(worker.Resume) == k.NoResume {
		t.Errorf("traits %+v", tr)
	}
	for can, a := range map[worker.Ability]Act{worker.Approvals: Approval, worker.Questions: Question} {
		if k.Say[a] != "" && !tr.Can.Has(can) {
			t.Errorf("an agent that can be made to do %q has the traits %+v", a, tr)
		}
	}
}

// toQueue reports whether an error of Steer sends the message to the queue.
func toQueue(err error) bool {
	code := chat.CodeOf(err)
	return code == chat.Unsupported || code == chat.Conflict
}

func steerIdle(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	if err := w.Steer(t.Context(), Input(k.Say[Recall])); !toQueue(err) {
		t.Errorf("nothing runs: %v", err)
	}
	say(t, w, k.Say[Recall])
	if err := w.Steer(t.Context(), Input(k.Say[Recall])); !toQueue(err) {
		t.Errorf("the turn is over: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Steer(t.Context(), Input(k.Say[Recall])); !toQueue(err) {
		t.Errorf("the worker is closed: %v", err)
	}
}

func steerBusy(t *testing.T, k Kit) {
	d := k.Driver(t)
	tr, err := d.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := k.open(t, d, "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	// An agent that takes words in between two tools sends these to the queue.
	if err := w.Steer(t.Context(), Input(k.Say[Recall])); err == nil && !tr.Can.Has(worker.Steer) || err != nil && !toQueue(err) {
		t.Errorf("traits %+v, steered: %v", tr, err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	say(t, w, k.Say[Recall])
}

func set(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Remember])
	if applied, err := w.Set(t.Context(), chat.Settings{}); err != nil || applied != chat.AppliedNow {
		t.Errorf("nothing changed: %q, %v", applied, err)
	}
	for _, s := range []chat.Settings{{Model: "no-such\nmodel"}, {Mode: "no such mode"}} {
		applied, err := w.Set(t.Context(), s)
		switch chat.CodeOf(err) {
		case chat.Invalid, chat.ModelUnknown, chat.Unsupported:
		default:
			t.Errorf("%+v: %q, %v", s, applied, err)
		}
	}
	wantAlive(t, w)
	k.wantWord(t, w)
}

func closed(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	wantDone(t, w)
	if err := prompt(t, w, k.Say[Recall], NewHost(nil)).wait(t); err == nil {
		t.Error("a closed worker answered")
	}
	if _, err := w.Set(t.Context(), chat.Settings{Model: "x"}); err == nil {
		t.Error("a closed worker took settings")
	}
}
