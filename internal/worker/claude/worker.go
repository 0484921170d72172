package claude

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Worker = (*Worker)(nil)

// Worker is one running agent, which serves one session.
type Worker struct {
	cfg  Config
	spec worker.Spec
	log  *slog.Logger
	proc process
	link *link
	asks *asks

	life    context.Context // ends with the process
	cancel  context.CancelFunc
	gone    chan struct{}  // closed when the output has been read and the process is gone
	tasks   sync.WaitGroup // the reader and what it started
	closing atomic.Bool
	tells   atomic.Bool // the agent reports the life of messages

	known known
}

// newWorker starts to read p.
func newWorker(ctx context.Context, cfg Config, s worker.Spec, p process, log *slog.Logger) *Worker {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Worker{
		cfg: cfg, spec: s, log: log, proc: p, life: life, cancel: cancel, gone: make(chan struct{}),
		known: known{native: s.NativeID, wanted: chat.Settings{Model: s.Model, Mode: s.Mode}, unpaid: s.NativeID != ""},
	}
	w.link = newLink(p, w.gone, cfg.ControlTimeout, log)
	w.asks = &asks{link: w.link, log: log, open: map[string]context.CancelCauseFunc{}}
	rd := &reader{Worker: w}
	w.tasks.Go(rd.read)
	return w
}

// NativeID implements worker.Worker.
func (w *Worker) NativeID() string { return w.known.id() }

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info { return w.known.about() }

// Process implements worker.Worker.
func (w *Worker) Process() string { return w.proc.Identity() }

// Done implements worker.Worker.
func (w *Worker) Done() <-chan struct{} { return w.gone }

// leaveTime is how long an idle agent may take to leave by itself when it is
// closed; it writes down what it still has to.
const leaveTime = time.Second

// Close implements worker.Worker. An idle agent is shown the end of its input
// and leaves by itself; a busy one is ended.
func (w *Worker) Close() error {
	select {
	case <-w.gone: // it ended by itself; its turn is told so
	default:
		w.closing.Store(true)
	}
	if w.known.current() == nil {
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

// killGrace is how long an agent that did not obey may take to end after
// SIGTERM.
const killGrace = 500 * time.Millisecond

// kill ends a process that cannot be worked with any more, and waits for its
// end.
func (w *Worker) kill(ctx context.Context, why string) {
	w.log.WarnContext(ctx, "agent is ended", "why", why)
	ctx, cancel := context.WithTimeout(ctx, killGrace)
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

// exitOf describes how a process ended; it is for the log.
func exitOf(p process) error {
	return fmt.Errorf("%w: %s: %s", errGone, howEnded(p), lastLine(p.Stderr()))
}

// howEnded is the fact alone, which may be shown.
func howEnded(p process) string {
	code, signal := p.Exit()
	if signal != 0 {
		return signal.String()
	}
	return fmt.Sprintf("exit code %d", code)
}
