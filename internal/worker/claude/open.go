package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// way is one way to start the agent for a session.
type way struct {
	id     string
	resume bool
}

// ways lists what to try, in this order, each at most once. An id that the
// agent reported can only be resumed. A seed may or may not be known to the
// agent: it learns it with the first prompt, and it may even have a file for
// it and nothing in it, so that it neither resumes nor creates it; then any
// new id will do, for nothing is lost.
func ways(s worker.Spec) []way {
	if s.NativeID != "" {
		return []way{{s.NativeID, true}}
	}
	other := way{uuid.NewString(), false}
	switch {
	case s.Seed == "":
		return []way{other}
	case s.Begun:
		return []way{{s.Seed, true}, {s.Seed, false}, other}
	default:
		return []way{{s.Seed, false}, {s.Seed, true}, other}
	}
}

// Open implements worker.Driver.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if err := checkSpec(s); err != nil {
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
	if how.resume {
		limit, late = d.cfg.ResumeTimeout, chat.LoadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, chat.E(late, "", errors.New("the agent was not ready in time")))
	defer cancel()
	p, err := d.launch(ctx, s.Workspace, d.cfg.arguments(how.id, how.resume, s))
	if err != nil {
		return nil, err
	}
	w := newWorker(ctx, d.cfg, s, p, d.log.With("session", s.Session))
	if err := greet(ctx, w, limit); err != nil {
		_ = p.Close() // at once; Close below only tidies up
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// greeting is the agent's answer to "initialize".
type greeting struct {
	Version  string `json:"claude_code_version"`
	Commands []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"commands"`
	Models []struct {
		Value    string `json:"value"`
		Resolved string `json:"resolvedModel"`
	} `json:"models"`
}

// greet greets the agent and learns what it can do.
func greet(ctx context.Context, w *Worker, limit time.Duration) error {
	body, err := w.link.call(ctx, limit+time.Second, object{"subtype": "initialize"})
	switch {
	case err == nil:
	case errors.Is(err, errGone), errors.Is(err, errTorn):
		if err := w.proc.Terminate(ctx); err != nil {
			return fmt.Errorf("end an agent that did not start: %w", err)
		}
		<-w.gone
		return startFailure(w.known.lastWords(), w.proc)
	default:
		return err
	}
	var g greeting
	if err := decode(body, &g); err != nil {
		return chat.E(chat.Protocol, "", fmt.Errorf("read the agent's greeting: %w", err))
	}
	w.known.introduce(g.info(w.spec.Model))
	return nil
}

func (g greeting) info(model string) worker.Info {
	info := worker.Info{Version: g.Version, Model: model, Modes: modes}
	for _, m := range g.Models {
		info.Models = append(info.Models, m.Value)
		if model == "" && m.Value == "default" {
			info.Model = m.Resolved
		}
	}
	for _, c := range g.Commands {
		info.Commands = append(info.Commands, worker.Command{Name: c.Name, Help: c.Description})
	}
	return info
}
