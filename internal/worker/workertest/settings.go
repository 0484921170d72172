package workertest

import (
	"path"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// change makes a live session use other settings and returns its worker, which
// is another one where the agent needs that.
func (k Kit) change(t *testing.T, d worker.Driver, w worker.Worker, s chat.Settings) worker.Worker {
	t.Helper()
	process := w.Process()
	applied, err := w.Set(t.Context(), s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	switch applied {
	case chat.AppliedNow, chat.AppliedNext:
		if w.Process() != process {
			t.Errorf("%+v applies %s, and cost the process", s, applied)
		}
		wantAlive(t, w)
		return w
	case chat.AppliedReopen:
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		wantDone(t, w)
		return k.openSpec(t, d, worker.Spec{NativeID: w.NativeID(), Model: s.Model, Mode: s.Mode, Effort: s.Effort})
	default:
		t.Fatalf("%+v applies %q", s, applied)
		return nil
	}
}

// opened opens a session with settings and then resumes it without: what it
// was set to before must not stay by accident, for some of it asks nobody.
func (k Kit) opened(t *testing.T, s worker.Spec, look func(t *testing.T, w worker.Worker, other bool)) {
	t.Helper()
	d := k.Driver(t)
	w := k.openSpec(t, d, s)
	look(t, w, true)
	if k.NoResume {
		return
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	wantDone(t, w)
	again := k.open(t, d, w.NativeID())
	look(t, again, false)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	s.NativeID = w.NativeID()
	look(t, k.openSpec(t, d, s), true)
}

func openMode(t *testing.T, k Kit) {
	if k.Other.Mode == "" {
		t.Log("the kit names no other mode")
		return
	}
	k.opened(t, worker.Spec{Mode: k.Other.Mode}, func(t *testing.T, w worker.Worker, other bool) {
		t.Helper()
		say(t, w, k.Say[Recall])
		if got := w.Info().Mode; (got == k.Other.Mode) != other {
			t.Errorf("the mode is %q, wished for: %v", got, other)
		}
	})
}

func openModel(t *testing.T, k Kit) {
	if k.Other.Model == "" {
		t.Log("the kit names no other model")
		return
	}
	name := path.Base(k.Other.Model)
	d := k.Driver(t)
	w := k.openSpec(t, d, worker.Spec{Model: k.Other.Model})
	for range 2 {
		if got := say(t, w, k.Say[Model]); !strings.Contains(got, name) || !strings.Contains(w.Info().Model, name) {
			t.Errorf("the model is %q, said to be %q, want %q", got, w.Info().Model, name)
		}
		if k.NoResume {
			return
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		wantDone(t, w)
		w = k.openSpec(t, d, worker.Spec{Model: k.Other.Model, NativeID: w.NativeID()})
	}
}

func switchModel(t *testing.T, k Kit) {
	other := k.Other.Model
	if other == "" {
		t.Log("the kit names no other model")
		return
	}
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	name := path.Base(other) // some agents put the service before it
	if got := say(t, w, k.Say[Model]); strings.Contains(got, name) {
		t.Fatalf("%q is no other model: %q", other, got)
	}
	w = k.change(t, d, w, chat.Settings{Model: other})
	if got := say(t, w, k.Say[Model]); !strings.Contains(got, name) {
		t.Errorf("the model is %q, want %q", got, other)
	}
	if got := w.Info().Model; !strings.Contains(got, name) {
		t.Errorf("the agent is said to use %q, want %q", got, other)
	}
	k.wantWord(t, w)
}

func switchMode(t *testing.T, k Kit) {
	k.switchTo(t, chat.Settings{Mode: k.Other.Mode}, func(i worker.Info) string { return i.Mode })
}

func switchEffort(t *testing.T, k Kit) {
	k.switchTo(t, chat.Settings{Effort: k.Other.Effort}, func(i worker.Info) string { return i.Effort })
}

// switchTo changes a mode or an effort and checks that the agent says so and
// has forgotten nothing.
func (k Kit) switchTo(t *testing.T, s chat.Settings, in func(worker.Info) string) {
	t.Helper()
	want := s.Mode + s.Effort
	if want == "" {
		t.Log("the kit names no other")
		return
	}
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	if got := in(w.Info()); got == want {
		t.Fatalf("%q is in use already", want)
	}
	w = k.change(t, d, w, s)
	k.wantWord(t, w)
	if got := in(w.Info()); got != want {
		t.Errorf("the agent is said to use %q, want %q", got, want)
	}
}

// refused checks that what is not declared is refused in a way that people can
// be told: without effect, at once, as unsupported.
func refused(t *testing.T, k Kit) {
	d := k.Driver(t)
	w := k.open(t, d, "")
	say(t, w, k.Say[Recall])
	for can, s := range map[worker.Ability]chat.Settings{
		worker.Models: {Model: "other"}, worker.Modes: {Mode: "other"}, worker.Efforts: {Effort: "high"},
	} {
		if k.can.Has(can) {
			continue
		}
		if applied, err := w.Set(t.Context(), s); chat.CodeOf(err) != chat.Unsupported {
			t.Errorf("%s: %q, %v", can, applied, err)
		}
	}
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	if !k.can.Has(worker.Steer) {
		wantCode(t, w.Steer(t.Context(), Input("stop that")), chat.Unsupported)
	}
	if x, ok := w.(worker.Replacer); ok && !k.can.Has(worker.Replace) {
		wantCode(t, x.Replace(t.Context(), Input("stop that")), chat.Unsupported)
	}
	if err := r.wait(t); err != nil {
		t.Errorf("the turn was disturbed: %v", err)
	}
	if c, ok := d.(worker.Cataloguer); ok && !k.can.Has(worker.Catalogue) {
		_, err := c.Sessions(t.Context(), k.dir)
		wantCode(t, err, chat.Unsupported)
	}
	if x, ok := d.(worker.Terminal); ok && !k.can.Has(worker.TakesOver) && len(x.Terminal(w.NativeID())) > 0 {
		t.Error("a command line for a terminal that the agent does not declare")
	}
	say(t, w, k.Say[Recall])
}

func catalogue(t *testing.T, k Kit) {
	d := k.Driver(t)
	c, ok := d.(worker.Cataloguer)
	if !ok {
		t.Fatal("the driver lists nothing")
	}
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	list, err := c.Sessions(t.Context(), k.dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, n := range list {
		if n.ID == w.NativeID() {
			found = true
			if n.Used.IsZero() || n.Title == "" {
				t.Errorf("listed as %+v", n)
			}
		}
	}
	if !found {
		t.Errorf("%q is not in %+v", w.NativeID(), list)
	}
	if other, err := c.Sessions(t.Context(), k.workspace(t)); err != nil || len(other) > 0 {
		t.Errorf("another workspace has %+v, %v", other, err)
	}
}

func takesOver(t *testing.T, k Kit) {
	d := k.Driver(t)
	x, ok := d.(worker.Terminal)
	if !ok {
		t.Fatal("the driver knows no terminal")
	}
	w := k.open(t, d, "")
	say(t, w, k.Say[Remember])
	line := x.Terminal(w.NativeID())
	if len(line) < 2 || line[0] == "" || !strings.Contains(strings.Join(line, " "), w.NativeID()) {
		t.Errorf("session %q goes on by %q", w.NativeID(), line)
	}
}
