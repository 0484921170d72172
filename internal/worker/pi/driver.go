// Package pi drives pi as a long-lived process that speaks JSON lines on stdin
// and stdout ("pi --mode rpc"): one process per session.
//
// Place in the flow: session opens a worker here, turn prompts it. The driver
// turns the agent's messages into events, and knows no chat service.
//
// Guarantees:
//   - The agent asks nobody before it acts, and the driver says so: it does not
//     declare approvals.
//   - A session is a file, whose name is chosen here. One that is named and is
//     not there is a lost session; an empty one is never begun in its place.
//   - A turn ends when the agent says that it rests, after whatever it repeats
//     or compacts by itself.
//   - Words that came too late for a turn reach no other: the process is begun
//     anew, because the agent cannot be told to forget them.
//   - Each message of the agent repeats all that it said so far; only what is
//     new is read, so that memory and time stay in proportion to the answer.
package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var _ worker.Driver = (*Driver)(nil)

// process is what the driver needs of a running agent; *proc.Process is one.
type process interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
	CloseWrite() error
	Stderr() string
	Done() <-chan struct{}
	Exit() (code int, signal syscall.Signal)
	Identity() string
	Terminate(ctx context.Context) error
}

// Driver starts the agent.
type Driver struct {
	cfg   Config
	start func(ctx context.Context, s proc.Spec) (process, error)
	log   *slog.Logger
}

// New returns a driver that starts its agents with starter.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) *Driver {
	return &Driver{cfg: cfg.withDefaults(), log: log, start: func(ctx context.Context, s proc.Spec) (process, error) {
		p, err := starter.Start(ctx, s)
		if err != nil {
			return nil, err // a nil *Process must not become a process
		}
		return p, nil
	}}
}

// Abilities are what the agent can do through this driver. Approvals are not
// among them.
func Abilities() worker.Abilities {
	return worker.Abilities{
		worker.ChoosesID, worker.Resume, worker.Interrupt, worker.Steer, worker.Models, worker.Efforts, worker.Images,
		worker.Thoughts, worker.Tokens, worker.Cost, worker.Window, worker.Compact, worker.Failures, worker.Catalogue,
		worker.TakesOver, worker.KeepsStopped,
	}
}

// oldest is the version from which on the agent is known to say all that is
// needed here. It tells its version to the probe only.
const oldest = "0.73"

const probeTimeout = 15 * time.Second

// Probe implements worker.Driver. Whether a provider is set up shows with the
// first prompt only.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{
		Agent: "pi", LoggedIn: true, Can: Abilities(),
		Env: proc.EnvNames(append(append([]string(nil), allowed...), d.cfg.Env...)...),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, chat.E(chat.StartTimeout, "", nil))
	defer cancel()
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = os.TempDir()
	}
	p, err := d.launch(ctx, dir, "--version")
	if err != nil {
		t.Hint = i18n.T(i18n.Default, "pi.install")
		return t, err
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	_ = p.CloseWrite()
	out, err := io.ReadAll(io.LimitReader(p, 1<<20))
	<-p.Done()
	switch {
	case ctx.Err() != nil:
		return t, context.Cause(ctx)
	case err != nil:
		return t, fmt.Errorf("read the agent's output: %w", err)
	}
	// It prints its version on either.
	fields := strings.Fields(string(out) + " " + p.Stderr())
	if len(fields) == 0 {
		return t, chat.E(chat.Unavailable, "", errors.New("the agent printed nothing"))
	}
	t.Version = fields[0]
	return t, worker.Recent(t.Version, oldest)
}

// Open implements worker.Driver.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if err := checkSpec(s); err != nil {
		return nil, err
	}
	if info, err := os.Stat(s.Workspace); err != nil || !info.IsDir() || !filepath.IsAbs(s.Workspace) {
		return nil, chat.E(chat.Invalid, "workspace", errors.Join(err, fmt.Errorf("workspace %q is no directory", s.Workspace)))
	}
	file, err := d.file(s)
	if err != nil {
		return nil, err
	}
	limit, late := d.cfg.StartTimeout, chat.StartTimeout
	if s.NativeID != "" {
		limit, late = d.cfg.LoadTimeout, chat.LoadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, chat.E(late, "", errors.New("the agent was not ready in time")))
	defer cancel()
	p, err := d.launch(ctx, s.Workspace, arguments(file, s)...)
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d.cfg, p, file, d.log.With("session", s.Session))
	if err := w.greet(ctx, chat.Settings{Model: s.Model, Effort: s.Effort}); err != nil {
		w.closing.Store(true)
		_ = p.Close() // at once; Close below only tidies up
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// arguments is the command line for a session.
func arguments(file string, s worker.Spec) []string {
	args := []string{"--mode", "rpc", "--session", file}
	if s.Model != "" {
		args = append(args, "--model", s.Model)
	}
	if s.Effort != "" {
		args = append(args, "--thinking", s.Effort)
	}
	return args
}

// file is the file of a session: the one that is named, which must be there, or
// one that is named after the seed, in the agent's own folder.
func (d *Driver) file(s worker.Spec) (string, error) {
	if s.NativeID != "" {
		if _, err := os.Stat(s.NativeID); errors.Is(err, fs.ErrNotExist) {
			return "", chat.E(chat.NoSession, "", err)
		} else if err != nil {
			return "", chat.E(chat.Unavailable, "", err)
		}
		return s.NativeID, nil
	}
	dir, err := d.cfg.folder(s.Workspace)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", chat.E(chat.Unavailable, "", err)
	}
	seed := s.Seed
	if seed == "" {
		seed = uuid.NewString()
	}
	return filepath.Join(dir, seed+".jsonl"), nil
}

// launch starts the executable in dir.
func (d *Driver) launch(ctx context.Context, dir string, args ...string) (process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	}
	args = append(append([]string(nil), d.cfg.Args...), args...)
	p, err := d.start(ctx, proc.Spec{Path: path, Args: args, Dir: dir, Env: d.cfg.env()})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	default:
		return nil, chat.E(chat.Unavailable, "", err)
	}
}
