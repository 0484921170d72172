package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// opening is how a session comes to be, and comes to be again.
type opening struct{ *session }

// present exchanges the first words with the agent.
func (s opening) present(ctx context.Context) (presented, error) {
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
	return said, worker.Recent(said.Agent.Version, s.cfg.Oldest)
}

var errLate = errors.New("the agent did not answer in time")

// open makes or loads the session and brings it into the wished mode.
func (s opening) open(ctx context.Context) error {
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
func (s opening) enter(ctx context.Context, id string, want chat.Settings) error {
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
	s.mu.Unlock()
	s.settings.learn(o)
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
func (s opening) enters(now bool) {
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
func (s opening) settle(ctx context.Context) {
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
func (s opening) setup(ctx context.Context, want chat.Settings) error {
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
	if wish := want.Model; wish != "" && wish != s.about().Model && !s.settings.own(wish) {
		err := s.change(ctx, wish, s.settings.modelChange)
		if chat.CodeOf(err) == chat.Unsupported { // no session of it can have that model
			return chat.E(chat.ModelUnknown, wish, err)
		}
		if err != nil {
			return err
		}
	}
	if wish := want.Effort; wish != "" && wish != s.about().Effort {
		return s.change(ctx, wish, s.settings.effortChange)
	}
	return nil
}

func (s opening) setupMode(ctx context.Context, wish string) error {
	wish = cmp.Or(wish, s.cfg.Mode)
	if wish == "" {
		wish = s.settings.asking()
	}
	if wish == "" { // an agent without modes
		return nil
	}
	return s.change(ctx, wish, s.settings.modeChange)
}

// change finds out how a wish is told the agent, and tells it.
func (s opening) change(ctx context.Context, wish string, how func(string) (change, error)) error {
	c, err := how(wish)
	if err != nil {
		return err
	}
	return s.apply(ctx, c)
}

// reload makes the agent read the session anew. Of a session in which nothing
// has come to an end yet an agent may have kept nothing: then it is begun anew.
// Where it fails otherwise the process is ended, so that the next turn finds
// out in the usual way what became of the session.
func (s opening) reload(ctx context.Context) error {
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
