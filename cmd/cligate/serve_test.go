package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this binary be the program under test.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_OF_CLIGATE") != "" || len(os.Args) > 1 && os.Args[1] == "demo-agent" {
		main()
		return
	}
	os.Exit(m.Run())
}

// daemon is the program, serving.
type daemon struct {
	t   *testing.T
	cmd *exec.Cmd
	out io.ReadCloser // its standard output
	log *bytes.Buffer // its standard error, to be read after its end; nil when out carries both
	dir string
}

func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"TEST_OF_CLIGATE=1", "CLIGATE_WEB_ADDR=off", "CLIGATE_AGENT=demo", "CLIGATE_DATA_DIR=" + dir + "/data",
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
	}
	return cmd
}

// serve starts the daemon and waits until it answers. With shared its log goes
// where its output goes.
func serveIn(t *testing.T, dir string, shared bool) *daemon {
	t.Helper()
	d := &daemon{t: t, cmd: program(t, dir, "serve"), dir: dir}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out, d.cmd.Stdout = r, w
	if d.cmd.Stderr = w; !shared {
		d.log = &bytes.Buffer{}
		d.cmd.Stderr = d.log
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _, _ = d.cmd.Process.Wait(); _ = r.Close() })
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "CliGate ") {
			return d
		}
	}
	t.Fatalf("it did not start: %v", sc.Err())
	return nil
}

// ended reports whether the daemon ended in order: with code 0, and without a
// socket left behind.
func (d *daemon) ended(what string) {
	d.t.Helper()
	done := make(chan error, 1)
	go func() { done <- d.cmd.Wait() }() // ends with the process, which the test kills at last
	select {
	case err := <-done:
		if err != nil {
			d.t.Errorf("%s: %v\n%s", what, err, d.log)
		}
	case <-time.After(20 * time.Second):
		d.t.Fatalf("%s: it goes on", what)
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "data", "cligate.sock")); err == nil {
		d.t.Errorf("%s: the socket is left behind", what)
	}
}

func TestEverySignalThatEndsTheDaemonEndsItInOrder(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // under nohup a daemon is to go on
			continue
		}
		d := serveIn(t, t.TempDir(), false)
		if err := d.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		d.ended(sig.String())
	}
}

// TestAReaderOfTheLogThatGoesAwayEndsNothing: ctrl-c in `make run | tee log`
// ends tee first.
func TestAReaderOfTheLogThatGoesAwayEndsNothing(t *testing.T) {
	t.Parallel()
	d := serveIn(t, t.TempDir(), true)
	_ = d.out.Close()
	if out, err := program(t, d.dir, "status").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil { // it logs that it ends
		t.Fatal(err)
	}
	d.ended("a broken pipe")
}

func TestASecondInterruptDoesNotWait(t *testing.T) {
	t.Parallel()
	d := serveIn(t, t.TempDir(), false)
	chat := program(t, d.dir, "chat")
	in, err := chat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = chat.Process.Kill(); _ = chat.Wait() }()
	if _, err := io.WriteString(in, "slow 60\n"); err != nil {
		t.Fatal(err)
	}
	d.until("1 turns running")
	begun := time.Now()
	for range 2 {
		if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		d.unless(func() bool { _, err := os.Lstat(filepath.Join(d.dir, "data", "cligate.sock")); return err != nil })
	}
	err = d.cmd.Wait()
	if took := time.Since(begun); err == nil || took > 15*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// until waits for words in the daemon's status.
func (d *daemon) until(words string) {
	d.t.Helper()
	d.unless(func() bool {
		out, _ := program(d.t, d.dir, "status").CombinedOutput()
		return bytes.Contains(out, []byte(words))
	})
}

// unless waits for what is to come.
func (d *daemon) unless(ok func() bool) {
	d.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-limit:
			d.t.Fatal("it does not come")
		}
	}
}

func TestNamesOfStrangersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	if got := plain("a\x1b[31m\u009b2J\u202eb\u200b\x7f\n\u2028 漢字"); got != "a[31m2Jb 漢字" {
		t.Errorf("%q", got)
	}
}

func TestANumberIsAWholeNumber(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "0", "-1", "3x", "3 4", "x", "99999999999999999999"} {
		if n, err := number(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
	if n, err := number("12"); n != 12 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
