package acp

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

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

	settings settings

	mu       sync.Mutex
	native   string
	version  string
	commands []worker.Command
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
	i := worker.Info{Version: s.version, Commands: slices.Clone(s.commands)}
	s.mu.Unlock()
	s.settings.describe(&i)
	return i
}

// begin makes the session fit for a turn.
func (s *session) begin(ctx context.Context) error {
	s.mu.Lock()
	doubted := s.doubted
	s.mu.Unlock()
	if doubted {
		if err := (opening{s}).reload(ctx); err != nil {
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
		s.settings.change(nil, u.Options)
	case "current_mode_update":
		s.settings.change(func(now *inUse) { set(&now.mode, u.Mode) }, nil)
	case "usage_update":
		s.sums.take(u)
	}
	return shown
}
