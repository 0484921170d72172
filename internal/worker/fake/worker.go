package fake

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var (
	_ worker.Worker   = (*Worker)(nil)
	_ worker.Replacer = (*Worker)(nil)
)

// Worker is one live process of the scripted agent.
type Worker struct {
	driver  *Driver
	spec    worker.Spec
	process string
	done    chan struct{}
	die     sync.Once

	mu   sync.Mutex
	id   string
	now  chat.Settings
	busy bool
	ear  ear
	own  sync.WaitGroup // turns of the agent's own that are to come
}

// ear is what the running turn is told meanwhile.
type ear struct {
	open  bool
	words []string
	drop  context.CancelFunc // ends the step that runs
}

// Prompt implements worker.Worker.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	if !w.begin() {
		return chat.E(chat.Protocol, "two prompts at once", nil)
	}
	defer w.end()
	if w.dead() {
		return w.driver.died()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	id := w.NativeID()
	if err := host.Emit(ctx, chat.Event{Kind: chat.EventSession, Text: id}); err != nil {
		return err
	}
	steps := w.driver.next(id, in.Text())
	if err := host.Emit(ctx, chat.Event{Kind: chat.EventSent}); err != nil {
		return err
	}
	return w.play(ctx, &Running{Host: host, In: in, Prompt: in.Text(), worker: w}, steps)
}

// play runs the steps; the death of the process ends them, and withdraws what
// they ask.
func (w *Worker) play(ctx context.Context, r *Running, steps []Step) error {
	turn := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the turn
		select {
		case <-w.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for _, s := range steps {
		replaced, err := w.step(ctx, r, s)
		switch {
		case w.dead() && w.driver.obeys && turn.Err() != nil:
			return context.Cause(turn)
		case w.dead():
			return w.driver.died()
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case replaced:
			return w.listen(ctx, r)
		case err != nil:
			return err
		}
	}
	return w.listen(ctx, r)
}

// step runs one step, which words that replace it may end.
func (w *Worker) step(ctx context.Context, r *Running, s Step) (replaced bool, err error) {
	one, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.ear.drop = cancel
	w.mu.Unlock()
	err = s(one, r)
	w.mu.Lock()
	w.ear.drop = nil
	w.mu.Unlock()
	return one.Err() != nil, err
}

// listen answers the words that came meanwhile, if the agent obeys words, until
// there are no more; from then on words come too late for this turn.
func (w *Worker) listen(ctx context.Context, r *Running) error {
	for {
		w.mu.Lock()
		words := w.ear.words
		w.ear.words = nil
		if len(words) == 0 {
			w.ear.open = false
		}
		w.mu.Unlock()
		if len(words) == 0 || !w.driver.obeys {
			return nil
		}
		for _, s := range words {
			text := strings.TrimPrefix(s, "say ")
			if err := r.Emit(ctx, chat.Event{Kind: chat.EventText, Text: text}); err != nil {
				return err
			}
		}
	}
}

func (w *Worker) begin() bool {
	w.mu.Lock()
	busy := w.busy
	if !busy {
		w.busy, w.ear = true, ear{open: true}
	}
	w.mu.Unlock()
	if busy {
		w.driver.mu.Lock()
		w.driver.overlap("session %d was prompted twice at once", w.spec.Session)
		w.driver.mu.Unlock()
	}
	return !busy
}

func (w *Worker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.ear = false, ear{}
}

// Uninvited plays a turn that nobody asked for, as an agent's background task
// does. It reports whether anybody took it.
func (w *Worker) Uninvited(ctx context.Context, steps ...Step) bool {
	if w.spec.Uninvited == nil {
		return false
	}
	host, end := w.spec.Uninvited(ctx)
	if host == nil {
		return false
	}
	end(w.play(ctx, &Running{Host: host, worker: w}, steps))
	return true
}

// Steer implements worker.Worker.
func (w *Worker) Steer(_ context.Context, in chat.Input) error { return w.tell(worker.Steer, in) }

// Replace implements worker.Replacer.
func (w *Worker) Replace(_ context.Context, in chat.Input) error { return w.tell(worker.Replace, in) }

// tell puts words into the running turn.
func (w *Worker) tell(how worker.Ability, in chat.Input) error {
	if !w.driver.abilities().Has(how) {
		return chat.E(chat.Unsupported, "", nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy || !w.ear.open {
		return chat.E(chat.Conflict, "no turn runs", nil)
	}
	w.ear.words = append(w.ear.words, in.Text())
	if how == worker.Replace && w.ear.drop != nil {
		w.ear.drop()
	}
	return nil
}

// Set implements worker.Worker.
func (w *Worker) Set(_ context.Context, s chat.Settings) (chat.Applied, error) {
	w.driver.mu.Lock()
	applied, err, can := w.driver.plan.applied, w.driver.plan.setErr, w.driver.can
	w.driver.mu.Unlock()
	switch {
	case w.dead():
		return "", ErrDied
	case err != nil:
		return "", err
	case s.Model != "" && !can.Has(worker.Models), s.Mode != "" && !can.Has(worker.Modes), s.Effort != "" && !can.Has(worker.Efforts):
		return "", chat.E(chat.Unsupported, "", nil)
	case strings.ContainsFunc(s.Model+s.Mode+s.Effort, unicode.IsSpace):
		return "", chat.E(chat.Invalid, "a name with blanks", nil)
	}
	if applied != chat.AppliedReopen {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now = chat.Settings{
			Model: cmp.Or(s.Model, w.now.Model), Mode: cmp.Or(s.Mode, w.now.Mode), Effort: cmp.Or(s.Effort, w.now.Effort),
		}
	}
	return applied, nil
}

// NativeID implements worker.Worker.
func (w *Worker) NativeID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// Rename makes the agent report another id from now on.
func (w *Worker) Rename(id string) {
	w.driver.mu.Lock()
	w.driver.memory[id] = w.driver.memory[w.NativeID()]
	w.driver.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	return worker.Info{Version: "1", Model: w.now.Model, Mode: w.now.Mode, Effort: w.now.Effort}
}

// Process implements worker.Worker.
func (w *Worker) Process() string { return w.process }

// Done implements worker.Worker.
func (w *Worker) Done() <-chan struct{} { return w.done }

// Kill ends the process as kill -9 would.
func (w *Worker) Kill() {
	w.die.Do(func() {
		w.driver.mu.Lock()
		w.driver.seen.live[w.spec.Session]--
		w.driver.mu.Unlock()
		close(w.done)
	})
}

// Close implements worker.Worker.
func (w *Worker) Close() error {
	w.driver.mu.Lock()
	hold := w.driver.plan.closing
	w.driver.mu.Unlock()
	if hold != nil {
		<-hold
	}
	w.Kill()
	w.own.Wait()
	return nil
}

func (w *Worker) dead() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}
