// Package claude drives Claude Code as a long-lived process that speaks
// stream-json on stdin and stdout: one process per session.
//
// Place in the flow: session opens a worker here, turn prompts it. The driver
// turns the agent's messages into events and questions, and knows no chat
// service.
//
// Guarantees:
//   - The session's id is chosen by us and given to the agent; later starts
//     resume it. Only the agent's own "no such conversation" is reported as a
//     lost session.
//   - A turn is bound to its messages by their ids, so what the agent starts by
//     itself, merges or says late never ends or colours another turn.
//   - A cancelled turn is ended natively and over when Prompt returns; an agent
//     that does not obey in time is ended with everything it started.
//   - Every question of the agent is answered: by a person, or with no.
//   - No line of output is too long or too strange: it is skipped, and the turn
//     ends all the same.
//   - Text of a user goes to the agent's stdin only, never into arguments.
package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var _ worker.Driver = (*Driver)(nil)

// Driver starts Claude Code.
type Driver struct {
	cfg   Config
	start func(ctx context.Context, s proc.Spec) (process, error)
	log   *slog.Logger
}

// New returns a driver that starts its agents with starter.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) *Driver {
	return &Driver{cfg: cfg.withDefaults(), log: log, start: func(ctx context.Context, s proc.Spec) (process, error) {
		p, err := starter.Start(ctx, s)
		if err != nil {
			return nil, err // a nil *Process must not become a process
		}
		return p, nil
	}}
}

// probeTimeout bounds each question that Probe asks.
const probeTimeout = 10 * time.Second

// abilities are what the agent can do through this driver.
func abilities() worker.Abilities {
	return worker.Abilities{
		worker.ChoosesID, worker.Resume, worker.Interrupt, worker.Steer, worker.Replace,
		worker.Approvals, worker.Questions, worker.Plans, worker.Models, worker.Modes, worker.Efforts,
		worker.Images, worker.Documents, worker.Thoughts, worker.Tokens, worker.Cost, worker.Window,
		worker.AgentTurns, worker.Compact, worker.Failures, worker.Catalogue, worker.Fork, worker.TakesOver, worker.KeepsStopped,
	}
}

// Probe implements worker.Driver.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{
		Agent: "claude", LoggedIn: true, Can: abilities(),
		Env: proc.EnvNames(d.cfg.env()...),
	}
	out, err := d.output(ctx, "--version")
	if err != nil {
		t.Hint = i18n.T(i18n.Default, "claude.install")
		return t, err
	}
	t.Version, _, _ = strings.Cut(strings.TrimSpace(out), " ")
	if err := worker.Recent(t.Version, oldest); err != nil {
		t.Hint = i18n.T(i18n.Default, "claude.install")
		return t, err
	}
	// The agent itself says whether it is logged in; an older one that cannot
	// is taken to be.
	var status struct {
		LoggedIn *bool `json:"loggedIn"`
	}
	out, err = d.output(ctx, "auth", "status")
	if err == nil && json.Unmarshal([]byte(out), &status) == nil && status.LoggedIn != nil && !*status.LoggedIn {
		t.LoggedIn = false
		t.Hint = i18n.T(i18n.Default, "claude.login")
	}
	return t, nil
}

// output runs the agent with args and returns what it printed.
func (d *Driver) output(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, chat.E(chat.StartTimeout, "", nil))
	defer cancel()
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = os.TempDir()
	}
	p, err := d.launch(ctx, dir, args)
	if err != nil {
		return "", err
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	_ = p.CloseWrite()
	out, err := io.ReadAll(io.LimitReader(p, 1<<20))
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("read the agent's output: %w", err)
	case len(out) == 0:
		return "", chat.E(chat.Unavailable, "", fmt.Errorf("the agent printed nothing: %s", lastLine(p.Stderr())))
	}
	return string(out), nil
}

// launch starts the executable in dir.
func (d *Driver) launch(ctx context.Context, dir string, args []string) (process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	}
	env := proc.BuildEnv(d.cfg.env()...)
	p, err := d.start(ctx, proc.Spec{Path: path, Args: args, Dir: dir, Env: env})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	default:
		return nil, chat.E(chat.Unavailable, "", err)
	}
}
