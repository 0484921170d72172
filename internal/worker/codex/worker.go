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

	mu   sync.Mutex
	turn *turn             // the user's that runs
	own  *run              // what the agent does unasked
	kids map[string]string // threads of its sub-agents, and their running turns
	left bool              // Close was called
}

// newWorker serves a thread that was just opened.
func newWorker(srv *server, s worker.Spec, got opened) *Worker {
	w := &Worker{
		spec: s, log: srv.log.With("session", s.Session), srv: srv, thread: got.Thread.ID,
		done: make(chan struct{}), kids: map[string]string{},
	}
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
		w.mu.Lock()
		w.left = true
		t := w.turn
		w.mu.Unlock()
		if t != nil {
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
	if r := w.takeOwn(""); r != nil {
		w.interrupt(ctx, w.thread, r.id())
		r.leave(chat.E(chat.Shutdown, "", errors.New("the worker was closed")))
	}
	for thread, turn := range w.children() {
		w.interrupt(ctx, thread, turn)
	}
	if err := w.srv.call(ctx, doUnsubscribe, object{"threadId": w.thread}, nil); err != nil && !isClosed(w.srv.conn.Done()) {
		w.log.WarnContext(ctx, "session not let go", "err", err)
	}
}

// crash is the error of a turn whose process is gone, or that is not served
// any more.
func (w *Worker) crash() error {
	w.mu.Lock()
	left := w.left
	w.mu.Unlock()
	switch {
	case left:
		return chat.E(chat.Shutdown, "", errGone)
	case isClosed(w.srv.gone):
		return chat.E(chat.Crashed, "", exitOf(w.srv.proc))
	default:
		return chat.E(chat.Crashed, "", fmt.Errorf("%w: it does not obey", errGone))
	}
}

// enter makes t the running turn.
func (w *Worker) enter(t *turn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.left:
		return chat.E(chat.Shutdown, "", errGone)
	case w.turn != nil:
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	w.turn = t
	return nil
}

// exit says that Prompt is about to return.
func (w *Worker) exit(t *turn) {
	w.mu.Lock()
	w.turn = nil
	w.mu.Unlock()
	close(t.gone)
}

// current returns the user's turn that runs.
func (w *Worker) current() *turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn
}

// busy reports whether anything runs in the session.
func (w *Worker) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn != nil || w.own != nil
}

// takeOwn returns what the agent does unasked, if that is this turn (empty =
// any), and forgets it.
func (w *Worker) takeOwn(id string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.own
	if r == nil || id != "" && r.id() != id {
		return nil
	}
	w.own = nil
	return r
}

func (w *Worker) hasKid(thread string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.kids[thread]
	return ok
}

// children returns the sub-agents that are at work, by thread, with their
// turns.
func (w *Worker) children() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := map[string]string{}
	for thread, turn := range w.kids {
		if turn != "" {
			busy[thread] = turn
		}
	}
	return busy
}

// serves reports whether a sub-agent's turn belongs to what runs here.
func (w *Worker) serves(root string) bool {
	w.mu.Lock()
	t, own := w.turn, w.own
	w.mu.Unlock()
	return root != "" && (t != nil && t.now().id() == root || own != nil && own.id() == root)
}

// kid takes what is told about a thread that may be a sub-agent's of ours. Only
// what a stop has to know is kept.
func (w *Worker) kid(method string, n note) bool {
	if !w.hasKid(n.Thread) && (method != onTurnStarted || !w.serves(n.Turn.Root)) {
		return false
	}
	switch method {
	case onTurnStarted, onTurnCompleted:
		w.mu.Lock()
		w.kids[n.Thread] = ""
		if method == onTurnStarted {
			w.kids[n.Thread] = n.Turn.ID
		}
		w.mu.Unlock()
	case onItemStarted:
		if t := w.current(); t != nil && n.Item.Type == itemCommand {
			t.called(n.Item.ID)
		}
	}
	return true
}
