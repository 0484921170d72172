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

// known is what is known about the session; callers and the reader share it.
type known struct {
	mu     sync.Mutex
	id     string // as the agent reported it
	info   worker.Info
	wanted chat.Settings // as last set
	turn   *turn         // the user's turn that runs
	last   string        // what the agent said before it left
}

// newWorker starts to read p.
func newWorker(ctx context.Context, cfg Config, s worker.Spec, p process, log *slog.Logger) *Worker {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Worker{
		cfg: cfg, spec: s, log: log, proc: p, life: life, cancel: cancel, gone: make(chan struct{}),
		known: known{id: s.NativeID, wanted: chat.Settings{Model: s.Model, Mode: s.Mode}},
	}
	w.link = newLink(p, w.gone, cfg.ControlTimeout)
	w.asks = &asks{link: w.link, log: log, open: map[string]context.CancelCauseFunc{}}
	rd := &reader{Worker: w}
	w.tasks.Go(rd.read)
	return w
}

// NativeID implements worker.Worker.
func (w *Worker) NativeID() string {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	return w.known.id
}

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	return w.known.info
}

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
	w.closing.Store(true)
	if w.current() == nil {
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

// kill ends a process that cannot be worked with any more, and waits for its
// end.
func (w *Worker) kill(ctx context.Context, why string) {
	w.log.WarnContext(ctx, "agent is ended", "why", why)
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
	return chat.E(chat.Crashed, "", w.exit())
}

// exit describes how the process ended; it is for the log.
func (w *Worker) exit() error {
	code, signal := w.proc.Exit()
	if signal != 0 {
		return fmt.Errorf("%w: %v: %s", errGone, signal, lastLine(w.proc.Stderr()))
	}
	return fmt.Errorf("%w: exit code %d: %s", errGone, code, lastLine(w.proc.Stderr()))
}

// current returns the user's turn that runs; nil as soon as the agent has
// ended it, even if Prompt has not returned yet: what comes then is not its.
func (w *Worker) current() *turn {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	if t := w.known.turn; t != nil && !t.ended() {
		return t
	}
	return nil
}

// identify notes what the agent says about itself when a run begins, and
// reports whether the session's id is another than before. An empty id says
// nothing.
func (w *Worker) identify(session, model string) (changed bool) {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	if model != "" {
		w.known.info.Model = model
	}
	if session == "" || session == w.known.id {
		return false
	}
	w.known.id = session
	return true
}

// leave notes what the agent said outside any run.
func (w *Worker) leave(text string) {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	w.known.last = text
}

// lastWords returns what the agent said before it left.
func (w *Worker) lastWords() string {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	return w.known.last
}
