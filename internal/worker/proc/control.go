package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cligate/internal/worker/proc/runner"
)

// control is the daemon's side of one runner process.
type control struct {
	pid      int
	identity string
	conn     *net.UnixConn
	brood    *brood
}

// errRunnerGone means that the runner ended before it answered.
var errRunnerGone = errors.New("the runner ended")

// startLimit bounds the start of an agent; it covers a machine under load.
const startLimit = 10 * time.Second

// spawn starts a runner, which then waits for its order. The runner's own
// environment holds nothing of the daemon's.
func spawn(cfg Config, b *brood) (*control, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close() // net.FileConn makes its own descriptor
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	defer null.Close()
	pid, err := b.fork(cfg.Exe, &syscall.ProcAttr{
		Dir:   "/",
		Env:   append([]string{runner.TokenName + "=" + cfg.Token}, runner.Environment...),
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), theirs.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &control{pid: pid, identity: identityOf(pid), conn: conn.(*net.UnixConn), brood: b}, nil
}

// launch gives c its order and waits for the agent to be started.
func (c *control) launch(ctx context.Context, spec Spec, cfg Config) (*Process, error) {
	ours, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	p := &Process{
		control: c, grace: cfg.Grace,
		stdin: ours[0], stdout: ours[1], stderr: ours[2],
		tail: newTail(spec.Env), done: make(chan struct{}),
	}
	err = c.order(ctx, runner.Order{
		Path: spec.Path, Dir: spec.Dir, Args: spec.Args, Env: spec.Env,
		Grace: cfg.Grace, Processes: cfg.Processes,
	}, theirs)
	for _, fd := range theirs {
		_ = unix.Close(fd)
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

// order sends o with the agent's descriptors and reads the answer.
func (c *control) order(ctx context.Context, o runner.Order, fds []int) error {
	_ = c.conn.SetDeadline(time.Now().Add(startLimit))
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	body := o.Encode()
	n, _, err := c.conn.WriteMsgUnix(body, unix.UnixRights(fds...), nil)
	if err == nil && n < len(body) {
		_, err = c.conn.Write(body[n:])
	}
	if err != nil {
		return startError(ctx, err)
	}
	kind, num, err := c.next()
	switch {
	case err != nil:
		return startError(ctx, err)
	case kind == runner.DidFail:
		return syscall.Errno(num)
	case kind != runner.DidStart:
		return fmt.Errorf("the runner answered %q", kind)
	}
	if !stop() { // the deadline of a cancelled ctx may still come
		return context.Cause(ctx)
	}
	return c.conn.SetDeadline(time.Time{})
}

func startError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", errRunnerGone, err)
}

// next reads one report.
func (c *control) next() (kind byte, n uint32, err error) {
	var b [runner.RecordSize]byte
	if _, err := io.ReadFull(c.conn, b[:]); err != nil {
		return 0, 0, err
	}
	kind, n = runner.Record(b)
	return kind, n, nil
}

// await reads reports until the runner is gone.
func (c *control) await() (status syscall.WaitStatus, known bool) {
	for {
		kind, n, err := c.next()
		if err != nil {
			return status, known
		}
		if kind == runner.DidExit {
			status, known = syscall.WaitStatus(n), true
		}
	}
}

// say sends one byte; a runner that is gone needs none.
func (c *control) say(b byte) { _, _ = c.conn.Write([]byte{b}) }

// kill kills the runner itself. Its pid cannot have been given to another
// process, because only wait releases it.
func (c *control) kill() { _ = unix.Kill(c.pid, unix.SIGKILL) }

// wait collects a runner whose socket has ended and reports whether it ended
// by itself.
func (c *control) wait() (clean bool) {
	_ = c.conn.Close()
	return c.brood.wait(c.pid)
}

// discard ends a runner that serves no process.
func (c *control) discard() {
	_ = c.conn.Close()
	c.kill()
	c.wait()
}

// pipes makes the agent's three pipes. Our ends do not block a thread; the
// agent's ends are plain.
func pipes() (ours []*os.File, theirs []int, err error) {
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			for _, f := range ours {
				_ = f.Close()
			}
			for _, fd := range theirs {
				_ = unix.Close(fd)
			}
			return nil, nil, fmt.Errorf("pipe: %w", err)
		}
		mine, other := p[0], p[1]
		if i == 0 {
			mine, other = p[1], p[0]
		}
		_ = unix.SetNonblock(mine, true)
		ours = append(ours, os.NewFile(uintptr(mine), name))
		theirs = append(theirs, other)
	}
	return ours, theirs, nil
}
