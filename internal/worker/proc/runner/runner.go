// Package runner is the process between the daemon and one agent: a sub-reaper
// that owns everything the agent starts and kills it when it is told to, when
// the agent ends, and when the daemon is gone.
//
// It is the daemon's own binary, executed again, and takes over while the
// program is still being initialised: before the tables of the Markdown parser,
// the chat SDKs and the database are built, which a runner never needs. That
// costs a third of the memory and half of the time of branching off in main.
// Go initialises packages in the order of their import paths as soon as their
// own imports are ready; this package therefore imports only the low parts of
// the standard library. If that order ever changed, a runner would be larger
// and otherwise the same.
//
// The rest of the package is what the daemon's side shares: the words on the
// control socket and the walk over the process tree.
package runner

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"
)

// Environment keeps the Go runtime of a runner small. A runner allocates next
// to nothing, so it never collects unless something is very wrong.
var Environment = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=8MiB"}

var _ = takeOver()

// takeOver never returns in a process that is a runner.
func takeOver() bool {
	if len(os.Args) == 2 && os.Args[0] == Name {
		syscall.Exit(serve()) // at once, without what a test build does at exit
	}
	return false
}

// serve is a runner's life. It returns its exit code: 0 when nothing is left.
func serve() int {
	if err := prepare(); err != nil {
		return 1
	}
	o, fds, err := receive()
	if err != nil {
		return 0 // the daemon ended, or had no use for this spare
	}
	w := &watch{grace: o.Grace, deaths: make(chan death), orders: make(chan byte)}
	if !w.start(o, fds) {
		return 0
	}
	return w.run()
}

// System calls and constants that package syscall lacks; the same numbers on
// every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
	sysCloseRange      = 436

	prSetDumpable       = 4
	prSetChildSubreaper = 36
	closeRangeCloexec   = 4
	rlimitProcesses     = 6
)

// prepare makes the process what a runner is.
func prepare() error {
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); e != 0 {
		return e
	}
	// The agent may run as the same user: it shall not read our memory or take
	// over the control socket.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	// Nothing that the daemon inherited from its own parent reaches the agent.
	if _, _, e := syscall.RawSyscall(sysCloseRange, ControlFD, uintptr(^uint32(0)), closeRangeCloexec); e != 0 {
		for fd := ControlFD; fd < 4096; fd++ { // an old kernel
			syscall.CloseOnExec(fd)
		}
	}
	syscall.Umask(0o077)
	Slim()
	return nil
}

// receive waits for the order. It comes with the agent's descriptors.
func receive() (Order, []int, error) {
	buf := make([]byte, 8<<10)
	oob := make([]byte, syscall.CmsgSpace(3*4))
	n, oobn, err := recvmsg(buf, oob)
	if err != nil || n < 4 {
		return Order{}, nil, errOrder
	}
	msgs, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		return Order{}, nil, errOrder
	}
	fds, err := syscall.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 3 {
		return Order{}, nil, errOrder
	}
	body := append([]byte(nil), buf[4:n]...)
	want := int(binary.BigEndian.Uint32(buf))
	for len(body) < want {
		n, err := syscall.Read(ControlFD, buf)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return Order{}, nil, errOrder
		}
		body = append(body, buf[:n]...)
	}
	o, err := decodeOrder(string(body))
	return o, fds, err
}

func recvmsg(buf, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = syscall.Recvmsg(ControlFD, buf, oob, syscall.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, syscall.EINTR) {
			return n, oobn, err
		}
	}
}

// watch is what a runner does while its agent lives.
type watch struct {
	agent  int
	grace  time.Duration
	deaths chan death // closed when no child is left
	orders chan byte  // what the daemon says; closed when it is gone
}

type death struct {
	pid    int
	status syscall.WaitStatus
}

// start starts the agent and tells the daemon.
func (w *watch) start(o Order, fds []int) bool {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	if o.Processes > 0 {
		_ = syscall.Setrlimit(rlimitProcesses, &syscall.Rlimit{Cur: o.Processes, Max: o.Processes})
	}
	pid, err := syscall.ForkExec(o.Path, append([]string{o.Path}, o.Args...), &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	// A fault of the runner shall be seen where the agent's faults are seen.
	_ = syscall.Dup3(fds[2], 2, 0)
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		tell(DidFail, uint32(no))
	case err != nil:
		tell(DidFail, uint32(syscall.EIO))
	default:
		w.agent = pid
		tell(DidStart, uint32(pid))
	}
	return err == nil
}

// run ends when the agent and all its descendants are gone.
func (w *watch) run() int {
	go w.reap()   // ends with the last child
	go w.listen() // ends with the daemon or this process
	Slim()
	var timer <-chan time.Time
	for {
		select {
		case d, ok := <-w.deaths:
			if !ok {
				return 0
			}
			if d.pid == w.agent {
				tell(DidExit, uint32(d.status))
				return w.outlived()
			}
		case b, ok := <-w.orders:
			switch {
			case !ok || b == SayKill:
				return w.finish()
			case b == SayTerm && timer == nil:
				SignalAll(Descendants(os.Getpid()), syscall.SIGTERM)
				timer = time.After(w.grace)
			}
		case <-timer:
			return w.finish()
		}
	}
}

// outlived ends a runner whose agent has ended: mostly nothing is left then.
func (w *watch) outlived() int {
	select {
	case _, some := <-w.deaths:
		if !some {
			return 0
		}
	case <-time.After(2 * time.Millisecond):
	}
	return w.finish()
}

// finish kills every descendant and waits until none is left.
func (w *watch) finish() int {
	over := make(chan struct{})
	go func() { // ends with the last child
		defer close(over)
		for d := range w.deaths {
			if d.pid == w.agent {
				tell(DidExit, uint32(d.status))
			}
		}
	}()
	if !Exterminate(func() []Entry { return Descendants(os.Getpid()) }, time.Now().Add(KillLimit)) {
		return 1 // of another user, or stuck in the kernel; the daemon sees the exit code
	}
	<-over
	return 0
}

// reap collects every child, the agent's orphans among them.
func (w *watch) reap() {
	defer close(w.deaths)
	for {
		var d death
		pid, err := syscall.Wait4(-1, &d.status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		default:
			d.pid = pid
			w.deaths <- d
		}
	}
}

// listen passes on what the daemon says.
func (w *watch) listen() {
	defer close(w.orders)
	b := make([]byte, 1)
	for {
		n, err := syscall.Read(ControlFD, b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n == 0:
			return
		default:
			w.orders <- b[0]
		}
	}
}

// tell reports to the daemon; one that is gone needs nothing.
func tell(kind byte, n uint32) {
	b := binary.BigEndian.AppendUint32([]byte{kind}, n)
	_, _ = syscall.SendmsgN(ControlFD, b, nil, nil, syscall.MSG_NOSIGNAL)
}
