package rig

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"cligate/internal/web/client"
)

// Daemon is the daemon's process, from life to life.
type Daemon struct {
	bin string
	dir string
	env []string
	tb  testing.TB

	mu   sync.Mutex
	cmd  *exec.Cmd // of the last life
	gone chan struct{}
	died []time.Time
}

// Launch starts the daemon and does not wait until it is ready. env is put over
// its environment for this life.
func (d *Daemon) Launch(env ...string) {
	d.tb.Helper()
	d.launch(d.bin, []string{"serve"}, env)
}

func (d *Daemon) launch(bin string, args, env []string) {
	d.tb.Helper()
	if d.Alive() {
		d.tb.Fatal("the daemon runs already")
	}
	log, err := os.OpenFile(d.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.tb.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Env, cmd.Dir = append(append([]string(nil), d.env...), env...), d.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = start(cmd)
	_ = log.Close() // the child has its own
	if err != nil {
		d.tb.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait()
		d.mu.Lock()
		d.died = append(d.died, time.Now())
		d.mu.Unlock()
		close(gone)
	}()
	d.mu.Lock()
	d.cmd, d.gone = cmd, gone
	d.mu.Unlock()
}

// starts runs on a thread that lives as long as the process: a child asks to
// die with the thread that made it.
var starts = sync.OnceValue(func() chan<- func() {
	ch := make(chan func())
	go func() { // ends with the test binary
		runtime.LockOSThread()
		for f := range ch {
			f()
		}
	}()
	return ch
})

func start(cmd *exec.Cmd) error {
	done := make(chan error)
	starts() <- func() { done <- cmd.Start() }
	return <-done
}

// Start starts the daemon and waits until it serves.
func (d *Daemon) Start(env ...string) {
	d.tb.Helper()
	d.Launch(env...)
	if !d.Ready() {
		d.tb.Fatalf("the daemon did not get ready\n%s", d.Tail())
	}
}

// Ready waits until the daemon serves, or is gone, and reports which.
func (d *Daemon) Ready() bool {
	c := client.New(d.Socket(), "en")
	defer c.Close()
	ctx, cancel := context.WithTimeout(d.tb.Context(), Limit)
	defer cancel()
	r := Rig{tb: d.tb}
	return r.Within(Limit, func() bool { return !d.Alive() || c.Healthy(ctx) == nil }) && d.Alive()
}

// Kill ends the daemon as kill -9 does and waits until it is gone.
func (d *Daemon) Kill() {
	d.tb.Helper()
	d.Signal(syscall.SIGKILL)
	<-d.Died()
}

// Stop asks the daemon to end, as a service manager does, and waits until it
// has; it must end by itself and say that all was well.
func (d *Daemon) Stop() {
	d.tb.Helper()
	d.Signal(syscall.SIGTERM)
	r := Rig{tb: d.tb}
	if !r.Within(Limit, func() bool { return !d.Alive() }) {
		d.tb.Fatalf("the daemon does not end\n%s", d.Tail())
	}
	if code := d.ExitCode(); code != 0 {
		d.tb.Errorf("the daemon ended with code %d\n%s", code, d.Tail())
	}
}

// Signal sends a signal to a living daemon.
func (d *Daemon) Signal(s syscall.Signal) {
	d.tb.Helper()
	d.mu.Lock()
	cmd := d.cmd
	d.mu.Unlock()
	if cmd == nil {
		d.tb.Fatal("the daemon was never started")
	}
	if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.tb.Fatal(err)
	}
}

// Died is closed when the present life is over. It is nil before the first.
func (d *Daemon) Died() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// Deaths are the ends of all lives so far.
func (d *Daemon) Deaths() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.died)
}

// Alive reports whether the daemon runs.
func (d *Daemon) Alive() bool {
	gone := d.Died()
	if gone == nil {
		return false
	}
	select {
	case <-gone:
		return false
	default:
		return true
	}
}

// Pid is the process id of the present or last life.
func (d *Daemon) Pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// ExitCode is how the last life ended: -1 by a signal.
func (d *Daemon) ExitCode() int {
	<-d.Died()
	return d.cmd.ProcessState.ExitCode()
}

// Killed reports whether SIGKILL ended the last life.
func (d *Daemon) Killed() bool {
	<-d.Died()
	ws, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// Socket is where the daemon listens for its operator.
func (d *Daemon) Socket() string { return filepath.Join(d.dir, "data", "cligate.sock") }

// LogFile is what the daemon printed in all its lives.
func (d *Daemon) LogFile() string { return filepath.Join(d.dir, "daemon.log") }

// Tail is the end of the log, for the message of a failed test.
func (d *Daemon) Tail() string {
	const most = 6000
	b, err := os.ReadFile(d.LogFile())
	if err != nil {
		return err.Error()
	}
	if len(b) > most {
		b = b[len(b)-most:]
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return "--- the end of the daemon's log:\n" + string(b)
}

// end kills whatever still runs.
func (d *Daemon) end() {
	if d.Alive() {
		_ = d.cmd.Process.Kill()
		<-d.Died()
	}
}

// Environ is the daemon's environment, for a second one.
func (d *Daemon) Environ() []string { return slices.Clone(d.env) }
