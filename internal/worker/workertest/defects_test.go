package workertest_test

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// defect is one way to break a rule.
type defect struct {
	rule string
	name string
	says string // what the suite says about it
	harm func(b *broken)
}

// Ways to be wrong that several rules are tried with.
var errAny = chat.E(chat.AgentError, "something", nil)

// mixedUp reports every failure as one of no class.
func mixedUp(b *broken) {
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		if err := w.Worker.Prompt(ctx, in, h); err != nil {
			return errAny
		}
		return nil
	}
}

// hopeful calls everything a success.
func hopeful(b *broken) {
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		_ = w.Worker.Prompt(ctx, in, h)
		return nil
	}
}

// deadly ends its process when a turn is stopped.
func deadly(b *broken) {
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		err := w.Worker.Prompt(ctx, in, h)
		if ctx.Err() != nil {
			w.KillProcess()
		}
		return err
	}
}

// talkative takes a turn's host for that of the one before.
func talkative(b *broken) {
	var before worker.Host
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		if before != nil {
			_ = before.Emit(ctx, chat.Event{Kind: chat.EventText})
		}
		before = h
		return w.Worker.Prompt(ctx, in, h)
	}
}

// fragile ends turns that it should have survived.
func fragile(b *broken) {
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		return errors.Join(w.Worker.Prompt(ctx, in, h), chat.E(chat.Protocol, "what was that", nil))
	}
}

// forgetful begins every session anew.
func forgetful(b *broken) { b.spec = func(s *worker.Spec) { s.NativeID = "" } }

// immortal never says that its process is gone.
func immortal(b *broken) {
	b.done = func(<-chan struct{}) <-chan struct{} { return make(chan struct{}) }
}

// deafened does not hear that a question is taken back.
func deafened(b *broken) {
	b.ask = func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error) {
		go func() { _, _ = h.Ask(context.WithoutCancel(ctx), q) }() // ends with the test process
		<-ctx.Done()
		return chat.Answer{}, ctx.Err()
	}
}

// blind loses the files of a prompt.
func blind(b *broken) {
	b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
		return w.Worker.Prompt(ctx, workertest.Input(in.Text()), h)
	}
}

// asks changes what is asked.
func asks(change func(q *chat.Question)) func(b *broken) {
	return func(b *broken) {
		b.ask = func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error) {
			change(&q)
			return h.Ask(ctx, q)
		}
	}
}

// hears changes what is answered.
func hears(change func(a *chat.Answer, err *error)) func(b *broken) {
	return func(b *broken) {
		b.ask = func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error) {
			a, err := h.Ask(ctx, q)
			change(&a, &err)
			return a, err
		}
	}
}

// allows takes everything for a yes.
func allows(a *chat.Answer, err *error) { a.Effect, *err = chat.EffectAllow, nil }

// emits changes what is told of some kind; false = nothing is told.
func emits(kind chat.EventKind, change func(e *chat.Event) bool) func(b *broken) {
	return func(b *broken) {
		b.emit = func(_ worker.Host, e chat.Event) []chat.Event {
			if e.Kind == kind && !change(&e) {
				return nil
			}
			return []chat.Event{e}
		}
	}
}

// sums tells figures that grow from turn to turn.
func sums(b *broken) {
	var mu sync.Mutex
	var sum chat.Usage
	emits(chat.EventUsage, func(e *chat.Event) bool {
		mu.Lock()
		defer mu.Unlock()
		sum.In += e.Usage.In
		sum.Out += e.Usage.Out
		sum.CostUSD += e.Usage.CostUSD
		u := sum
		e.Usage = &u
		return true
	})(b)
}

// pretends takes settings and does nothing about them.
func pretends(b *broken) {
	b.set = func(chat.Settings) (chat.Applied, error) { return chat.AppliedNow, nil }
}

// littered leaves a process.
func littered(b *broken) {
	b.kit = func(k *workertest.Kit) { k.Left = func() []string { return []string{"17 sleep"} } }
}

// restless has another process whenever it is asked.
func restless(b *broken) {
	n := 0
	b.process = func(string) string { n++; return strconv.Itoa(n) }
}

// hides leaves an ability out of what is declared.
func hides(a worker.Ability) func(b *broken) {
	return func(b *broken) {
		b.probe = func(t *worker.Traits) {
			var can worker.Abilities
			for _, c := range t.Can {
				if c != a {
					can = append(can, c)
				}
			}
			t.Can = can
		}
	}
}

// together makes every way to be wrong that is given happen, in a process that
// sessions share.
func together(harm func(b *broken)) func(b *broken) {
	return func(b *broken) { b.shared = true; harm(b) }
}
