package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// opener knows how a session is opened.
type opener struct {
	ledger  Ledger
	drivers map[string]worker.Driver
	cfg     Config
}

// check reads the session and finds what an open would fail on for sure.
func (o opener) check(ctx context.Context, id int64) (chat.Session, worker.Driver, error) {
	s, err := o.ledger.SessionByID(ctx, id)
	if err != nil {
		return s, nil, fmt.Errorf("open session %d: %w", id, err)
	}
	driver, ok := o.drivers[s.Agent]
	switch {
	case !ok:
		return s, nil, chat.E(chat.NotInstalled, s.Agent, nil)
	case s.State == chat.SessionLost:
		return s, nil, chat.E(chat.NoSession, "", nil)
	}
	return s, driver, there(s.Workspace)
}

// there checks that a worker can work in dir.
func there(dir string) error {
	if !filepath.IsAbs(dir) {
		return chat.Say(chat.Unavailable, "turn.workspace_relative", nil, "path", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return chat.Say(chat.Unavailable, "turn.workspace_gone", err, "path", dir)
	case !info.IsDir():
		return chat.Say(chat.Unavailable, "turn.workspace_file", nil, "path", dir)
	}
	return nil
}

// call runs the driver's Open under its deadline and notes what it reported.
func (o opener) call(
	ctx context.Context, d worker.Driver, s chat.Session, in func(context.Context) (worker.Host, func(error)),
) (worker.Worker, error) {
	begun := s.Begun
	if s.NativeID == "" && !begun {
		// Before, not after: a seed that may have arrived must not be used as new.
		if err := o.ledger.Begun(ctx, s.ID); err != nil {
			return nil, fmt.Errorf("begin session %d: %w", s.ID, err)
		}
	}
	limit, late := o.cfg.StartTimeout, chat.StartTimeout
	if s.NativeID != "" || s.Fork != "" {
		limit, late = o.cfg.LoadTimeout, chat.LoadTimeout
	}
	start := time.Now()
	tooLate := chat.E(late, "", nil)
	timed, cancel := context.WithTimeoutCause(ctx, limit, tooLate)
	defer cancel()
	want := s.Wishes().Or(o.cfg.Agents.Defaults[s.Agent])
	w, err := o.cfg.Agents.Open(timed, d, s.Agent, worker.Spec{
		Session: s.ID, Workspace: s.Workspace, NativeID: s.NativeID, Seed: s.Seed, Begun: begun, Fork: s.Fork,
		Model: want.Model, Mode: want.Mode, Effort: want.Effort, Uninvited: in,
	})
	if err != nil {
		return nil, verdict(ctx, timed, tooLate, s, err)
	}
	if o.cfg.Opened != nil {
		o.cfg.Opened(s.Agent, w.Info())
	}
	if id := w.NativeID(); id != "" && id != s.NativeID {
		if err := o.ledger.Bind(context.WithoutCancel(ctx), s.ID, id, chat.Settings{}); err != nil {
			// The end of the turn writes the id again.
			o.cfg.Log.WarnContext(ctx, "native id not stored yet", "session", s.ID, "err", err)
		}
	}
	o.cfg.Log.InfoContext(ctx, "worker opened", "session", s.ID, "agent", s.Agent,
		"resumed", s.NativeID != "", "took", time.Since(start))
	return w, nil
}

// guarded keeps a defect in a driver from taking other sessions down.
func guarded(ctx context.Context, d worker.Driver, s worker.Spec) (w worker.Worker, err error) {
	defer func() {
		if p := recover(); p != nil {
			w, err = nil, fmt.Errorf("panic in a driver: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Open(ctx, s)
}

// verdict says why an open failed. Only a resume, or a fork, can find that the
// session is lost, and a clock of ours explains whatever the driver made of it.
func verdict(ctx, timed context.Context, tooLate *chat.Error, s chat.Session, err error) error {
	code := chat.CodeOf(err)
	switch {
	case code == chat.NoSession && (s.NativeID != "" || s.Fork != ""):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(context.Cause(timed), tooLate):
		return chat.Recode(tooLate.Code, err)
	case code == chat.NoSession:
		return chat.Recode(chat.AgentError, err)
	case code == chat.TimedOut: // some deadline inside the driver, not the turn's
		return chat.Recode(chat.StartTimeout, err)
	}
	return err
}
