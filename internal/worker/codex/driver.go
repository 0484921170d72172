// Package codex drives OpenAI Codex through its app-server: one process for
// all sessions of a workspace, JSON-RPC in lines on stdin and stdout.
//
// Place in the flow: session opens a worker here, turn prompts it. The driver
// turns what the server tells into events and questions, and knows no chat
// service.
//
// Guarantees:
//   - Sessions of one workspace share a process; it starts with the first
//     worker and ends with the last. Its death fails exactly the turns that it
//     carried, and closes every worker on it.
//   - Whatever the server tells is bound by the ids of thread and turn: another
//     session's, a sub-agent's or an earlier turn's words never end or colour
//     this one.
//   - A cancelled turn is ended natively, with the commands that it started and
//     that the server would leave running; nobody else's are touched.
//   - The permission mode is stated at every start and resume. A yes is a yes to
//     one request: what lasts are the gateway's own rules.
//   - Every question of the server is answered: by a person, or with no.
//   - No line is too long or too strange: it is skipped, and the turn ends all
//     the same.
package codex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var (
	_ worker.Driver     = (*Driver)(nil)
	_ worker.Cataloguer = (*Driver)(nil)
	_ worker.Terminal   = (*Driver)(nil)
)

// process is what the driver needs of a running agent; *proc.Process is one.
type process interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
	CloseWrite() error
	Stderr() string
	Exit() (code int, signal syscall.Signal)
	Identity() string
	Terminate(ctx context.Context) error
	EndMarked(entries ...string) int
}

// Driver starts Codex.
type Driver struct {
	cfg   Config
	start func(ctx context.Context, s proc.Spec) (process, error)
	log   *slog.Logger
	pool  pool
}

// New returns a driver that starts its agents with starter.
func New(cfg Config, starter *proc.Starter, log *slog.Logger) *Driver {
	d := &Driver{cfg: cfg.withDefaults(), log: log, start: func(ctx context.Context, s proc.Spec) (process, error) {
		p, err := starter.Start(ctx, s)
		if err != nil {
			return nil, err // a nil *Process must not become a process
		}
		return p, nil
	}}
	d.pool = pool{slots: map[string]*slot{}, start: d.serve}
	return d
}

// probeTimeout bounds each question that Probe asks.
const probeTimeout = 10 * time.Second

// Abilities are what the agent can do through this driver.
func Abilities() worker.Abilities {
	return worker.Abilities{
		worker.Resume, worker.Shared, worker.Interrupt, worker.Steer, worker.Replace, worker.Approvals,
		worker.Questions, worker.Plans, worker.Models, worker.Modes, worker.Efforts, worker.Images, worker.Thoughts,
		worker.Tokens, worker.Window, worker.Compact, worker.Failures, worker.Catalogue, worker.Fork, worker.TakesOver,
		worker.KeepsStopped,
	}
}

// Probe implements worker.Driver.
func (d *Driver) Probe(ctx context.Context) (worker.Traits, error) {
	t := worker.Traits{
		Agent: "codex", LoggedIn: true, Can: Abilities(),
		Env: proc.EnvNames(d.cfg.env()...),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, chat.E(chat.StartTimeout, "", nil))
	defer cancel()
	out, err := d.output(ctx, "--version")
	if err != nil {
		t.Hint = i18n.T(i18n.Default, "codex.install")
		return t, err
	}
	_, version, _ := strings.Cut(strings.TrimSpace(out), " ")
	t.Version = version
	in, err := d.account(ctx)
	switch {
	case err != nil && chat.CodeOf(err) != chat.TooOld:
		d.log.InfoContext(ctx, "agent does not tell whether it is logged in", "err", err)
	case err != nil:
		return t, err
	case !in:
		t.LoggedIn = false
		t.Hint = i18n.T(i18n.Default, "codex.login")
	}
	return t, nil
}

// account asks the agent whether it can call its model: it is logged in, or
// its provider needs no login.
func (d *Driver) account(ctx context.Context) (in bool, err error) {
	s, release, err := d.pool.take(ctx, neutral())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	var a struct {
		Account  *struct{} `json:"account"`
		Required bool      `json:"requiresOpenaiAuth"`
	}
	if err := s.call(ctx, doAccount, object{}, &a); err != nil {
		return false, err
	}
	return a.Account != nil || !a.Required, nil
}

// neutral is a folder for processes that belong to no workspace.
func neutral() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return os.TempDir()
	}
	return dir
}

// output runs the agent with args and returns what it printed.
func (d *Driver) output(ctx context.Context, args ...string) (string, error) {
	p, err := d.launch(ctx, neutral(), args)
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
	p, err := d.start(ctx, proc.Spec{Path: path, Args: args, Dir: dir, Env: proc.BuildEnv(d.cfg.env()...)})
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

// Terminal implements worker.Terminal.
func (d *Driver) Terminal(nativeID string) []string {
	return []string{d.cfg.Command, "resume", nativeID}
}

const (
	maxListed = 50 // sessions in a list
	maxWords  = 80 // characters of a title
)

// Sessions implements worker.Cataloguer. Sub-agents' threads are none.
func (d *Driver) Sessions(ctx context.Context, workspace string) (list []worker.Native, err error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.StartTimeout, chat.E(chat.StartTimeout, "", nil))
	defer cancel()
	s, release, err := d.pool.take(ctx, workspace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	var page struct {
		Data []thread `json:"data"`
	}
	err = s.call(ctx, doList, object{"cwd": workspace, "limit": maxListed, "sortKey": "updated_at"}, &page)
	if err != nil {
		return nil, err
	}
	for _, t := range page.Data {
		if t.ID == "" || t.Parent != "" {
			continue
		}
		title := t.Name
		if title == "" {
			title = chat.Clip(strings.Join(strings.Fields(t.Preview), " "), maxWords)
		}
		list = append(list, worker.Native{ID: t.ID, Title: title, Used: time.Unix(t.UpdatedAt, 0)})
	}
	return list, nil
}
