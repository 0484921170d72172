package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"cligate/internal/worker/proc/runner"
)

// Process is a running agent: reading reads its stdout, writing writes its
// stdin. Read returns io.EOF when the agent and everything that shares its
// stdout is gone; what was printed before the end is never lost.
type Process struct {
	control *control
	grace   time.Duration
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tail    *tail

	done chan struct{}
	exit exitStatus // written before done is closed

	closing sync.Once
}

var _ io.ReadWriteCloser = (*Process)(nil)

// killTime is how long killing a tree may take before the next step is tried.
const killTime = 400 * time.Millisecond

// exitStatus is how the agent ended.
type exitStatus struct {
	known  bool
	status syscall.WaitStatus
}

// Read reads the agent's stdout.
func (p *Process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the agent's stdin. It waits while the agent does not read;
// SetWriteDeadline bounds that, and ending the process ends it.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// SetWriteDeadline bounds writes, as in net.Conn.
func (p *Process) SetWriteDeadline(t time.Time) error { return p.stdin.SetWriteDeadline(t) }

// CloseWrite closes the agent's stdin. It may be called twice.
func (p *Process) CloseWrite() error {
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Stderr returns the last 64 KiB that the agent wrote to stderr, with secrets
// masked. It is meant for the log, never for a chat.
func (p *Process) Stderr() string { return p.tail.String() }

// Done is closed when the agent and all its descendants are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the agent ended: its exit code, or -1 and the signal that
// ended it. Before Done, and when the runner was killed so that nobody knows,
// it returns -1 and 0.
func (p *Process) Exit() (code int, signal syscall.Signal) {
	select {
	case <-p.done:
	default:
		return -1, 0
	}
	switch {
	case !p.exit.known:
		return -1, 0
	case p.exit.status.Signaled():
		return -1, p.exit.status.Signal()
	default:
		return p.exit.status.ExitStatus(), 0
	}
}

// Identity names the process's runner for Reap. It is stored, so that a later
// daemon can find what this one left.
func (p *Process) Identity() string { return p.control.identity }

// Terminate ends the agent and all its descendants and waits for that: stdin
// is closed, SIGTERM goes to the whole tree, and after the grace period
// SIGKILL. When ctx ends the rest of the grace period is skipped. It returns
// when everything is gone; an error means that something could not be killed.
func (p *Process) Terminate(ctx context.Context) error { return p.end(ctx.Done()) }

// Close terminates the process tree, waits for its end and releases the pipes.
// It may be called twice, also at the same time.
func (p *Process) Close() error {
	err := p.end(nil)
	p.closing.Do(func() { _ = p.stdout.Close() })
	return err
}

// end is the kill ladder; hurry cuts the grace period short.
func (p *Process) end(hurry <-chan struct{}) error {
	_ = p.CloseWrite()
	p.control.say(runner.SayTerm)
	// The runner needs the grace period and a moment for the killing. One that
	// does not manage (stopped, starved) is killed itself; its orphans are swept.
	if p.gone(p.grace+killTime, hurry) {
		return nil
	}
	p.control.say(runner.SayKill)
	if p.gone(killTime, nil) {
		return nil
	}
	p.control.kill()
	if p.gone(runner.KillLimit+killTime, nil) {
		return nil
	}
	return errors.New("processes of the agent could not be killed")
}

// gone waits for the end of the process and reports it.
func (p *Process) gone(limit time.Duration, hurry <-chan struct{}) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-p.done:
		return true
	case <-late.C:
	case <-hurry:
	}
	return false
}

// abandon closes the pipes of a process that nobody follows.
func (p *Process) abandon() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close()
	}
}

// follow reads stderr and the runner's reports until the runner is gone, makes
// sure that it left nothing, and closes Done.
func (s *Starter) follow(p *Process) {
	var drain sync.WaitGroup
	drain.Go(func() {
		p.tail.fill(p.stderr)
		_ = p.stderr.Close()
	})
	status, known := p.control.await()
	p.exit = exitStatus{known: known, status: status}
	if !p.control.wait() {
		s.log.Warn("runner did not end by itself", "pid", p.control.pid)
		s.sweep()
	} else {
		s.brood.collect() // nobody else does
	}
	_ = p.stdin.Close()
	// Only a process that could not be killed still holds the pipe then.
	_ = p.stderr.SetReadDeadline(time.Now().Add(killTime))
	drain.Wait()
	s.mu.Lock()
	delete(s.live, p)
	s.mu.Unlock()
	close(p.done)
}
