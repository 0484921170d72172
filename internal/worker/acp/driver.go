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
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// Driver drives one kind of ACP agent.
type Driver struct {
	cfg     Config
	starter *proc.Starter
	log     *slog.Logger
}

var _ worker.Driver = (*Driver)(nil)

// New makes a driver. It starts nothing. log nil = no log.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Driver{cfg: cfg.withDefaults(), starter: starter, log: log.With("agent", cfg.Name)}, nil
}

// Probe starts the agent, lets it present itself and ends it. It opens no
// session, so it cannot find out whether the agent is logged in: LoggedIn is
// true unless the agent refuses to present itself.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{Agent: d.cfg.Name, Hint: d.cfg.Hint, Env: proc.EnvNames(d.cfg.Env...)}
	p, err := d.launch(ctx, "/")
	if err != nil {
		return t, err
	}
	w := newWorker(ctx, d, p, worker.Spec{})
	defer w.Close()
	said, err := w.session.present(ctx)
	if err != nil {
		return t, err
	}
	t.Version, t.LoggedIn = said.Agent.Version, true
	t.Can = worker.Abilities{worker.Interrupt, worker.Approvals, worker.Questions, worker.Models}
	if said.Capabilities.Load {
		t.Can = append(t.Can, worker.Resume)
	}
	return t, nil
}

// Open starts the agent and makes or loads the session.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	p, err := d.launch(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d, p, s)
	if err := w.session.open(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// launch starts the agent's process.
func (d *Driver) launch(ctx context.Context, dir string) (*proc.Process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, cmp.Or(d.cfg.Hint, d.cfg.Command), err)
	}
	p, err := d.starter.Start(ctx, proc.Spec{
		Path: path, Args: d.cfg.Args, Dir: dir, Env: proc.BuildEnv(d.cfg.Env...),
	})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, cmp.Or(d.cfg.Hint, d.cfg.Command), err)
	}
	return nil, chat.E(chat.StartTimeout, "", err)
}

// commandLine is what a person would type, for error texts.
func (c Config) commandLine() string {
	return strings.Join(append([]string{filepath.Base(c.Command)}, c.Args...), " ")
}
