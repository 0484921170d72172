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
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	t := worker.Traits{Agent: d.cfg.Name, Hint: d.cfg.Hint}
	p, err := d.launch(ctx, "/")
	if err != nil {
		return t, err
	}
	w := newWorker(ctx, d, p, worker.Spec{})
	defer w.Close()
	said, err := w.present(ctx)
	if err != nil {
		return t, err
	}
	t.Version, t.LoggedIn = said.Agent.Version, true
	t.Resume, t.Images = said.Capabilities.Load, said.Capabilities.Prompt.Image
	t.Approval, t.Ask, t.Models = true, true, true
	return t, nil
}

// Open starts the agent and makes or loads the session.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	p, err := d.launch(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d, p, s)
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// launch starts the agent's process.
func (d *Driver) launch(ctx context.Context, dir string) (*proc.Process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, d.cfg.Hint, err)
	}
	p, err := d.starter.Start(ctx, proc.Spec{
		Path: path, Args: d.cfg.Args, Dir: dir, Env: proc.BuildEnv(d.cfg.Env...),
	})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, d.cfg.Hint, err)
	}
	return nil, chat.E(chat.StartTimeout, "", err)
}

// commandLine is what a person would type, for error texts.
func (c Config) commandLine() string {
	return strings.Join(append([]string{filepath.Base(c.Command)}, c.Args...), " ")
}

// present exchanges the first words with the agent.
func (w *Worker) present(ctx context.Context) (presented, error) {
	limit, cancel := context.WithTimeoutCause(ctx, w.cfg.StartTimeout, errLate)
	defer cancel()
	me := initialize{ProtocolVersion: 1, Client: party{Name: "cligate", Title: "CliGate", Version: "1"}}
	raw, err := w.conn.call(limit, "initialize", me)
	if err != nil {
		return presented{}, w.openError(ctx, err, chat.StartTimeout)
	}
	said, err := decode[presented](raw)
	if err != nil {
		return said, chat.E(chat.Protocol, "", err)
	}
	return said, nil
}

var errLate = errors.New("the agent did not answer in time")

// open makes or loads the session and brings it into the wished mode.
func (w *Worker) open(ctx context.Context) error {
	said, err := w.present(ctx)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeoutCause(ctx, w.cfg.LoadTimeout, errLate)
	defer cancel()
	ask := openSession{Dir: w.spec.Workspace, Servers: []struct{}{}}
	method, late := "session/new", chat.StartTimeout
	if w.spec.NativeID != "" {
		if !said.Capabilities.Load {
			return chat.E(chat.NoSession, "", errors.New("the agent cannot load sessions"))
		}
		ask.SessionID, method, late = w.spec.NativeID, "session/load", chat.LoadTimeout
	}
	raw, err := w.conn.call(limit, method, ask)
	if err != nil {
		return w.openError(ctx, err, late)
	}
	o, err := decode[opened](raw)
	if err != nil {
		return chat.E(chat.Protocol, "", err)
	}
	id := o.SessionID
	if w.spec.NativeID != "" {
		id = w.spec.NativeID
		if !w.cfg.ReplayInLoad {
			w.settle(limit)
		}
	}
	if id == "" {
		return chat.E(chat.Protocol, "", errors.New("the agent gave no session id"))
	}
	w.mu.Lock()
	w.native = id
	w.info.Version = said.Agent.Version
	w.learn(o)
	w.mu.Unlock()
	return w.setup(ctx)
}

// quiet is how long an agent that replays history after a load must have been
// silent, quietLimit how long that is waited for.
const (
	quiet      = 150 * time.Millisecond
	quietLimit = 5 * time.Second
)

// settle waits until the replay of a loaded session is over.
func (w *Worker) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		select {
		case <-time.After(quiet):
			return
		case <-w.heard: // something came; the time runs anew
		case <-ctx.Done():
			return
		case <-w.conn.ctx.Done():
			return
		}
	}
}

// setup brings the session into the wished mode and model.
func (w *Worker) setup(ctx context.Context) error {
	mode := w.spec.Mode
	if mode == "" {
		mode = w.cfg.Mode
	}
	if mode != "" {
		if err := w.setMode(ctx, mode); err != nil {
			return err
		}
	}
	if w.spec.Model != "" && w.spec.Model != w.Info().Model {
		return w.setModel(ctx, w.spec.Model)
	}
	return nil
}

// learn takes in what an answer says about modes, models and options. w.mu is
// held.
func (w *Worker) learn(o opened) {
	for _, m := range o.Modes.Available {
		if !slices.Contains(w.info.Modes, m.ID) {
			w.info.Modes = append(w.info.Modes, m.ID)
		}
	}
	for _, m := range o.Models.Available {
		if id := m.Model; id != "" && !slices.Contains(w.info.Models, id) {
			w.info.Models = append(w.info.Models, id)
		}
	}
	if o.Models.Current != "" {
		w.info.Model = o.Models.Current
	}
	w.by.mode = len(o.Modes.Available) > 0
	w.by.model = len(o.Models.Available) > 0
	w.learnOptions(o.Options)
}

// learnOptions takes in configuration options, the newer form of modes and
// models. w.mu is held.
func (w *Worker) learnOptions(options []configOption) {
	for _, o := range options {
		current, _ := o.Current.(string)
		var values []string
		for _, v := range o.Options {
			values = append(values, v.Value)
		}
		switch {
		case o.Category == "mode" || o.Category == "" && o.ID == "mode":
			w.by.modeOption = o.ID
			if !w.by.mode && len(values) > 0 {
				w.info.Modes = values
			}
		case o.Category == "model" || o.Category == "" && o.ID == "model":
			w.by.modelOption = o.ID
			if !w.by.model && len(values) > 0 {
				w.info.Models = values
			}
			if current != "" {
				w.info.Model = current
			}
		}
	}
}

// change sends one change of settings.
func (w *Worker) change(ctx context.Context, method string, s setting) (json.RawMessage, error) {
	limit, cancel := context.WithTimeoutCause(ctx, w.cfg.CallTimeout, errLate)
	defer cancel()
	return w.conn.call(limit, method, s)
}

// setMode changes the permission mode.
func (w *Worker) setMode(ctx context.Context, mode string) error {
	w.mu.Lock()
	by := w.by
	w.mu.Unlock()
	s := setting{SessionID: w.NativeID()}
	method := "session/set_mode"
	if by.mode || by.modeOption == "" {
		s.Mode = mode
	} else {
		method, s.Option, s.Value = "session/set_config_option", by.modeOption, mode
	}
	if _, err := w.change(ctx, method, s); err != nil {
		return w.setError(ctx, err, chat.Invalid, "mode "+mode)
	}
	return nil
}

// setModel changes the model. The session keeps its context.
func (w *Worker) setModel(ctx context.Context, model string) error {
	w.mu.Lock()
	by := w.by
	w.mu.Unlock()
	s := setting{SessionID: w.NativeID()}
	method := "session/set_model"
	switch {
	case by.model:
		s.Model = model
	case by.modelOption != "":
		method, s.Option, s.Value = "session/set_config_option", by.modelOption, model
	default:
		return chat.E(chat.Unsupported, "", errors.New("the agent offers no models"))
	}
	if _, err := w.change(ctx, method, s); err != nil {
		return w.setError(ctx, err, chat.ModelUnknown, model)
	}
	w.mu.Lock()
	w.info.Model = model
	w.mu.Unlock()
	return nil
}
