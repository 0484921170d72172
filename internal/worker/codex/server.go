package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/rpc"
)

// server is one running process and the workers whose sessions it holds.
type server struct {
	cfg  Config
	log  *slog.Logger
	proc process
	conn *rpc.Conn
	dir  string

	life   context.Context // ends with the process
	cancel context.CancelFunc
	gone   chan struct{}  // closed when the output has been read and the process is gone
	tasks  sync.WaitGroup // the reader and what it started
	ending atomic.Bool    // it is being ended on purpose
	asks   asks

	version string // of the agent
	models  []model

	mu      sync.Mutex
	workers map[string]*Worker // by thread
	stale   bool               // it does not obey: nobody new uses it
	resets  time.Time          // when the account's limit ends
}

// serve starts a process for a workspace and waits until it is ready.
func (d *Driver) serve(ctx context.Context, dir string) (*server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.StartTimeout,
		chat.E(chat.StartTimeout, "", errors.New("the agent was not ready in time")))
	defer cancel()
	p, err := d.launch(ctx, dir, d.cfg.arguments())
	if err != nil {
		return nil, err
	}
	s := newServer(ctx, d.cfg, dir, p, d.log)
	if err := s.greet(ctx); err != nil {
		_ = p.Close()
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// newServer starts to read p.
func newServer(ctx context.Context, cfg Config, dir string, p process, log *slog.Logger) *server {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &server{
		cfg: cfg, log: log.With("process", p.Identity()), proc: p, dir: dir, life: life, cancel: cancel,
		gone: make(chan struct{}), workers: map[string]*Worker{},
	}
	s.conn = rpc.New(p, ear{s}, rpc.Config{MaxLine: cfg.MaxLine, Log: s.log})
	s.asks = asks{server: s, open: map[string]context.CancelCauseFunc{}}
	s.tasks.Go(s.read)
	return s
}

// read takes the server's output until it ends.
func (s *server) read() {
	if err := s.conn.Run(); err != nil && !s.ending.Load() {
		s.log.WarnContext(s.life, "output of the agent ended badly", "err", err)
	}
	if err := s.proc.Close(); err != nil { // whoever closed the output is to be gone too
		s.log.ErrorContext(s.life, "agent not ended", "err", err)
	}
	s.cancel()
	close(s.gone)
	for _, w := range s.all() {
		w.lose()
	}
}

// greet introduces us and learns what there is.
func (s *server) greet(ctx context.Context) error {
	var hello struct {
		Agent string `json:"userAgent"`
	}
	err := s.call(ctx, doInitialize, object{
		"clientInfo":   object{"name": "cligate", "title": "CliGate", "version": "1"},
		"capabilities": object{"experimentalApi": true},
	}, &hello)
	if err != nil {
		if errors.Is(err, rpc.ErrGone) {
			<-s.gone
			return startFailure(s.proc)
		}
		return err
	}
	_, version, _ := strings.Cut(hello.Agent, "/")
	s.version, _, _ = strings.Cut(version, " ")
	if err := worker.Recent(s.version, oldest); err != nil {
		return err
	}
	if err := s.conn.Tell(ctx, "initialized", nil); err != nil {
		return err
	}
	var list struct {
		Data []model `json:"data"`
	}
	if err := s.call(ctx, doModels, object{"limit": 100}, &list); err != nil {
		s.log.InfoContext(ctx, "agent does not list its models", "err", err)
	}
	s.models = slices.DeleteFunc(list.Data, func(m model) bool { return m.Hidden || m.ID == "" })
	return nil
}

// oldest is the version from which on the agent is known to say all that is
// needed here.
const oldest = "0.171"

// needed says which version is needed, where the agent shows in other ways that
// it is older. An empty version is not known.
func needed(found string) string {
	return i18n.T(i18n.Default, "error.version", "found", cmp.Or(found, "?"), "needed", oldest)
}

// call makes a small request.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.CallTimeout,
		chat.E(chat.TimedOut, "", fmt.Errorf("the agent did not answer %s", method)))
	defer cancel()
	err := s.conn.Call(ctx, method, params, result)
	var no *rpc.Error
	if errors.As(err, &no) && strings.Contains(no.Message, "unknown variant `"+method) {
		return chat.E(chat.TooOld, needed(s.version), err)
	}
	return err
}

// usable reports whether somebody new may use the process.
func (s *server) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stale && !isClosed(s.gone) && !isClosed(s.conn.Done())
}

// join makes w hear what is told about its thread. It fails when another
// worker has that thread, or the process is gone.
func (s *server) join(w *Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(s.gone) {
		return chat.E(chat.Crashed, "", exitOf(s.proc))
	}
	if _, taken := s.workers[w.thread]; taken {
		return chat.E(chat.Conflict, "", fmt.Errorf("thread %s has a worker already", w.thread))
	}
	s.workers[w.thread] = w
	return nil
}

func (s *server) leave(w *Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[w.thread] == w {
		delete(s.workers, w.thread)
	}
}

// find returns the worker of a thread.
func (s *server) find(thread string) *Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[thread]
}

func (s *server) all() []*Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Worker, 0, len(s.workers))
	for _, w := range s.workers {
		all = append(all, w)
	}
	return all
}

// parent returns the worker whose sub-agent a thread is.
func (s *server) parent(thread string) *Worker {
	for _, w := range s.all() {
		if w.stage.hasKid(thread) {
			return w
		}
	}
	return nil
}

// leaveTime is how long an idle process may take to leave by itself; it writes
// down what it still has to.
const leaveTime = time.Second

// close ends the process and everything it started.
func (s *server) close() error {
	s.ending.Store(true)
	_ = s.proc.CloseWrite()
	late := time.NewTimer(leaveTime)
	defer late.Stop()
	select {
	case <-s.gone:
	case <-late.C:
	}
	err := s.proc.Close()
	s.cancel()
	s.tasks.Wait()
	return err
}

// killGrace is how long a process that did not obey may take to end after
// SIGTERM.
const killGrace = 500 * time.Millisecond

// kill ends a process that cannot be worked with any more, and waits for its
// end.
func (s *server) kill(ctx context.Context, why string) {
	s.log.WarnContext(ctx, "agent is ended", "why", why)
	ctx, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	if err := s.proc.Terminate(ctx); err != nil {
		s.log.ErrorContext(ctx, "agent not ended", "err", err)
		return
	}
	<-s.gone
}

// disown is for a turn that the process does not end. It costs the process,
// unless others' turns run in it: then it ends with the last of them.
func (s *server) disown(ctx context.Context, w *Worker) {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	for _, other := range s.all() {
		if other != w && other.stage.busy() {
			s.log.WarnContext(ctx, "agent does not obey; others use it, so it is left", "session", w.spec.Session)
			w.lose()
			return
		}
	}
	s.kill(context.WithoutCancel(ctx), "it did not end the turn in time")
}

// limited notes when an exhausted limit ends.
func (s *server) limited(l limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets = time.Time{}
	for _, w := range []*limitWindow{l.Limits.Primary, l.Limits.Secondary} {
		if w != nil && w.Used >= 100 && w.Resets > 0 {
			if at := time.Unix(w.Resets, 0); at.After(s.resets) {
				s.resets = at
			}
		}
	}
}

// limitEnds is when the account's limit ends; zero when unknown.
func (s *server) limitEnds() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resets
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
