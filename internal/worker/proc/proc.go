// Package proc is the only place that starts processes. It runs each agent
// under a small runner, which is this same binary executed again: a sub-reaper
// in a session of its own that owns everything the agent starts.
//
// Place in the flow: a driver describes the program in a Spec and gets a
// Process, an io.ReadWriteCloser on the program's stdin and stdout. The bytes
// go straight between the driver and the agent, never through the runner.
//
// Guarantees:
//   - No descendant outlives its Process: not after Close or Terminate, not
//     after kill -9 of the daemon (the runner sees its control socket end and
//     kills the tree), not after kill -9 of the runner (its orphans come to the
//     daemon, which is a sub-reaper too and kills them). What survives both
//     being killed at once is found by Reap at the next start.
//   - The agent gets the environment it was given, file descriptors 0, 1 and 2,
//     and nothing else of the daemon.
//   - Memory does not grow with what an agent prints: stderr is kept in a
//     bounded tail and lines are read with a cap (LineReader).
//   - No operating system thread waits for a child.
//
// A program needs nothing to serve as a runner: see package runner, which takes
// over before main.
//
// The daemon tells its orphans from children of other kinds by their session
// id, so a program that uses a Starter must not start children with setsid by
// other means.
package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cligate/internal/worker/proc/runner"
)

// Spec is a program to start.
type Spec struct {
	Path string   // absolute path of the executable, see Find
	Args []string // arguments without the program's name; never text of a user
	Dir  string   // working directory, absolute
	Env  []string // the complete environment, see BuildEnv
}

func (s Spec) check() error {
	if !filepath.IsAbs(s.Path) {
		return fmt.Errorf("executable %q is not an absolute path", s.Path)
	}
	if !filepath.IsAbs(s.Dir) {
		return fmt.Errorf("working directory %q is not an absolute path", s.Dir)
	}
	for _, list := range [][]string{{s.Path, s.Dir}, s.Args, s.Env} {
		for _, v := range list {
			if strings.ContainsRune(v, 0) {
				return errors.New("a zero byte in path, arguments or environment")
			}
		}
	}
	return nil
}

// Config are the settings of a Starter.
type Config struct {
	// Token marks every process that is started, so that Reap finds it; use
	// TokenFor. Required.
	Token string
	// Exe is the binary that the runner is executed from; empty = this one.
	Exe string
	// Grace is how long a process may take to end after SIGTERM before it is
	// killed; 0 = 1.5 s, which keeps a stop within two seconds.
	Grace time.Duration
	// Processes limits the processes of the agent's user while the agent runs
	// (RLIMIT_NPROC); 0 = as inherited.
	Processes uint64
	Log       *slog.Logger // nil = no log
}

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Token == "" || strings.ContainsAny(c.Token, "\x00= \n") {
		errs = append(errs, fmt.Errorf("runner token %q is not usable", c.Token))
	}
	if c.Grace < 0 {
		errs = append(errs, fmt.Errorf("grace %v is negative", c.Grace))
	}
	return errors.Join(errs...)
}

// Seal keeps other processes of the same user, the agents above all, from
// reading this process's memory and environment, where secrets are. The daemon
// calls it once at its start. Root can still read everything.
func Seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	return nil
}

// Starter starts processes. It keeps one spare runner ready, so that a start
// does not wait for a runner to come up.
type Starter struct {
	cfg   Config
	log   *slog.Logger
	brood *brood
	tasks sync.WaitGroup // refills and the watchers of processes

	mu      sync.Mutex
	spare   *control
	filling bool
	live    map[*Process]struct{}
	closed  bool
}

// New makes the calling process a sub-reaper and returns a Starter with a
// spare runner on its way.
func New(cfg Config) (*Starter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Exe == "" {
		cfg.Exe = "/proc/self/exe"
	}
	if cfg.Grace == 0 {
		cfg.Grace = 1500 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become a sub-reaper: %w", err)
	}
	s := &Starter{cfg: cfg, log: cfg.Log, live: map[*Process]struct{}{},
		brood: &brood{token: cfg.Token, own: map[int]struct{}{}}}
	s.refill()
	return s, nil
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the process starter is closed")

// Start runs the program of spec. An executable that is missing or cannot be
// run is reported here, as an error that wraps fs.ErrNotExist or the system's
// error number. ctx bounds the start only; the process lives until it ends or
// is closed.
func (s *Starter) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	spec.Env = append(withDir(spec.Env, filepath.Dir(spec.Path)), runner.TokenName+"="+s.cfg.Token)
	for range 2 { // a spare that was killed while it waited costs a second try
		r, fresh, err := s.take()
		if err != nil {
			return nil, fmt.Errorf("start runner: %w", err)
		}
		p, err := s.launch(ctx, r, spec)
		if err == nil || fresh || !errors.Is(err, errRunnerGone) {
			return p, err
		}
		s.log.WarnContext(ctx, "spare runner was gone", "pid", r.pid)
	}
	return nil, fmt.Errorf("start %s: %w", spec.Path, errRunnerGone)
}

// take returns a runner that waits for its Spec: the spare one, or a fresh one.
func (s *Starter) take() (r *control, fresh bool, err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, false, ErrClosed
	}
	r, s.spare = s.spare, nil
	s.mu.Unlock()
	defer s.refill()
	if r != nil {
		return r, false, nil
	}
	r, err = spawn(s.cfg, s.brood)
	return r, true, err
}

// refill starts a new spare runner in the background, unless there is one.
func (s *Starter) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.filling || s.spare != nil {
		return
	}
	s.filling = true
	s.tasks.Go(func() {
		r, err := spawn(s.cfg, s.brood)
		if err != nil {
			s.log.Warn("start spare runner", "err", err)
		}
		s.mu.Lock()
		s.filling = false
		if err == nil && !s.closed {
			s.spare, r = r, nil
		}
		s.mu.Unlock()
		if err == nil && r != nil {
			r.discard()
		}
	})
}

// launch hands spec to r and follows the process from then on.
func (s *Starter) launch(ctx context.Context, r *control, spec Spec) (*Process, error) {
	p, err := r.launch(ctx, spec, s.cfg)
	if err != nil {
		r.discard()
		if _, refused := errors.AsType[syscall.Errno](err); !refused {
			s.sweep() // the agent may have been started all the same
		}
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.live[p] = struct{}{}
		s.tasks.Go(func() { s.follow(p) })
	}
	s.mu.Unlock()
	if closed {
		p.abandon()
		r.discard()
		s.sweep()
		return nil, ErrClosed
	}
	return p, nil
}

// sweep kills what a dead runner left.
func (s *Starter) sweep() {
	if !s.brood.sweep() {
		s.log.Error("orphans of a runner could not be killed")
	}
}

// Close ends every process and the spare runner, and waits until all are gone.
// It may be called twice.
func (s *Starter) Close() error {
	s.mu.Lock()
	s.closed = true
	spare := s.spare
	s.spare = nil
	live := make([]*Process, 0, len(s.live))
	for p := range s.live {
		live = append(live, p)
	}
	s.mu.Unlock()
	if spare != nil {
		spare.discard()
	}
	var all sync.WaitGroup
	for _, p := range live {
		all.Go(func() { _ = p.Close() })
	}
	all.Wait()
	s.tasks.Wait()
	return nil
}
