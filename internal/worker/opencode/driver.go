// Package opencode drives opencode by its server, "opencode serve": HTTP and
// server-sent events on loopback. One server serves all sessions of a
// workspace; the last one that leaves ends it.
//
// Place in the flow: session opens a worker here, turn prompts it. The driver
// turns the server's events into ours, and its requests into questions.
//
// Guarantees:
//   - A server listens on this machine only and refuses whoever lacks its
//     password, which is random, made anew for each and never logged. The
//     agent takes it from its environment only, and its tools inherit that:
//     what they run can read it, as it can read all of the agent.
//   - The agent asks before it changes or runs anything, whatever the files of
//     the user or of a repository say, and none of them is touched. It hears
//     "once" or no, so no leave lasts longer than one request.
//   - A turn ends when the server says that the session rests and shows the
//     finished answer; a late word about an earlier turn ends nothing.
//   - Words that are steered in are the turn's, or go back and are taken out of
//     the session again: they are never said twice, and never start a turn
//     that nobody has asked for.
//   - When the event stream breaks it is opened again, and what was missed is
//     asked for: text, questions and the end of the turn.
//   - Stopping a turn, closing a session or losing one costs the others
//     nothing. The death of a server fails the turns that it carried.
//   - Only the server's own "not found" for the session is a lost session.
package opencode

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var _ worker.Driver = (*Driver)(nil)

// Driver starts servers and opens sessions on them.
type Driver struct {
	cfg   Config
	start func(ctx context.Context, s proc.Spec) (process, error)
	wire  func() http.RoundTripper // the way to a server
	log   *slog.Logger
	pool  pool
}

// New returns a driver that starts its servers with starter.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) *Driver {
	start := func(ctx context.Context, s proc.Spec) (process, error) {
		p, err := starter.Start(ctx, s)
		if err != nil {
			return nil, err // a nil *Process must not become a process
		}
		return p, nil
	}
	return &Driver{cfg: cfg.withDefaults(), log: log, start: start, wire: loopback, pool: pool{tenants: map[string]*lease{}}}
}

// probeTimeout bounds the question for the version.
const probeTimeout = 15 * time.Second

// Abilities are what the agent can do through this driver.
func Abilities() worker.Abilities {
	return worker.Abilities{
		worker.Resume, worker.Shared, worker.Interrupt, worker.Steer, worker.Approvals, worker.Questions, worker.Models, worker.Modes,
		worker.Efforts, worker.Images, worker.Documents, worker.Thoughts, worker.Tokens, worker.Cost, worker.Window,
		worker.Compact, worker.Failures, worker.Catalogue, worker.TakesOver, worker.KeepsStopped,
	}
}

// Probe implements worker.Driver. Whether a provider is set up is not looked
// at: the agent brings models that need no login.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{
		Agent: "opencode", LoggedIn: true, Can: Abilities(),
		Env: proc.EnvNames(append(append([]string(nil), allowed...), d.cfg.Env...)...),
	}
	out, err := d.output(ctx, "--version")
	if err != nil {
		t.Hint = i18n.T(i18n.Default, "opencode.install")
		return t, err
	}
	fields := strings.Fields(out)
	if len(fields) > 0 {
		t.Version = fields[len(fields)-1]
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
	p, err := d.launch(ctx, dir, append(append([]string(nil), allowed...), d.cfg.Env...), args...)
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
