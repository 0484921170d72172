package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	mu       sync.Mutex
	native   string
	version  string
	commands []worker.Command
	menus    menus
	now      inUse
	takes    takes
	sums     sums
	held     bool // a turn has ended well
	doubted  bool // see Quirks.Reloads
	entering bool // see enters
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
	m := &s.menus
	return worker.Info{
		Version: s.version, Commands: slices.Clone(s.commands),
		Model: m.models.look(s.now.model), Mode: m.modes.look(s.now.mode), Effort: m.efforts.look(s.now.effort),
		Models: m.models.list(), Modes: m.modes.list(), Efforts: m.efforts.list(),
	}
}

// window is the context window of the model in use in tokens, 0 when the agent
// does not tell it with its models.
func (s *session) window() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus.windows[s.now.model]
}

// ownModel reports whether a model is the word for the agent's own choice.
func (s *session) ownModel(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus.own(model)
}

// begin makes the session fit for a turn.
func (s *session) begin(ctx context.Context) error {
	s.mu.Lock()
	doubted := s.doubted
	s.mu.Unlock()
	if doubted {
		if err := s.reload(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted = false
	s.sums.begin()
	return nil
}

// end is called when a turn is over. One that did not end well may have left
// the agent's memory in doubt.
func (s *session) end(good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.held || good
	s.doubted = !good && s.cfg.Reloads
}

// reload makes the agent read the session anew. Of a session in which nothing
// has come to an end yet an agent may have kept nothing: then it is begun anew.
// Where it fails otherwise the process is ended, so that the next turn finds
// out in the usual way what became of the session.
func (s *session) reload(ctx context.Context) error {
	i := s.about()
	want := chat.Settings{Mode: i.Mode, Model: i.Model, Effort: i.Effort}
	err := s.enter(ctx, s.id(), want)
	if _, refused := errors.AsType[*rpcError](err); refused && !s.holds() {
		err = s.enter(ctx, "", want)
	}
	if err != nil {
		if ctx.Err() == nil {
			s.conn.work.Go(func() { _ = s.conn.proc.Close() })
		}
		return fmt.Errorf("load the session anew: %w", err)
	}
	return nil
}

// holds reports whether there is something in the session that could be lost.
func (s *session) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held || s.spec.NativeID != ""
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
	shown := !s.entering
	switch u := n.Update; u.Kind {
	case "available_commands_update":
		s.commands = nil
		for _, c := range u.Commands {
			if name := strings.TrimPrefix(c.Name, "/"); !slices.Contains(s.cfg.Unasking, name) {
				s.commands = append(s.commands, worker.Command{Name: name, Help: c.Description})
			}
		}
	case "config_option_update":
		s.learnOptions(u.Options)
	case "current_mode_update":
		set(&s.now.mode, u.Mode)
	case "usage_update":
		s.sums.take(u)
	}
	return shown
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
	if s.spec.NativeID != "" && !said.Capabilities.Load {
		return chat.E(chat.NoSession, "", errors.New("the agent cannot load sessions"))
	}
	s.mu.Lock()
	s.version, s.takes = said.Agent.Version, s.cfg.takes(said)
	s.mu.Unlock()
	return s.enter(ctx, s.spec.NativeID, chat.Settings{Mode: s.spec.Mode, Model: s.spec.Model, Effort: s.spec.Effort})
}

// enter makes a session, or loads the one of that id.
func (s *session) enter(ctx context.Context, id string, want chat.Settings) error {
	limit, cancel := context.WithTimeoutCause(ctx, s.cfg.LoadTimeout, errLate)
	defer cancel()
	s.enters(true)
	defer s.enters(false)
	load := id != ""
	ask, method, late := openSession{SessionID: id, Dir: s.spec.Workspace, Servers: []struct{}{}}, "session/new", chat.StartTimeout
	if load {
		method, late = "session/load", chat.LoadTimeout
		s.cfg.Store.clear(limit, s.cfg, id, s.log)
		defer s.cfg.Store.sweep(s.cfg, id, s.log)
	}
	raw, err := s.conn.call(limit, method, ask)
	if err != nil {
		return s.openError(ctx, err, late)
	}
	o, err := decode[opened](raw)
	if err != nil {
		return chat.E(chat.Protocol, "", err)
	}
	id = cmp.Or(id, o.SessionID)
	if id == "" {
		return chat.E(chat.Protocol, "", errors.New("the agent gave no session id"))
	}
	s.mu.Lock()
	s.native, s.sums.loaded = id, load
	s.learn(o)
	s.mu.Unlock()
	if err := s.setup(ctx, want); err != nil {
		return err
	}
	if load && !s.cfg.ReplayInLoad {
		s.settle(limit)
	}
	return nil
}

// enters says whether what comes now belongs to no turn, because it may be
// history.
func (s *session) enters(now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entering = now
}

// quiet is how long an agent that replays history after a load must have been
// silent, quietLimit how long that is waited for.
const (
	quiet      = 150 * time.Millisecond
	quietLimit = 20 * time.Second
)

// settle waits until the replay of a loaded session is over: the agent has been
// silent, and has then answered a question before it said anything else. On a
// busy machine silence alone proves nothing.
func (s *session) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		select {
		case <-s.heard: // something came; the time runs anew
			continue
		case <-ctx.Done():
			return
		case <-s.conn.ctx.Done():
			return
		case <-time.After(quiet):
		}
		if _, err := s.conn.call(ctx, methodPing, struct{}{}); err != nil && !settled(err) {
			return
		}
		select {
		case <-s.heard:
		default:
			return
		}
	}
}

// methodPing is a method that no agent knows. The answer says so.
const methodPing = "_cligate/ping"

// setup brings the session into the wished mode, model and effort. The mode is
// always stated: an agent may begin in one that asks nobody, also when it
// loads a session.
func (s *session) setup(ctx context.Context, want chat.Settings) error {
	if err := s.setupMode(ctx, want.Mode); err != nil {
		return err
	}
	for _, o := range s.cfg.Options {
		c := change{
			method: "session/set_config_option", set: setting{Option: o.ID, Value: o.Name},
			code: chat.Invalid, what: o.ID + " " + o.Name,
		}
		if err := s.apply(ctx, c); err != nil {
			return err
		}
	}
	if wish := want.Model; wish != "" && wish != s.about().Model && !s.ownModel(wish) {
		err := s.change(ctx, wish, s.modelChange)
		if chat.CodeOf(err) == chat.Unsupported { // no session of it can have that model
			return chat.E(chat.ModelUnknown, wish, err)
		}
		if err != nil {
			return err
		}
	}
	if wish := want.Effort; wish != "" && wish != s.about().Effort {
		return s.change(ctx, wish, s.effortChange)
	}
	return nil
}

func (s *session) setupMode(ctx context.Context, wish string) error {
	wish = cmp.Or(wish, s.cfg.Mode)
	if wish == "" {
		s.mu.Lock()
		wish = s.menus.asks(s.now.mode)
		s.mu.Unlock()
	}
	if wish == "" { // an agent without modes
		return nil
	}
	return s.change(ctx, wish, s.modeChange)
}

// change finds out how a wish is told the agent, and tells it.
func (s *session) change(ctx context.Context, wish string, how func(string) (change, error)) error {
	c, err := how(wish)
	if err != nil {
		return err
	}
	return s.apply(ctx, c)
}
