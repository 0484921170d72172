package codex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var (
	_ worker.Worker   = (*Worker)(nil)
	_ worker.Replacer = (*Worker)(nil)
)

// Worker is one session in a process that may hold others.
type Worker struct {
	spec    worker.Spec
	log     *slog.Logger
	srv     *server
	thread  string
	release func() error // gives the process back

	done    chan struct{} // closed when the worker serves nothing any more
	lost    sync.Once
	closing sync.Once
	closed  error // of Close

	known known
	stage stage
	ask   line
}

// newWorker serves a thread that was just opened.
func newWorker(srv *server, s worker.Spec, got opened) *Worker {
	w := &Worker{
		spec: s, log: srv.log.With("session", s.Session), srv: srv, thread: got.Thread.ID,
		done: make(chan struct{}), stage: stage{kids: map[string]kid{}},
	}
	w.ask = line{srv: srv, thread: w.thread, log: w.log}
	w.known = newKnown(srv, s, got)
	return w
}

// NativeID implements worker.Worker. The server remembers a session from its
// first turn on; before that there is nothing to resume, and no id.
func (w *Worker) NativeID() string { return w.known.id() }

// Info implements worker.Worker.
func (w *Worker) Info() worker.Info { return w.known.about() }

// Process implements worker.Worker. Sessions of one process say the same.
func (w *Worker) Process() string { return w.srv.proc.Identity() }

// Done implements worker.Worker.
func (w *Worker) Done() <-chan struct{} { return w.done }

// lose says that the worker serves nothing any more.
func (w *Worker) lose() {
	w.lost.Do(func() {
		w.srv.leave(w)
		close(w.done)
	})
}

// Close implements worker.Worker: what runs in the session is ended and the
// session let go, so that others can go on with it. Whoever is the last to use
// the process ends it.
func (w *Worker) Close() error {
	w.closing.Do(func() {
		if t := w.stage.shut(); t != nil {
			t.cancel(chat.E(chat.Shutdown, "", errors.New("the worker was closed")))
			<-t.gone
		}
		w.letGo()
		w.lose()
		w.closed = w.release()
	})
	return w.closed
}

// letGo ends what the session does by itself and leaves its thread.
func (w *Worker) letGo() {
	if isClosed(w.done) || isClosed(w.srv.gone) {
		return
	}
	ctx, cancel := context.WithTimeout(w.srv.life, w.srv.cfg.Grace)
	defer cancel()
	if r := w.stage.takeOwn(""); r != nil {
		w.ask.interrupt(ctx, w.thread, r.id())
		r.leave(chat.E(chat.Shutdown, "", errors.New("the worker was closed")))
	}
	for thread, turn := range w.stage.children() {
		w.ask.interrupt(ctx, thread, turn)
	}
	if err := w.srv.call(ctx, doUnsubscribe, object{"threadId": w.thread}, nil); err != nil && !isClosed(w.srv.conn.Done()) {
		w.log.WarnContext(ctx, "session not let go", "err", err)
	}
}

// crash is the error of a turn whose process is gone, or that is not served
// any more.
func (w *Worker) crash() error {
	switch {
	case w.stage.closed():
		return chat.E(chat.Shutdown, "", errGone)
	case isClosed(w.srv.gone):
		return chat.E(chat.Crashed, "", exitOf(w.srv.proc))
	default:
		return chat.E(chat.Crashed, "", fmt.Errorf("%w: it does not obey", errGone))
	}
}
