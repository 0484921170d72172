package workertest_test

import (
	"context"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
	"cligate/internal/worker/workertest"
)

// broken is a driver that does something wrong. What is nil it does right.
type broken struct {
	*fake.Driver
	shared bool // its sessions share a process

	kit     func(k *workertest.Kit)
	probe   func(t *worker.Traits)
	spec    func(s *worker.Spec)
	open    func(w *brokenWorker, err error) error
	prompt  func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error
	emit    func(h worker.Host, e chat.Event) []chat.Event
	ask     func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error)
	steer   func(in chat.Input, err error) error
	replace func(w *brokenWorker, in chat.Input) error
	set     func(s chat.Settings) (chat.Applied, error)
	id      func(id string) string
	process func(id string) string
	done    func(ch <-chan struct{}) <-chan struct{}
	closing func(w *brokenWorker) error
	list    func(all []worker.Native) []worker.Native
	line    func(line []string) []string
}

// brokenWorker is a worker of a broken driver.
type brokenWorker struct {
	*fake.Worker
	b *broken
}

// brokenHost is a host as a broken driver uses it.
type brokenHost struct {
	worker.Host
	b *broken
}

func (b *broken) Probe(ctx context.Context) (worker.Traits, error) {
	t, err := b.Driver.Probe(ctx)
	if b.probe != nil {
		b.probe(&t)
	}
	return t, err
}

func (b *broken) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if b.spec != nil {
		b.spec(&s)
	}
	opened, err := b.Driver.Open(ctx, s)
	w := &brokenWorker{b: b}
	if err == nil {
		w.Worker = opened.(*fake.Worker)
	}
	if b.open != nil {
		err = b.open(w, err)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (b *broken) Sessions(ctx context.Context, workspace string) ([]worker.Native, error) {
	all, err := b.Driver.Sessions(ctx, workspace)
	if b.list != nil {
		all = b.list(all)
	}
	return all, err
}

func (b *broken) Terminal(id string) []string {
	line := b.Driver.Terminal(id)
	if b.line != nil {
		line = b.line(line)
	}
	return line
}

func (w *brokenWorker) Prompt(ctx context.Context, in chat.Input, h worker.Host) error {
	h = brokenHost{h, w.b}
	if w.b.prompt != nil {
		return w.b.prompt(w, ctx, in, h)
	}
	return w.Worker.Prompt(ctx, in, h)
}

func (h brokenHost) Emit(ctx context.Context, e chat.Event) error {
	events := []chat.Event{e}
	if h.b.emit != nil {
		events = h.b.emit(h.Host, e)
	}
	for _, e := range events {
		if err := h.Host.Emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (h brokenHost) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	if h.b.ask != nil {
		return h.b.ask(ctx, h.Host, q)
	}
	return h.Host.Ask(ctx, q)
}

func (w *brokenWorker) Steer(ctx context.Context, in chat.Input) error {
	if w.b.steer != nil {
		return w.b.steer(in, w.Worker.Steer(ctx, in))
	}
	return w.Worker.Steer(ctx, in)
}

func (w *brokenWorker) Replace(ctx context.Context, in chat.Input) error {
	if w.b.replace != nil {
		return w.b.replace(w, in)
	}
	return w.Worker.Replace(ctx, in)
}

func (w *brokenWorker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if w.b.set != nil {
		return w.b.set(s)
	}
	return w.Worker.Set(ctx, s)
}

func (w *brokenWorker) NativeID() string {
	if w.b.id != nil {
		return w.b.id(w.Worker.NativeID())
	}
	return w.Worker.NativeID()
}

func (w *brokenWorker) Process() string {
	if w.b.process != nil {
		return w.b.process(w.Worker.Process())
	}
	return w.Worker.Process()
}

func (w *brokenWorker) Done() <-chan struct{} {
	if w.b.done != nil {
		return w.b.done(w.Worker.Done())
	}
	return w.Worker.Done()
}

func (w *brokenWorker) Close() error {
	if w.b.closing != nil {
		return w.b.closing(w)
	}
	return w.Worker.Close()
}

// brokenKit is the kit of a driver with a defect.
func brokenKit(breakIt func(b *broken)) workertest.Kit {
	b := &broken{Driver: fake.Obedient()}
	breakIt(b)
	if b.shared {
		b.Declare(worker.AllAbilities()...)
	}
	k := workertest.Kit{
		Driver:  func(*testing.T) worker.Driver { return b },
		Kill:    func(w worker.Worker) { w.(*brokenWorker).KillProcess() },
		Left:    func() []string { return nil },
		Unknown: "none",
		Say:     map[workertest.Act]string{},
		Other:   chat.Settings{Model: "fake-small", Mode: "plan", Effort: "high"},
	}
	for _, a := range workertest.Acts() {
		k.Say[a] = string(a)
	}
	k.Say[workertest.Remember], k.Say[workertest.Recall] = "remember the word plum", "what was the word?"
	k.Say[workertest.Nudge] = "say nudged"
	k.Say[workertest.Halfway] = "remember the word plum\nstream"
	if b.kit != nil {
		b.kit(&k)
	}
	return k
}
