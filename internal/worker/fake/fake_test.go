package fake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
	"cligate/internal/worker/workertest"
)

type host struct {
	kinds []chat.EventKind
	text  string
}

func (h *host) Emit(_ context.Context, e chat.Event) error {
	h.kinds = append(h.kinds, e.Kind)
	h.text += e.Text
	return nil
}

func (h *host) Ask(context.Context, chat.Question) (chat.Answer, error) { return chat.Answer{}, nil }

func input(s string) chat.Input { return chat.Input{Pieces: []chat.Piece{{Text: s}}} }

func open(t *testing.T, d *fake.Driver, s worker.Spec) worker.Worker {
	t.Helper()
	w, err := d.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestTheFakeKeepsTheRulesOfDrivers(t *testing.T) {
	t.Parallel()
	k := workertest.Kit{
		Driver:  func(*testing.T) worker.Driver { return fake.New() },
		Kill:    func(w worker.Worker) { w.(*fake.Worker).Kill() },
		Unknown: "none",
		Say: map[workertest.Act]string{
			workertest.Remember: "remember the word plum",
			workertest.Recall:   "what was the word?",
		},
		Lacks: map[workertest.Act]string{},
	}
	for _, a := range workertest.Acts() {
		if k.Say[a] == "" {
			k.Lacks[a] = "its steps come from a script, not from the prompt"
		}
	}
	workertest.Run(t, k)
}

// kit makes an obedient agent show every act.
func kit(shared bool) workertest.Kit {
	k := workertest.Kit{
		Driver: func(*testing.T) worker.Driver {
			d := fake.Obedient()
			if shared {
				d.Declare(worker.AllAbilities()...)
			}
			return d
		},
		Kill: func(w worker.Worker) { w.(*fake.Worker).KillProcess() },
		Left: func() []string { return nil }, Unknown: "none",
		Say:   map[workertest.Act]string{},
		Other: chat.Settings{Model: "fake-small", Mode: "plan", Effort: "high"},
	}
	for _, a := range workertest.Acts() {
		k.Say[a] = string(a)
	}
	k.Say[workertest.Remember], k.Say[workertest.Recall] = "remember the word plum", "what was the word?"
	k.Say[workertest.Nudge] = "say nudged"
	k.Say[workertest.Halfway] = "remember the word plum\nstream"
	return k
}

func TestAnObedientFakeShowsEveryAct(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			t.Parallel()
			workertest.Run(t, kit(shared))
		})
	}
}

func TestMemoryOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	d := fake.New()
	w := open(t, d, worker.Spec{Session: 1, Seed: "s"})
	var h host
	if err := w.Prompt(t.Context(), input("remember the word plum"), &h); err != nil {
		t.Fatal(err)
	}
	if h.kinds[0] != chat.EventSession || h.kinds[1] != chat.EventSent {
		t.Errorf("events %v", h.kinds)
	}
	_ = w.Close()
	<-w.Done()
	w = open(t, d, worker.Spec{Session: 1, NativeID: w.NativeID()})
	h = host{}
	if err := w.Prompt(t.Context(), input("what was the word?"), &h); err != nil || h.text != "sthe word was plum" {
		t.Errorf("answered %q, %v", h.text, err)
	}
}

func TestAgentIsStrictAboutIDs(t *testing.T) {
	t.Parallel()
	d := fake.New()
	if _, err := d.Open(t.Context(), worker.Spec{Session: 1, NativeID: "x"}); chat.CodeOf(err) != chat.NoSession {
		t.Errorf("resumed an unknown id: %v", err)
	}
	_ = open(t, d, worker.Spec{Session: 1, Seed: "s"}).Close()
	if _, err := d.Open(t.Context(), worker.Spec{Session: 1, Seed: "s"}); chat.CodeOf(err) != chat.AgentError {
		t.Errorf("made the same session twice: %v", err)
	}
	_ = open(t, d, worker.Spec{Session: 1, Seed: "s", Begun: true}).Close()
}

func TestBreachesAreCounted(t *testing.T) {
	t.Parallel()
	d := fake.New().Script(fake.Wait(nil))
	w := open(t, d, worker.Spec{Session: 1, Seed: "s"})
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	done := make(chan error)
	go func() { done <- w.Prompt(ctx, input("a"), began1{host: &host{}, ch: began}) }()
	<-began
	if err := w.Prompt(ctx, input("b"), &host{}); chat.CodeOf(err) != chat.Protocol {
		t.Errorf("prompted twice at once: %v", err)
	}
	open(t, d, worker.Spec{Session: 1, Seed: "s", Begun: true})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if o := d.Overlaps(); len(o) != 2 {
		t.Errorf("counted %q, want two breaches", o)
	}
}

// began1 says when the prompt was taken.
type began1 struct {
	*host
	ch chan struct{}
}

func (b began1) Emit(ctx context.Context, e chat.Event) error {
	if e.Kind == chat.EventSent {
		close(b.ch)
	}
	return b.host.Emit(ctx, e)
}
