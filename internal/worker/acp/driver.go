// Package acp drives any agent that speaks the Agent Client Protocol over
// stdio: one process, one session.
//
// Place in the flow: it implements worker.Driver; package session opens its
// workers, package turn prompts them.
//
// Guarantees, whatever the agent does: one prompt at a time; a turn ends exactly
// once; history that is replayed while a session is loaded is never taken for an
// answer; only a definite "no such session" is reported as chat.NoSession; every
// request of the agent is answered; lines that make no sense are skipped, lines
// of any size are survived; what we ask has a deadline. "For this session" and
// "always" are never told to the agent, which gets a plain yes once: such rules
// are the gateway's own.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// Driver drives one kind of ACP agent.
type Driver struct {
	cfg   Config
	start func(context.Context, proc.Spec) (process, error)
	log   *slog.Logger

	mu      sync.Mutex
	learned worker.Abilities // from the sessions so far
}

var (
	_ worker.Driver     = (*Driver)(nil)
	_ worker.Cataloguer = (*Driver)(nil)
	_ worker.Terminal   = (*Driver)(nil)
)

// New makes a driver. It starts nothing. log nil = no log.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	start := func(ctx context.Context, s proc.Spec) (process, error) { return starter.Start(ctx, s) }
	return &Driver{cfg: cfg.withDefaults(), start: start, log: log.With("agent", cfg.Name)}, nil
}

// Probe starts the agent, lets it present itself and ends it. It opens no
// session, so it cannot find out whether the agent is logged in: LoggedIn is
// true unless the agent refuses to present itself. Of an agent that nobody has
// looked at, models, modes and efforts are known once a session was open.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{Agent: d.cfg.Name, Hint: d.cfg.Login, Env: proc.EnvNames(d.cfg.Env...)}
	w, said, err := d.present(ctx, "/", worker.Spec{})
	if err != nil {
		if chat.CodeOf(err) == chat.NotInstalled {
			t.Hint = d.cfg.Install
		}
		return t, err
	}
	defer w.Close()
	t.Version, t.LoggedIn, t.Can = said.Agent.Version, true, d.abilities(said)
	return t, nil
}

// present starts the agent for something else than a session.
func (d *Driver) present(ctx context.Context, dir string, s worker.Spec) (*Worker, presented, error) {
	p, err := d.launch(ctx, dir)
	if err != nil {
		return nil, presented{}, err
	}
	w := newWorker(ctx, d, p, s)
	said, err := (opening{w.session}).present(ctx)
	if err != nil {
		return nil, said, errors.Join(err, w.Close())
	}
	return w, said, nil
}

// abilities are what the agent announces and what was seen.
func (d *Driver) abilities(said presented) worker.Abilities {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg.abilities(said, d.learned...)
}

// abilities are what an agent announces and what was seen of it, in the usual
// order.
func (c Config) abilities(said presented, seen ...worker.Ability) worker.Abilities {
	can := slices.Concat(worker.Abilities{worker.Interrupt, worker.Approvals}, c.Can, worker.Abilities(seen))
	for a, announced := range map[worker.Ability]bool{
		worker.Resume: said.Capabilities.Load, worker.Images: said.Capabilities.Prompt.Image,
		worker.Catalogue: said.Capabilities.Session.List != nil && said.Capabilities.Load,
		worker.Steer:     said.Meta.Steering.Supported || c.Drains,
		worker.TakesOver: len(c.Terminal) > 0 && said.Capabilities.Load,
	} {
		if announced {
			can = append(can, a)
		}
	}
	return slices.DeleteFunc(worker.AllAbilities(), func(a worker.Ability) bool {
		return !can.Has(a) || c.Cannot.Has(a)
	})
}

// learn keeps what a session showed of its agent.
func (d *Driver) learn(i worker.Info) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, offered := range map[worker.Ability][]string{
		worker.Models: i.Models, worker.Modes: i.Modes, worker.Efforts: i.Efforts,
	} {
		if len(offered) > 1 && !d.learned.Has(a) {
			d.learned = append(d.learned, a)
		}
	}
}

// Open starts the agent and makes or loads the session.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if s.NativeID != "" {
		d.cfg.Store.sweep(d.cfg, s.NativeID, d.log) // the start already may cost the session
	}
	p, err := d.launch(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d, p, s)
	if err := (opening{w.session}).open(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	d.learn(w.Info())
	return w, nil
}

// launch starts the agent's process.
func (d *Driver) launch(ctx context.Context, dir string) (process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, cmp.Or(d.cfg.Install, d.cfg.Command), err)
	}
	p, err := d.start(ctx, proc.Spec{
		Path: d.cfg.program(path), Args: d.cfg.Args, Dir: dir, Env: d.env(),
	})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, cmp.Or(d.cfg.Install, d.cfg.Command), err)
	}
	return nil, chat.E(chat.StartTimeout, "", err)
}

// env is what a process is given.
func (d *Driver) env() []string {
	env := proc.BuildEnv(d.cfg.Env...)
	name := d.cfg.Variable
	if name == "" || lookup(env, name) != "" {
		return env
	}
	file, err := d.cfg.defaults(env)
	if err != nil {
		d.log.Warn("the agent goes without our defaults", "err", err)
		return env
	}
	return append(env, name+"="+file)
}

// defaults writes the file of defaults into the cache of the agent's user,
// unless it is there.
func (c Config) defaults(env []string) (string, error) {
	dir := lookup(env, "XDG_CACHE_HOME")
	if home := lookup(env, "HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(dir) {
		return "", errors.New("the agent's user has no home")
	}
	file := filepath.Join(dir, "cligate", c.Name+"-defaults.json")
	if old, err := os.ReadFile(file); err == nil && string(old) == c.Defaults {
		return file, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fmt.Errorf("make a folder for defaults: %w", err)
	}
	if err := os.WriteFile(file, []byte(c.Defaults), 0o600); err != nil {
		return "", fmt.Errorf("write defaults: %w", err)
	}
	return file, nil
}

// program is the program to start for the one that was found. A script that
// only starts another would outlive a signal without it, or leave it behind.
func (c Config) program(path string) string {
	script, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Ext(script) != ".js" {
		return path
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	names := strings.NewReplacer("$OS", runtime.GOOS, "$ARCH", cmp.Or(arch, runtime.GOARCH))
	for _, n := range c.Native {
		file := filepath.Join(filepath.Dir(script), filepath.FromSlash(names.Replace(n)))
		if found, err := proc.Find(file); err == nil {
			return found
		}
	}
	return path
}

// commandLine is what a person would type, for error texts.
func (c Config) commandLine() string {
	return strings.Join(append([]string{filepath.Base(c.Command)}, c.Args...), " ")
}
