package opencode

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Worker = (*Worker)(nil)

// Worker is one session on a server.
type Worker struct {
	driver *Driver
	lease  *lease
	api    *api
	log    *slog.Logger
	id     string
	known  *known

	gone    chan struct{} // closed when the session is not served any more
	left    chan struct{} // closed when it has left its server
	leaving sync.Once
	closing atomic.Bool
	letGo   sync.Once
	tasks   sync.WaitGroup

	mu       sync.Mutex
	settings chat.Settings // as last set
	model    string        // as the agent reports it; likewise the effort
	effort   string
	rules    []rule // of the session
	newest   string // id of the newest message; ids grow
	turn     *turn
}

func newWorker(d *Driver, l *lease, s worker.Spec, session sessionInfo, k *known, set chat.Settings) *Worker {
	w := &Worker{
		driver: d, lease: l, api: l.server.api, log: d.log.With("session", s.Session), id: session.ID, known: k,
		gone: make(chan struct{}), left: make(chan struct{}), settings: set, rules: session.Permission,
		model: session.Model.name(), effort: set.Effort,
	}
	switch {
	case set.Model != "":
		w.model = set.Model
	case w.model == "":
		w.model = k.model
	}
	return w
}

// begin takes the session into service.
func (w *Worker) begin() {
	s := w.lease.server
	s.mu.Lock()
	s.workers[w.id] = w
	s.mu.Unlock()
	w.tasks.Go(func() {
		select {
		case <-s.gone:
		case <-w.left:
		}
		close(w.gone)
	})
}

// leave takes the session out of service; the server may go on with others.
func (w *Worker) leave() {
	w.leaving.Do(func() {
		s := w.lease.server
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.workers[w.id] == w {
			delete(s.workers, w.id)
		}
		maps.DeleteFunc(s.children, func(_ string, of *Worker) bool { return of == w })
		close(w.left)
	})
}

// NativeID implements worker.Worker.
func (w *Worker) NativeID() string { return w.id }

// Process implements worker.Worker.
func (w *Worker) Process() string { return w.lease.server.proc.Identity() }

// Done implements worker.Worker.
func (w *Worker) Done() <-chan struct{} { return w.gone }

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := worker.Info{
		Version: w.lease.server.version, Model: w.model, Mode: w.settings.Mode, Effort: w.effort,
		Models: slices.Sorted(maps.Keys(w.known.models)), Modes: slices.Clone(w.known.modes),
		Efforts: slices.Clone(w.known.models[w.model].efforts),
	}
	for _, c := range w.known.commands {
		if c.Source != "skill" {
			i.Commands = append(i.Commands, worker.Command{Name: c.Name, Help: c.Description})
		}
	}
	i.Commands = append(i.Commands, worker.Command{Name: compact, Help: "shorten the conversation"})
	return i
}

// compact is the one command that is no prompt for the agent.
const compact = "compact"

// abortTime is how long a server may take to end the turn of a session that
// leaves it.
const abortTime = 2 * time.Second

// Close implements worker.Worker. The server ends with its last session.
func (w *Worker) Close() error {
	if !isClosed(w.gone) {
		w.closing.Store(true)
	}
	w.mu.Lock()
	busy := w.turn != nil
	w.mu.Unlock()
	if busy && !isClosed(w.gone) {
		ctx, cancel := context.WithTimeout(w.lease.server.life, abortTime)
		if err := w.api.abort(ctx, w.id); err != nil {
			w.log.WarnContext(ctx, "turn not ended at close", "err", err)
		}
		cancel()
	}
	w.leave()
	w.letGo.Do(func() { w.driver.release(w.lease) })
	w.tasks.Wait()
	return nil
}

// Set implements worker.Worker. Everything goes with the next prompt.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if isClosed(w.gone) {
		return "", w.crash()
	}
	if err := checkGrammar(s); err != nil {
		return "", err
	}
	w.mu.Lock()
	all, model, busy := s.Or(w.settings), w.model, w.turn != nil
	w.mu.Unlock()
	if _, err := w.known.choose(all); err != nil {
		return "", err
	}
	if s.Model != "" {
		model = s.Model
	}
	switch err := w.known.checkEffort(all.Effort, model); {
	case err == nil:
	case s.Effort == "": // the other model has it not
		all.Effort = ""
	default:
		return "", err
	}
	if err := w.guard(ctx, all.Mode); err != nil {
		return "", openError(ctx, w.lease.server, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settings, w.model, w.effort = all, model, all.Effort
	if busy {
		return chat.AppliedNext, nil
	}
	return chat.AppliedNow, nil
}

// note takes what a message tells about the session.
func (w *Worker) note(i info) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.ID > w.newest {
		w.newest = i.ID
	}
	if i.Role == roleAssistant && !i.isSummary() && i.ModelID != "" && w.settings.Model == "" {
		w.model = i.ProviderID + "/" + i.ModelID
	}
}

// hear takes an event of the session, or of one of its sub-agents. It waits
// while the turn has more to read than it can.
func (w *Worker) hear(h heard) {
	if h.kind == "message.updated" && !h.child {
		w.note(h.Info)
	}
	w.mu.Lock()
	t := w.turn
	w.mu.Unlock()
	if t == nil {
		return
	}
	select {
	case t.events <- h:
	case <-t.closed:
	case <-w.left:
	case <-w.lease.server.life.Done():
	}
}

// crash is the error of a session that is not served any more.
func (w *Worker) crash() error {
	if w.closing.Load() {
		return chat.E(chat.Shutdown, "", errGone)
	}
	return chat.E(chat.Crashed, "", exitOf(w.lease.server.proc))
}

// forsake is for a server that did not end a turn. It is ended, unless it works
// for somebody else; then the session leaves it alone.
func (w *Worker) forsake(ctx context.Context) {
	s := w.lease.server
	w.log.WarnContext(ctx, "session is taken from its server", "why", "it did not end the turn in time")
	s.mu.Lock()
	others := false
	for _, o := range s.workers {
		o.mu.Lock()
		others = others || o != w && o.turn != nil
		o.mu.Unlock()
	}
	s.mu.Unlock()
	if others {
		w.leave()
	} else if err := s.proc.Terminate(ctx); err != nil {
		w.log.ErrorContext(ctx, "agent not ended", "err", err)
		w.leave()
	}
	<-w.gone
}
