package pi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var _ worker.Worker = (*Worker)(nil)

// Worker is one running agent, which serves one session.
type Worker struct {
	cfg  Config
	log  *slog.Logger
	proc process
	link *link
	file string

	life    context.Context // ends with the process
	cancel  context.CancelFunc
	gone    chan struct{}  // closed when the output has been read and the process is gone
	tasks   sync.WaitGroup // the reader and what it started
	closing atomic.Bool
	stored  atomic.Bool // the session's file is there

	mu       sync.Mutex
	model    *modelInfo
	models   []modelInfo
	effort   string
	commands []worker.Command
	turn     *turn
}

// newWorker starts to read p.
func newWorker(ctx context.Context, cfg Config, p process, file string, log *slog.Logger) *Worker {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Worker{cfg: cfg, log: log, proc: p, file: file, life: life, cancel: cancel, gone: make(chan struct{})}
	w.link = newLink(p, w.gone)
	w.tasks.Go(w.read)
	return w
}

// read takes the agent's output to its end.
func (w *Worker) read() {
	lines := proc.NewLineReader(w.proc, w.cfg.MaxLine)
	for {
		l, err := lines.Next()
		if err != nil {
			break
		}
		m, ok := read(l.Data, l.Cut)
		switch {
		case !ok && l.Cut:
			w.hear(message{Type: hearSkipped})
		case !ok:
			w.log.DebugContext(w.life, "line of the agent is no message", "bytes", l.Size)
		case m.Type == "response" && w.link.answered(m):
		default:
			w.hear(m)
		}
	}
	// An agent whose output has ended is of no use, even if it lives on.
	ctx, cancel := context.WithTimeout(w.life, killGrace)
	defer cancel()
	if err := w.proc.Terminate(ctx); err != nil {
		w.log.ErrorContext(ctx, "agent not ended", "err", err)
	}
	<-w.proc.Done()
	w.cancel()
	close(w.gone)
}

// hear hands a message to the turn that runs. It waits while the turn has more
// to read than it can.
func (w *Worker) hear(m message) {
	w.mu.Lock()
	if m.Type == "thinking_level_changed" {
		w.effort = m.Level
	}
	t := w.turn
	w.mu.Unlock()
	if t == nil {
		if m.Type == "extension_ui_request" {
			w.tasks.Go(func() { w.dismiss(m) })
		}
		return
	}
	select {
	case t.events <- m:
	case <-t.closed:
	case <-w.proc.Done():
	}
}

// greet waits until the agent is ready, and checks that it uses the settings
// that it was started with.
func (w *Worker) greet(ctx context.Context, s chat.Settings) error {
	limit := time.Until(deadline(ctx))
	var is state
	if err := w.link.call(ctx, limit, object{"type": "get_state"}, &is); err != nil {
		return w.startError(ctx, err)
	}
	var all struct {
		Models []modelInfo `json:"models"`
	}
	if err := w.link.call(ctx, limit, object{"type": "get_available_models"}, &all); err != nil {
		return w.startError(ctx, err)
	}
	var can struct {
		Commands []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"commands"`
	}
	if err := w.link.call(ctx, limit, object{"type": "get_commands"}, &can); err != nil {
		w.log.DebugContext(ctx, "no commands", "err", err) // an older one has none
	}
	w.mu.Lock()
	w.model, w.effort, w.models = is.Model, is.Level, all.Models
	for _, c := range can.Commands {
		w.commands = append(w.commands, worker.Command{Name: c.Name, Help: c.Description})
	}
	w.mu.Unlock()
	if s.Model != "" && (is.Model == nil || !is.Model.is(s.Model)) {
		return chat.E(chat.ModelUnknown, s.Model, fmt.Errorf("model %q became %q", s.Model, is.Model.name()))
	}
	if s.Effort != "" && is.Level != s.Effort { // the model has not all of them
		w.log.InfoContext(ctx, "effort not as wished", "wished", s.Effort, "used", is.Level)
	}
	return nil
}

func deadline(ctx context.Context) time.Time {
	if d, ok := ctx.Deadline(); ok {
		return d
	}
	return time.Now().Add(time.Minute)
}

// startError names what went wrong at the start.
func (w *Worker) startError(ctx context.Context, err error) error {
	var known *chat.Error
	switch {
	case errors.Is(err, errGone):
		said := strings.TrimSpace(w.proc.Stderr())
		if code := classify(said); code != chat.AgentError {
			return chat.E(code, lastLine(said), exitOf(w.proc))
		}
		return chat.E(chat.Crashed, howEnded(w.proc), exitOf(w.proc))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &known):
		return err
	}
	return chat.E(chat.Protocol, "", err)
}

// NativeID implements worker.Worker: the session's file, as soon as the agent
// has written it. A session in which nothing was said has none.
func (w *Worker) NativeID() string {
	if !w.stored.Load() {
		if _, err := os.Stat(w.file); err != nil {
			return ""
		}
		w.stored.Store(true)
	}
	return w.file
}

// Process implements worker.Worker.
func (w *Worker) Process() string { return w.proc.Identity() }

// Done implements worker.Worker.
func (w *Worker) Done() <-chan struct{} { return w.gone }

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := worker.Info{Model: w.model.name(), Effort: w.effort, Efforts: []string{"off"}}
	if w.model != nil && w.model.Thinks {
		i.Efforts = slices.Clone(levels)
	}
	for _, m := range w.models {
		i.Models = append(i.Models, m.name())
	}
	i.Commands = append(slices.Clone(w.commands), worker.Command{Name: compact, Help: "shorten the conversation"})
	return i
}

// compact is the one command that is no prompt for the agent.
const compact = "compact"

// Set implements worker.Worker. The agent can change both while it lives, but
// then makes them the user's own defaults as well; so they are told to it when
// it is started.
func (w *Worker) Set(_ context.Context, s chat.Settings) (chat.Applied, error) {
	if isClosed(w.gone) {
		return "", w.crash()
	}
	if err := checkSettings(s); err != nil {
		return "", err
	}
	if s == (chat.Settings{}) {
		return chat.AppliedNow, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Model != "" && !slices.ContainsFunc(w.models, func(m modelInfo) bool { return m.is(s.Model) }) {
		return "", chat.E(chat.ModelUnknown, s.Model, fmt.Errorf("model %q", s.Model))
	}
	if s.Effort != "" && s.Effort != "off" && s.Model == "" && w.model != nil && !w.model.Thinks {
		return "", chat.E(chat.Invalid, "effort: off", fmt.Errorf("effort %q of %s", s.Effort, w.model.name()))
	}
	return chat.AppliedReopen, nil
}

// leaveTime is how long an idle agent may take to leave by itself.
const leaveTime = time.Second

// Close implements worker.Worker.
func (w *Worker) Close() error {
	if !isClosed(w.gone) {
		w.closing.Store(true)
	}
	w.mu.Lock()
	busy := w.turn != nil
	w.mu.Unlock()
	if !busy {
		_ = w.proc.CloseWrite()
		late := time.NewTimer(leaveTime)
		defer late.Stop()
		select {
		case <-w.gone:
		case <-late.C:
		}
	}
	err := w.proc.Close()
	w.cancel()
	w.tasks.Wait()
	return err
}

// killGrace is how long an agent may take to end after SIGTERM.
const killGrace = 500 * time.Millisecond

// kill ends a process that cannot be worked with any more, and waits for its
// end.
func (w *Worker) kill(ctx context.Context, why string) {
	w.log.InfoContext(ctx, "agent is ended", "why", why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	if err := w.proc.Terminate(ctx); err != nil {
		w.log.ErrorContext(ctx, "agent not ended", "err", err)
		return
	}
	<-w.gone
}

// crash is the error of a process that is gone.
func (w *Worker) crash() error {
	if w.closing.Load() {
		return chat.E(chat.Shutdown, "", errGone)
	}
	return chat.E(chat.Crashed, "", exitOf(w.proc))
}

func exitOf(p process) error {
	return fmt.Errorf("%w: %s: %s", errGone, howEnded(p), lastLine(p.Stderr()))
}

func howEnded(p process) string {
	code, signal := p.Exit()
	if signal != 0 {
		return signal.String()
	}
	return fmt.Sprintf("exit code %d", code)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
