package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// way is one way to start the agent for a session.
type way struct {
	id     string
	resume bool
	fork   string // the session whose memory the new one begins with
}

// ways lists what to try, in this order, each at most once. An id that the
// agent reported can only be resumed. A seed may or may not be known to the
// agent: it learns it with the first prompt, and it may even have a file for
// it and nothing in it, so that it neither resumes nor creates it; then any
// new id will do, for nothing is lost.
func ways(s worker.Spec) []way {
	if s.NativeID != "" {
		return []way{{id: s.NativeID, resume: true}}
	}
	first, again := way{id: s.Seed, fork: s.Fork}, way{id: s.Seed, resume: true}
	other := way{id: uuid.NewString(), fork: s.Fork}
	switch {
	case s.Seed == "":
		return []way{other}
	case s.Begun:
		return []way{again, first, other}
	default:
		return []way{first, again, other}
	}
}

// Open implements worker.Driver.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if err := d.cfg.checkSpec(s); err != nil {
		return nil, err
	}
	if err := checkWorkspace(s.Workspace); err != nil {
		return nil, err
	}
	var err error
	for _, how := range ways(s) {
		var w *Worker
		w, err = d.open(ctx, s, how)
		if err == nil {
			return w, nil
		}
		if chat.CodeOf(err) != chat.NoSession && !errors.Is(err, errInUse) {
			return nil, err
		}
		d.log.InfoContext(ctx, "session not opened this way", "session", s.Session, "resume", how.resume, "err", err)
	}
	return nil, err
}

func checkWorkspace(dir string) error {
	if !filepath.IsAbs(dir) {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is not absolute", dir))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return chat.E(chat.Invalid, "workspace", err)
	}
	if !info.IsDir() {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is no directory", dir))
	}
	return nil
}

// open starts one process and waits until it is ready.
func (d *Driver) open(ctx context.Context, s worker.Spec, how way) (*Worker, error) {
	limit, late := d.cfg.StartTimeout, chat.StartTimeout
	if how.resume || how.fork != "" {
		limit, late = d.cfg.ResumeTimeout, chat.LoadTimeout
	}
	s.Mode = d.cfg.mode(s.Mode)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, chat.E(late, "", errors.New("the agent was not ready in time")))
	defer cancel()
	p, err := d.launch(ctx, s.Workspace, d.cfg.arguments(how, s))
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d.cfg, s, p, d.log.With("session", s.Session))
	if err := greet(ctx, w, how.resume || how.fork != "", limit); err != nil {
		_ = p.Close() // at once; Close below only tidies up
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}
