package cleanup

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/opencode"
	"cligate/internal/worker/pi"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/proc/runner"
	"cligate/internal/worker/workertest"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asShim) != "":
		playShim()
	case os.Getenv(asRogue) != "":
		playRogue(os.Getenv(asRogue))
	case os.Getenv(asDaemon) != "":
		playDaemon(os.Getenv(asDaemon))
	default:
		goleak.VerifyTestMain(m)
	}
}

// within is how soon everything must be gone.
const within = 2 * time.Second

// subject is an agent in whatever way it is driven.
type subject struct {
	kind string // of the driver, see drivers
	// config is what the driver is made with: program, arguments, environment.
	config config
	work   string // a folder to work in
	tool   string // the prompt that makes it use a tool for a minute
	shows  string // what the tool's command line has in it
	alive  string // a prompt that it answers at once
	mark   string // NAME=value in the environment of all its processes
	stays  bool   // it does not end when its input does
}

// config is a driver's configuration, such that it can be handed to a daemon.
type config struct {
	Name    string // the ACP agent's
	Command string
	Env     []string
}

// drivers make the driver of a kind.
var drivers = map[string]func(c config, s *proc.Starter) (worker.Driver, error){
	"acp": func(c config, s *proc.Starter) (worker.Driver, error) {
		cfg, _ := acp.Preset(c.Name)
		cfg.Command, cfg.Env = c.Command, append(cfg.Env, c.Env...)
		return acp.New(cfg, s, nil)
	},
	"claude": func(c config, s *proc.Starter) (worker.Driver, error) {
		return claude.New(claude.Config{Command: c.Command, Env: c.Env}, s, slog.New(slog.DiscardHandler)), nil
	},
	"codex": func(c config, s *proc.Starter) (worker.Driver, error) {
		return codex.New(codex.Config{Command: c.Command, Env: c.Env}, s, slog.New(slog.DiscardHandler)), nil
	},
	"opencode": func(c config, s *proc.Starter) (worker.Driver, error) {
		return opencode.New(opencode.Config{Command: c.Command, Env: c.Env}, s, slog.New(slog.DiscardHandler)), nil
	},
	"pi": func(c config, s *proc.Starter) (worker.Driver, error) {
		return pi.New(pi.Config{Command: c.Command, Env: c.Env}, s, slog.New(slog.DiscardHandler)), nil
	},
}

// left returns the processes that carry the subject's mark, without the
// starter's own.
func (s subject) left() (left []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range found {
		env, err := os.ReadFile(f)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), s.mark) {
			continue
		}
		args, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err == nil && len(args) > 0 && !strings.HasPrefix(string(args), runner.Name+"\x00") {
			left = append(left, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return left
}

// wantGone waits until nothing is left but what was there before.
func (s subject) wantGone(t *testing.T, since time.Time, before ...string) {
	t.Helper()
	var left []string
	for {
		left = slices.DeleteFunc(s.left(), func(p string) bool { return slices.Contains(before, p) })
		if len(left) == 0 || time.Since(since) > within {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("after %v there is %q", time.Since(since), left)
	}
}

// busy is a subject in the middle of a tool.
type busy struct {
	subject
	starter *proc.Starter
	worker  worker.Worker
	before  []string // its processes before the turn
	stop    context.CancelCauseFunc
	result  <-chan error
}

// begin starts the agent and makes it use a tool.
func (s subject) begin(t *testing.T) busy {
	t.Helper()
	starter, err := proc.New(proc.Config{Token: "cleanup-" + uuid.NewString(), Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := starter.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := drivers[s.kind](s.config, starter)
	if err != nil {
		t.Fatal(err)
	}
	b := busy{subject: s, starter: starter}
	b.worker, err = d.Open(t.Context(), worker.Spec{Session: 1, Workspace: s.work, Seed: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.worker.Close() }) // after a shutdown there is nothing to close
	b.before = b.settled()
	h := workertest.NewHost(workertest.Allow)
	b.stop, b.result = workertest.Begin(t, b.worker, s.tool, h)
	s.awaitTool(t, h)
	return b
}

// awaitTool waits until the tool has a process.
func (s subject) awaitTool(t *testing.T, h *workertest.Host) {
	t.Helper()
	for range 1000 {
		if slices.ContainsFunc(s.left(), func(p string) bool { return strings.Contains(p, s.shows) }) {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	if h != nil {
		t.Logf("asked %+v, heard %+v", h.Asked(), h.Events())
	}
	t.Fatalf("the tool has no process, so the test proves nothing: %q", s.left())
}

// settled says something to the agent, so that all is started that serves the
// session, and returns its processes.
func (b busy) settled() []string {
	h := workertest.NewHost(workertest.Allow)
	_ = b.worker.Prompt(context.Background(), workertest.Input(b.alive), h)
	return b.left()
}

// endTurn stops the turn. The agent may live on; its tool may not.
func endTurn(t *testing.T, s subject, why error) {
	t.Helper()
	b := s.begin(t)
	began := time.Now()
	b.stop(why)
	if err := <-b.result; chat.CodeOf(err) != chat.CodeOf(why) {
		t.Errorf("the turn ended with %v", err)
	}
	b.wantGone(t, began, b.before...)
	select {
	case <-b.worker.Done(): // it did not obey
		b.wantGone(t, began)
	default:
		// What an agent makes of the cut call is tested elsewhere.
		if err := b.worker.Prompt(t.Context(), workertest.Input(s.alive), workertest.NewHost(nil)); chat.CodeOf(err) == chat.Crashed {
			t.Errorf("the agent does not go on: %v", err)
		}
	}
}

// ends are the ways in which a turn, a worker or the daemon ends.
var ends = map[string]func(t *testing.T, s subject){
	"stop":    func(t *testing.T, s subject) { endTurn(t, s, chat.E(chat.Stopped, "", nil)) },
	"timeout": func(t *testing.T, s subject) { endTurn(t, s, chat.E(chat.TimedOut, "", nil)) },
	"close": func(t *testing.T, s subject) {
		b := s.begin(t)
		began := time.Now()
		if err := b.worker.Close(); err != nil {
			t.Error(err)
		}
		b.wantGone(t, began)
		<-b.result
	},
	"shutdown": func(t *testing.T, s subject) {
		b := s.begin(t)
		began := time.Now()
		if err := b.starter.Close(); err != nil {
			t.Error(err)
		}
		b.wantGone(t, began)
		<-b.result
	},
	"kill -9 of the daemon": func(t *testing.T, s subject) {
		d := startDaemon(t, s)
		d.kill(t)
		s.wantGone(t, time.Now())
	},
	"kill -9 of everything that watches, then a restart": func(t *testing.T, s subject) {
		d := startDaemon(t, s)
		// The runners first, then the daemon in the same moment: nobody is left
		// who would clean up.
		for _, e := range runner.Descendants(d.cmd.Process.Pid) {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID)); err == nil && strings.HasPrefix(string(b), runner.Name+"\x00") {
				defer e.Signal(9)
				e.Signal(19)
			}
		}
		d.kill(t)
		if s.stays && len(s.left()) == 0 {
			t.Fatal("nothing is left: the test proves nothing")
		}
		began := time.Now()
		if _, err := proc.Reap(t.Context(), d.token, d.identity); err != nil {
			t.Error(err)
		}
		s.wantGone(t, began)
	},
}

func TestNothingOutlivesWhatItWasStartedFor(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for row, m := range rows {
		for how, end := range ends {
			t.Run(row+"/"+how, func(t *testing.T) {
				t.Parallel()
				play, _ := json.Marshal(m)
				s := subject{
					kind: "acp", work: t.TempDir(), tool: "tool", shows: "sleep 60", alive: "hello", mark: "CLEANUP_MARK=" + uuid.NewString(),
					stays: m.EOF != clean,
				}
				s.config = config{Name: "rogue", Command: exe, Env: []string{asRogue + "=" + string(play), s.mark, "GORACE=atexit_sleep_ms=0"}}
				if m.Shim {
					s.config.Env = append(s.config.Env, asShim+"=1")
				}
				end(t, s)
			})
		}
	}
}

// asDaemon makes the test binary play a daemon that is in the middle of a
// subject's tool; the value is what it needs to know.
const asDaemon = "PLAY_DAEMON"

// order is what the daemon is told.
type order struct {
	Token  string
	Kind   string
	Config config
	Work   string
	Tool   string
}

// daemon is a daemon in a process of its own.
type daemon struct {
	cmd      *exec.Cmd
	token    string
	identity string
}

// startDaemon returns once the daemon's agent uses its tool.
func startDaemon(t *testing.T, s subject) daemon {
	t.Helper()
	d := daemon{token: "cleanup-" + uuid.NewString()}
	what, err := json.Marshal(order{Token: d.token, Kind: s.kind, Config: s.config, Work: s.work, Tool: s.tool})
	if err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command("/proc/self/exe")
	d.cmd.Env = append(os.Environ(), asDaemon+"="+string(what))
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "busy ")
	if err != nil || !ok {
		t.Fatalf("the daemon said %q, %v", line, err)
	}
	d.identity = id
	s.awaitTool(t, nil)
	return d
}

func (d daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = d.cmd.Wait()
}

// tells prints when a tool is used, or asked for.
type tells struct {
	*workertest.Host
	out  io.Writer
	id   func() string
	once *sync.Once
}

func (h tells) busy() { h.once.Do(func() { fmt.Fprintln(h.out, "busy", h.id()) }) }

func (h tells) Emit(ctx context.Context, e chat.Event) error {
	if e.Kind == chat.EventTool {
		h.busy()
	}
	return h.Host.Emit(ctx, e)
}

func (h tells) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	h.busy()
	return h.Host.Ask(ctx, q)
}

func playDaemon(what string) {
	var o order
	err := json.Unmarshal([]byte(what), &o)
	if err == nil {
		err = o.run()
	}
	fmt.Println("error", err)
	os.Exit(1)
}

func (o order) run() error {
	starter, err := proc.New(proc.Config{Token: o.Token})
	if err != nil {
		return err
	}
	d, err := drivers[o.Kind](o.Config, starter)
	if err != nil {
		return err
	}
	ctx := context.Background()
	w, err := d.Open(ctx, worker.Spec{Session: 1, Workspace: o.Work, Seed: uuid.NewString()})
	if err != nil {
		return err
	}
	return w.Prompt(ctx, workertest.Input(o.Tool), tells{workertest.NewHost(workertest.Allow), os.Stdout, w.Process, &sync.Once{}})
}
