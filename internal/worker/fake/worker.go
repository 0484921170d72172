package fake

import (
	"context"
	"strings"
	"sync"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Worker = (*Worker)(nil)

// Worker is one live process of the scripted agent.
type Worker struct {
	driver  *Driver
	spec    worker.Spec
	process string
	done    chan struct{}
	die     sync.Once

	mu    sync.Mutex
	id    string
	model string
	busy  bool
	host  worker.Host // of the running turn
}

// Prompt implements worker.Worker.
func (w *Worker) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	if !w.begin(host) {
		return chat.E(chat.Protocol, "two prompts at once", nil)
	}
	defer w.end()
	if w.dead() {
		return ErrDied
	}
	id := w.NativeID()
	if err := host.Emit(ctx, chat.Event{Kind: chat.EventSession, Text: id}); err != nil {
		return err
	}
	steps := w.driver.next(id, in.Text())
	if err := host.Emit(ctx, chat.Event{Kind: chat.EventSent}); err != nil {
		return err
	}
	return w.play(ctx, &Running{Host: host, Prompt: in.Text(), worker: w}, steps)
}

// play runs the steps; the death of the process ends them, and withdraws what
// they ask.
func (w *Worker) play(ctx context.Context, r *Running, steps []Step) error {
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
		err := s(ctx, r)
		switch {
		case w.dead():
			return ErrDied
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
	return nil
}

func (w *Worker) begin(host worker.Host) bool {
	w.mu.Lock()
	busy := w.busy
	if !busy {
		w.busy, w.host = true, host
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
	w.busy, w.host = false, nil
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
func (w *Worker) Steer(context.Context, chat.Input) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy {
		return chat.E(chat.Conflict, "no turn runs", nil)
	}
	return nil
}

// Set implements worker.Worker.
func (w *Worker) Set(_ context.Context, s chat.Settings) (chat.Applied, error) {
	w.driver.mu.Lock()
	applied, err := w.driver.plan.applied, w.driver.plan.setErr
	w.driver.mu.Unlock()
	switch {
	case w.dead():
		return "", ErrDied
	case err != nil:
		return "", err
	case strings.ContainsFunc(s.Model+s.Mode, unicode.IsSpace):
		return "", chat.E(chat.Invalid, "a name with blanks", nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Model != "" && applied != chat.AppliedReopen {
		w.model = s.Model
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
	return worker.Info{Version: "1", Model: w.model}
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
