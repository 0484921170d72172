package workertest

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// equalTurns is how many equal turns are compared. The figures of the last must
// be near those of the first: a sum would be that many times as much.
const equalTurns = 4

// figures runs equal turns and returns what each is said to have cost; the last
// one runs in a worker that was opened again.
func (k Kit) figures(t *testing.T) []chat.Usage {
	t.Helper()
	d := k.Driver(t)
	w := k.open(t, d, "")
	var all []chat.Usage
	for i := range equalTurns + 1 {
		if i == equalTurns {
			if k.NoResume {
				break
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			w = k.open(t, d, w.NativeID())
		}
		h := NewHost(nil)
		if err := prompt(t, w, k.Say[Fixed], h).wait(t); err != nil {
			t.Fatal(err)
		}
		told := h.Of(chat.EventUsage)
		if len(told) == 0 {
			t.Fatalf("turn %d has no figures: %s", i, h.story())
		}
		all = append(all, *told[len(told)-1].Usage)
	}
	return all
}

// wantEqual checks that a figure is there and does not sum up.
func wantEqual[N int64 | float64](t *testing.T, what string, all []chat.Usage, in func(chat.Usage) N) {
	t.Helper()
	first := in(all[0])
	if first <= 0 {
		t.Errorf("no %s in %+v", what, all[0])
	}
	for i, u := range all[equalTurns-1:] {
		got := in(u)
		if got > 3*first || got < 0 || got == 0 && i == 0 { // after a resume a sum may not be known, and is then not told
			t.Errorf("%s of equal turns: %v at first, %v later", what, first, got)
		}
	}
}

func tokens(t *testing.T, k Kit) {
	all := k.figures(t)
	wantEqual(t, "tokens in", all, func(u chat.Usage) int64 { return u.In })
	wantEqual(t, "tokens out", all, func(u chat.Usage) int64 { return u.Out })
}

// spending checks that a turn can be ended because of what it has used, before
// it has ended by itself.
func spending(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(Allow)
	r := prompt(t, w, k.Say[Spend], h)
	used := func(es []chat.Event) (tokens int64) {
		for _, e := range es {
			if e.Kind == chat.EventUsage {
				tokens = e.Usage.In + e.Usage.Out
			}
		}
		return tokens
	}
	h.Await(t, "figures of a turn that runs", func(es []chat.Event) bool { return used(es) > 0 })
	h.AwaitText(t, "")
	before := used(h.Events())
	r.stop(errStopped)
	wantCode(t, r.wait(t), chat.Stopped)
	if after := used(h.Events()); after < before {
		t.Errorf("%d tokens while it ran, %d at the end", before, after)
	}
	say(t, w, k.Say[Recall])
}

func money(t *testing.T, k Kit) {
	wantEqual(t, "money", k.figures(t), func(u chat.Usage) float64 { return u.CostUSD })
}

func window(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Fixed], h).wait(t); err != nil {
		t.Fatal(err)
	}
	var last chat.Usage
	for _, e := range h.Of(chat.EventUsage) {
		last = *e.Usage
	}
	if last.Window <= 0 || last.Used <= 0 || last.Used > last.Window {
		t.Errorf("%d of %d tokens are in use", last.Used, last.Window)
	}
}

// compact asks for it as the agent's own user would. The session stays, and so
// does the process.
func compact(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Recall])
	process, id := w.Process(), w.NativeID()
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Compact], h).wait(t); err != nil {
		t.Fatalf("%v; so far: %s", err, h.story())
	}
	say(t, w, k.Say[Recall])
	if w.Process() != process || w.NativeID() != id {
		t.Errorf("process %q → %q, session %q → %q", process, w.Process(), id, w.NativeID())
	}
}

func think(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	if err := prompt(t, w, k.Say[Think], h).wait(t); err != nil {
		t.Fatal(err)
	}
	thought := ""
	for _, e := range h.Of(chat.EventThought) {
		thought += e.Text
	}
	if thought == "" || h.Text() == "" || h.Text() == thought {
		t.Errorf("thought %q, answered %q", thought, h.Text())
	}
}

// mayHave is how many there must be of what an agent may be able to take.
func (k Kit) mayHave(a worker.Ability) string {
	if k.can.Has(a) {
		return "1"
	}
	return "0"
}
