package workertest

import (
	"slices"
	"strings"
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
	for _, can := range table[tr.Agent] {
		if !tr.Can.Has(can) {
			t.Errorf("%s was seen to have the ability %q and does not declare it", tr.Agent, can)
		}
	}
	for i, can := range tr.Can {
		if !slices.Contains(worker.AllAbilities(), can) || slices.Contains(tr.Can[:i], can) {
			t.Errorf("ability %q is unknown or declared twice", can)
		}
	}
	for a, can := range implied {
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

// nudge puts words into a turn that has begun to use a tool.
func (k Kit) nudge(t *testing.T, w worker.Worker, a Act, into func(chat.Input) error) {
	t.Helper()
	h := NewHost(Allow)
	r := prompt(t, w, k.Say[a], h)
	h.Await(t, "tool", func(es []chat.Event) bool {
		return slices.ContainsFunc(es, func(e chat.Event) bool { return e.Kind == chat.EventTool })
	})
	if err := into(Input(k.Say[Nudge])); err != nil {
		t.Errorf("the words were not taken: %v", err)
	}
	if err := r.wait(t); err != nil || !strings.Contains(h.Text(), "nudged") {
		t.Errorf("the words did not reach the turn: %v, %s", err, h.Text())
	}
	if got := say(t, w, k.Say[Recall]); strings.Contains(got, "nudged") {
		t.Errorf("the words reached the next turn: %q", got)
	}
}

func steered(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	k.nudge(t, w, Busy, func(in chat.Input) error { return w.Steer(t.Context(), in) })
}

// replaced puts words into a turn whose tool would go on for longer than
// anybody waits.
func replaced(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	x, ok := w.(worker.Replacer)
	if !ok {
		t.Fatal("the worker replaces nothing")
	}
	k.nudge(t, w, LongTool, func(in chat.Input) error { return x.Replace(t.Context(), in) })
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
