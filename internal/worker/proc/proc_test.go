package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cligate/internal/worker/proc/runner"
)

// playing is a Spec for a part of play.
func playing(part string, args ...string) Spec {
	exe, _ := os.Executable()
	return Spec{Path: exe, Args: append([]string{"play", part}, args...), Dir: "/", Env: []string{"PATH=/usr/bin:/bin", quickExit}}
}

func newToken() string { return fmt.Sprintf("test-%d-%x", os.Getpid(), rand.Uint64()) }

// starter returns a Starter whose token no process carries at the test's end.
func starter(t *testing.T) (*Starter, string) {
	t.Helper()
	token := newToken()
	s, err := New(Config{Token: token, Grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := carriers(token); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return s, token
}

// carriers returns the processes that carry the token.
func carriers(token string) []string {
	var out []string
	for pid, e := range runner.Processes() {
		if !e.Zombie && pid != os.Getpid() && marked(pid, token) {
			cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			out = append(out, fmt.Sprintf("%d %q", pid, cmd))
		}
	}
	return out
}

func start(t *testing.T, s *Starter, spec Spec) *Process {
	t.Helper()
	p, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// ready waits for the first line and returns what lives below the process's
// runner, by pid and start time.
func ready(t *testing.T, p *Process) []runner.Entry {
	t.Helper()
	if _, err := NewLineReader(p, 0).Next(); err != nil {
		t.Fatalf("no first line: %v; stderr: %s", err, p.Stderr())
	}
	return runner.Descendants(p.control.pid)
}

// survivors returns those of the list that still live.
func survivors(list []runner.Entry) []int {
	var out []int
	for _, e := range list {
		if now, ok := runner.Inspect(e.PID); ok && now.Start == e.Start && !now.Zombie {
			out = append(out, e.PID)
		}
	}
	return out
}

// eventually waits up to limit for ok.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func TestBytesGoThroughBothWays(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("cat"))
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() { // ends when everything is written or the process is closed
		_, _ = p.Write(want)
		_ = p.CloseWrite()
	}()
	got, err := io.ReadAll(p)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(want))
	}
	<-p.Done()
	if code, sig := p.Exit(); code != 0 || sig != 0 {
		t.Errorf("exit = %d, %v", code, sig)
	}
}

func TestExitIsReported(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("exit", "7"))
	<-p.Done()
	if code, sig := p.Exit(); code != 7 || sig != 0 {
		t.Errorf("exit = %d, %v; want 7", code, sig)
	}
	p = start(t, s, playing("tree"))
	tree := ready(t, p)
	for _, e := range tree {
		if e.Parent == p.control.pid && e.Session == e.PID && len(tree) > 3 {
			cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID))
			if strings.Contains(string(cmd), "tree") {
				e.Signal(syscall.SIGKILL)
			}
		}
	}
	<-p.Done()
	if code, sig := p.Exit(); code != -1 || sig != syscall.SIGKILL {
		t.Errorf("exit = %d, %v; want killed", code, sig)
	}
	if left := survivors(tree); len(left) > 0 {
		t.Errorf("the agent's children outlived it: %v", left)
	}
}

func TestStartErrorsAreTheSystems(t *testing.T) {
	s, _ := starter(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := playing("cat")
	for name, c := range map[string]struct {
		spec Spec
		want error
	}{
		"no such program":    {Spec{Path: filepath.Join(dir, "none"), Dir: "/"}, fs.ErrNotExist},
		"not executable":     {Spec{Path: plain, Dir: "/"}, fs.ErrPermission},
		"no such directory":  {Spec{Path: good.Path, Dir: filepath.Join(dir, "none")}, fs.ErrNotExist},
		"relative path":      {Spec{Path: "cat", Dir: "/"}, nil},
		"relative directory": {Spec{Path: good.Path, Dir: "x"}, nil},
		"zero byte":          {Spec{Path: good.Path, Dir: "/", Args: []string{"a\x00b"}}, nil},
	} {
		p, err := s.Start(t.Context(), c.spec)
		if err == nil {
			_ = p.Close()
			t.Errorf("%s: no error", name)
		} else if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	start(t, s, good)
}

func TestStopLeavesNoDescendant(t *testing.T) {
	s, _ := starter(t)
	for name, end := range map[string]func(*Process) error{
		"close":             (*Process).Close,
		"terminate":         func(p *Process) error { return p.Terminate(t.Context()) },
		"terminate at once": func(p *Process) error { c, f := context.WithCancel(t.Context()); f(); return p.Terminate(c) },
		"stopped runner":    func(p *Process) error { _ = unix.Kill(p.control.pid, unix.SIGSTOP); return p.Close() },
		"killed runner": func(p *Process) error {
			_ = unix.Kill(p.control.pid, unix.SIGKILL)
			<-p.Done()
			return p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, s, playing("tree", "deaf"))
			tree := ready(t, p)
			if len(tree) != 4 {
				t.Fatalf("the agent's tree has %d processes, want 4: %v", len(tree), tree)
			}
			began := time.Now()
			if err := end(p); err != nil {
				t.Error(err)
			}
			if left := survivors(tree); len(left) > 0 {
				t.Errorf("survivors: %v", left)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestDefaultStopTakesAtMostTwoSeconds(t *testing.T) {
	s, err := New(Config{Token: newToken()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := start(t, s, playing("tree", "deaf"))
	tree := ready(t, p)
	began := time.Now()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	limit := 2 * time.Second
	if raceEnabled {
		limit *= 2 // everything is slow, the runner too
	}
	if took := time.Since(began); took > limit || len(survivors(tree)) > 0 {
		t.Errorf("took %v, survivors %v", took, survivors(tree))
	}
}

func TestForkBombIsStopped(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("bomb"))
	var tree []runner.Entry
	eventually(t, 20*time.Second, "a hundred processes", func() bool {
		tree = runner.Descendants(p.control.pid)
		return len(tree) > 100
	})
	runnerPID := p.control.pid
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left := survivors(tree); len(left) > 0 {
		t.Errorf("survivors: %d of %d", len(left), len(tree))
	}
	if more := runner.Descendants(runnerPID); len(more) > 0 {
		t.Errorf("below the runner: %v", more)
	}
	if found := s.brood.orphans(); len(found) > 0 {
		t.Errorf("adopted: %v", found)
	}
}

// daemon starts a daemon of its own that runs a part, and returns its process
// and the tree below it, itself included.
func daemon(t *testing.T, token string, args ...string) (*exec.Cmd, []runner.Entry, string) {
	t.Helper()
	exe, _ := os.Executable()
	c := exec.Command(exe, append([]string{"play", "daemon", token}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	l, err := NewLineReader(out, 0).Next()
	id, ok := strings.CutPrefix(string(l.Data), "up ")
	if err != nil || !ok {
		t.Fatalf("daemon said %q, %v", l.Data, err)
	}
	return c, runner.Descendants(c.Process.Pid), id
}

func TestKilledDaemonLeavesNothing(t *testing.T) {
	for range 5 {
		c, tree, _ := daemon(t, newToken(), "tree", "deaf")
		if len(tree) < 5 {
			t.Fatalf("tree of %d", len(tree))
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		eventually(t, 2*time.Second, "everything gone", func() bool { return len(survivors(tree)) == 0 })
	}
}

func TestReapFindsWhatDaemonAndRunnerLeft(t *testing.T) {
	for _, how := range []string{"by identity", "by token"} {
		t.Run(how, func(t *testing.T) {
			token := newToken()
			c, tree, id := daemon(t, token, "tree", "deaf")
			// The runners first, stopped, so that none can do its work; then all at once.
			var runners []runner.Entry
			for _, e := range tree {
				if cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID)); strings.HasPrefix(string(cmd), runner.Name) {
					runners = append(runners, e)
				}
			}
			runner.SignalAll(runners, syscall.SIGSTOP)
			_ = c.Process.Kill()
			_ = c.Wait()
			ids := []string{"1.1.x", "", "nonsense", id}
			if how == "by token" {
				ids = nil
			}
			if len(survivors(tree)) < 5 {
				t.Fatalf("only %d survived, the test proves nothing", len(survivors(tree)))
			}
			mark := token
			if how == "by identity" {
				mark = newToken()
			}
			killed, err := Reap(t.Context(), mark, ids...)
			if err != nil || killed < 4 {
				t.Errorf("reaped %d, %v", killed, err)
			}
			if how == "by identity" {
				_, _ = Reap(t.Context(), token) // the spare runner has no record
			}
			if left := survivors(tree); len(left) > 0 {
				t.Errorf("survivors: %v", left)
			}
			if again, err := Reap(t.Context(), token, ids...); again != 0 || err != nil {
				t.Errorf("second reap: %d, %v", again, err)
			}
		})
	}
}

func TestReapSparesOthers(t *testing.T) {
	other := exec.Command("/bin/sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	e, _ := runner.Inspect(other.Process.Pid)
	wrong := fmt.Sprintf("%d.%d.%s", e.PID, e.Start+1, bootID())
	if n, err := Reap(t.Context(), newToken(), wrong, "1.0."+bootID()); n != 0 || err != nil {
		t.Errorf("reaped %d, %v", n, err)
	}
	if len(survivors([]runner.Entry{e})) == 0 {
		t.Error("a process with another start time was killed")
	}
}

func TestSpareThatDiedIsReplaced(t *testing.T) {
	s, _ := starter(t)
	for range 5 {
		eventually(t, 5*time.Second, "a spare", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.spare != nil
		})
		s.mu.Lock()
		_ = unix.Kill(s.spare.pid, unix.SIGKILL)
		s.mu.Unlock()
		p := start(t, s, playing("exit", "0"))
		<-p.Done()
	}
}

func TestAgentSeesNothingOfTheDaemon(t *testing.T) {
	t.Setenv("CLIGATE_TELEGRAM_TOKEN", "canary-token")
	t.Setenv("CANARY", "canary-env")
	t.Setenv("CLAUDECODE", "canary-nested")
	// A descriptor that the daemon got from its own parent, open for children.
	leak, err := os.Open("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	fd, err := unix.Dup(int(leak.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s, _ := starter(t)
	spec := playing("look")
	spec.Env = BuildEnv("CLAUDE*", "SET=yes")
	p := start(t, s, spec)
	b, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	out := string(b)
	if strings.Contains(out, "canary") {
		t.Errorf("a canary got out:\n%s", out)
	}
	for _, want := range []string{"SET=yes", "umask 77", "own true true", "fd 0 pipe", "fd 1 pipe", "fd 2 pipe"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "\nfd "); n != 3 {
		t.Errorf("%d descriptors, want 3:\n%s", n, out)
	}
}

func TestStderrIsBoundedAndDoesNotBlock(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("flood", "stderr", "100000")) // 100 MB
	if _, err := io.ReadAll(p); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	got := p.Stderr()
	if len(got) > tailSize || !strings.HasSuffix(got, "the last line\n") {
		t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-40):])
	}
}

func TestOutputBeforeTheEndIsNeverLost(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("flood", "stdout", "50"))
	<-p.Done() // 50 KiB fit the pipe; the agent is long gone when we read
	b, err := io.ReadAll(p)
	if err != nil || !strings.HasSuffix(string(b), "the last line\ndone\n") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestCloseDuringEverything(t *testing.T) {
	s, _ := starter(t)
	for i := range 40 {
		p := start(t, s, playing([]string{"cat", "exit", "tree", "flood"}[i%4], []string{"", "0", "", "stdout"}[i%4], "1000"))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, p) })
		wg.Go(func() { _, _ = p.Write(make([]byte, 1<<20)) })
		for range 2 {
			wg.Go(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				p.Exit()
				_ = p.Stderr()
			})
		}
		wg.Wait()
		select {
		case <-p.Done():
		default:
			t.Fatal("closed but not done")
		}
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	s, token := starter(t)
	for i := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		p, err := s.Start(ctx, playing("sleep"))
		cancel()
		if err == nil {
			_ = p.Close()
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	for _, c := range carriers(token) {
		if !strings.Contains(c, runner.Name) {
			t.Errorf("left: %s", c)
		}
	}
}

func TestWhatOnlyLooksLikeARunnerIsAnOrphan(t *testing.T) {
	s, token := starter(t)
	for name, c := range map[string]struct {
		token  string
		killed bool
	}{
		"forked by a dying runner": {token, true},
		"of another starter":       {newToken(), false},
	} {
		fake := exec.Command("/usr/bin/yes") // any program that takes one argument and does not end
		fake.Args = []string{runner.Name, c.token}
		fake.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := fake.Start(); err != nil {
			t.Fatal(err)
		}
		e, _ := runner.Inspect(fake.Process.Pid)
		s.sweep()
		if killed := len(survivors([]runner.Entry{e})) == 0; killed != c.killed {
			t.Errorf("%s: killed %v", name, killed)
		}
		_ = fake.Process.Kill()
		_ = fake.Wait()
	}
	p := start(t, s, playing("cat"))
	s.sweep()
	select {
	case <-p.Done():
		t.Error("a process of our own was taken for an orphan")
	default:
	}
}

func TestStartAfterCloseIsRefused(t *testing.T) {
	s, err := New(Config{Token: newToken()})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, s, playing("cat"))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	<-p.Done()
	if _, err := s.Start(t.Context(), playing("cat")); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestADeadOrphanIsCollected(t *testing.T) {
	s, _ := starter(t)
	for range 40 { // it may die between two looks
		p := start(t, s, playing("cat"))
		pid, _, _ := ParseIdentity(p.Identity())
		before := runner.Below(runner.Processes(), pid)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		for _, e := range before {
			if now, ok := runner.Inspect(e.PID); ok && now.Start == e.Start {
				t.Fatalf("left: %+v", now)
			}
		}
	}
}
