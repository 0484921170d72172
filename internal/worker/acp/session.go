package acp

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// session is the agent's session in a live process: how it was opened, what
// the agent said about it, and how its settings are changed.
type session struct {
	cfg   Config
	spec  worker.Spec
	log   *slog.Logger
	conn  *conn
	heard chan struct{} // gets a token whenever an update comes

	mu     sync.Mutex
	native string
	info   worker.Info
	by     means
}

// means is how this agent changes its settings.
type means struct {
	mode, model             bool   // by set_mode, by set_model
	modeOption, modelOption string // by the configuration option of that id
}

// id is the session id that the agent gave.
func (s *session) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.native
}

// about is what the agent said about itself, as of now.
func (s *session) about() worker.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.info
	i.Models, i.Modes, i.Commands = slices.Clone(i.Models), slices.Clone(i.Modes), slices.Clone(i.Commands)
	return i
}

// take takes in what an update says about the session, and reports false for
// one of another session, a sub-agent's.
func (s *session) take(n updateNote) bool {
	select {
	case s.heard <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.SessionID != "" && s.native != "" && n.SessionID != s.native {
		return false
	}
	switch u := n.Update; u.Kind {
	case "available_commands_update":
		s.info.Commands = nil
		for _, c := range u.Commands {
			s.info.Commands = append(s.info.Commands, worker.Command{
				Name: strings.TrimPrefix(c.Name, "/"), Help: c.Description,
			})
		}
	case "config_option_update":
		s.learnOptions(u.Options)
	}
	return true
}

// present exchanges the first words with the agent.
func (s *session) present(ctx context.Context) (presented, error) {
	limit, cancel := context.WithTimeoutCause(ctx, s.cfg.StartTimeout, errLate)
	defer cancel()
	me := initialize{ProtocolVersion: 1, Client: party{Name: "cligate", Title: "CliGate", Version: "1"}}
	raw, err := s.conn.call(limit, "initialize", me)
	if err != nil {
		return presented{}, s.openError(ctx, err, chat.StartTimeout)
	}
	said, err := decode[presented](raw)
	if err != nil {
		return said, chat.E(chat.Protocol, "", err)
	}
	return said, nil
}

var errLate = errors.New("the agent did not answer in time")

// open makes or loads the session and brings it into the wished mode.
func (s *session) open(ctx context.Context) error {
	said, err := s.present(ctx)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeoutCause(ctx, s.cfg.LoadTimeout, errLate)
	defer cancel()
	ask := openSession{Dir: s.spec.Workspace, Servers: []struct{}{}}
	method, late := "session/new", chat.StartTimeout
	if s.spec.NativeID != "" {
		if !said.Capabilities.Load {
			return chat.E(chat.NoSession, "", errors.New("the agent cannot load sessions"))
		}
		ask.SessionID, method, late = s.spec.NativeID, "session/load", chat.LoadTimeout
	}
	raw, err := s.conn.call(limit, method, ask)
	if err != nil {
		return s.openError(ctx, err, late)
	}
	o, err := decode[opened](raw)
	if err != nil {
		return chat.E(chat.Protocol, "", err)
	}
	id := o.SessionID
	if s.spec.NativeID != "" {
		id = s.spec.NativeID
		if !s.cfg.ReplayInLoad {
			s.settle(limit)
		}
	}
	if id == "" {
		return chat.E(chat.Protocol, "", errors.New("the agent gave no session id"))
	}
	s.mu.Lock()
	s.native = id
	s.info.Version = said.Agent.Version
	s.learn(o)
	s.mu.Unlock()
	return s.setup(ctx)
}

// quiet is how long an agent that replays history after a load must have been
// silent, quietLimit how long that is waited for.
const (
	quiet      = 150 * time.Millisecond
	quietLimit = 5 * time.Second
)

// settle waits until the replay of a loaded session is over.
func (s *session) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		select {
		case <-time.After(quiet):
			return
		case <-s.heard: // something came; the time runs anew
		case <-ctx.Done():
			return
		case <-s.conn.ctx.Done():
			return
		}
	}
}

// setup brings the session into the wished mode and model.
func (s *session) setup(ctx context.Context) error {
	mode := s.spec.Mode
	if mode == "" {
		mode = s.cfg.Mode
	}
	if mode != "" {
		if err := s.setMode(ctx, mode); err != nil {
			return err
		}
	}
	if info := s.about(); s.spec.Model != "" && s.spec.Model != info.Model && !own(s.spec.Model, info) {
		err := s.setModel(ctx, s.spec.Model)
		if chat.CodeOf(err) == chat.Unsupported { // no session of it can have that model
			return chat.E(chat.ModelUnknown, s.spec.Model, err)
		}
		return err
	}
	return nil
}

// own reports whether a model is the word for the agent's own choice, which
// few agents know as a name.
func own(model string, info worker.Info) bool {
	return model == "default" && !slices.Contains(info.Models, model)
}

// learn takes in what an answer says about modes, models and options. s.mu is
// held.
func (s *session) learn(o opened) {
	for _, m := range o.Modes.Available {
		if !slices.Contains(s.info.Modes, m.ID) {
			s.info.Modes = append(s.info.Modes, m.ID)
		}
	}
	for _, m := range o.Models.Available {
		if id := m.Model; id != "" && !slices.Contains(s.info.Models, id) {
			s.info.Models = append(s.info.Models, id)
		}
	}
	if o.Models.Current != "" {
		s.info.Model = o.Models.Current
	}
	s.by.mode = len(o.Modes.Available) > 0
	s.by.model = len(o.Models.Available) > 0
	s.learnOptions(o.Options)
}

// learnOptions takes in configuration options, the newer form of modes and
// models. s.mu is held.
func (s *session) learnOptions(options []configOption) {
	for _, o := range options {
		current, _ := o.Current.(string)
		var values []string
		for _, v := range o.Options {
			values = append(values, v.Value)
		}
		switch {
		case o.Category == "mode" || o.Category == "" && o.ID == "mode":
			s.by.modeOption = o.ID
			if !s.by.mode && len(values) > 0 {
				s.info.Modes = values
			}
		case o.Category == "model" || o.Category == "" && o.ID == "model":
			s.by.modelOption = o.ID
			if !s.by.model && len(values) > 0 {
				s.info.Models = values
			}
			if current != "" {
				s.info.Model = current
			}
		}
	}
}

// change sends one change of settings.
func (s *session) change(ctx context.Context, method string, set setting) error {
	limit, cancel := context.WithTimeoutCause(ctx, s.cfg.CallTimeout, errLate)
	defer cancel()
	_, err := s.conn.call(limit, method, set)
	return err
}

// setMode changes the permission mode.
func (s *session) setMode(ctx context.Context, mode string) error {
	s.mu.Lock()
	by := s.by
	s.mu.Unlock()
	set := setting{SessionID: s.id()}
	method := "session/set_mode"
	if by.mode || by.modeOption == "" {
		set.Mode = mode
	} else {
		method, set.Option, set.Value = "session/set_config_option", by.modeOption, mode
	}
	if err := s.change(ctx, method, set); err != nil {
		return s.setError(ctx, err, chat.Invalid, "mode "+mode)
	}
	return nil
}

// setModel changes the model. The session keeps its context.
func (s *session) setModel(ctx context.Context, model string) error {
	s.mu.Lock()
	by := s.by
	s.mu.Unlock()
	set := setting{SessionID: s.id()}
	method := "session/set_model"
	switch {
	case by.model:
		set.Model = model
	case by.modelOption != "":
		method, set.Option, set.Value = "session/set_config_option", by.modelOption, model
	default:
		return chat.E(chat.Unsupported, "", errors.New("the agent offers no models"))
	}
	if err := s.change(ctx, method, set); err != nil {
		return s.setError(ctx, err, chat.ModelUnknown, model)
	}
	s.mu.Lock()
	s.info.Model = model
	s.mu.Unlock()
	return nil
}
