package proc

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runnerRuntime keeps the Go runtime of a runner small.
var runnerRuntime = []string{"GOMAXPROCS=1", "GOGC=50"}

// Main is called first thing in main. It returns false at once in a normal
// process; in a runner it does the runner's work and returns true when that is
// over, and the caller returns from main.
func Main() (handled bool) {
	if len(os.Args) != 2 || os.Args[0] != runnerName {
		return false
	}
	if err := prepare(); err != nil {
		os.Exit(1)
	}
	o, fds, err := receive()
	if err != nil {
		return true // the daemon ended, or had no use for this spare
	}
	w := &watch{grace: o.grace, deaths: make(chan death), orders: make(chan byte)}
	if !w.start(o, fds) {
		return true
	}
	w.run()
	return true
}

// prepare makes the process what a runner is.
func prepare() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	// The agent may run as the same user: it shall not read our memory or take
	// over the control socket.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Nothing that the daemon inherited from its own parent reaches the agent.
	_ = unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(controlFD)
	unix.Umask(0o077)
	debug.FreeOSMemory()
	return nil
}

// receive waits for the order. It comes with the agent's descriptors.
func receive() (order, []int, error) {
	buf := make([]byte, 16<<10)
	oob := make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := recvmsg(buf, oob)
	if err != nil || n < 4 {
		return order{}, nil, errBadOrder
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		return order{}, nil, errBadOrder
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 3 {
		return order{}, nil, errBadOrder
	}
	body := append([]byte(nil), buf[4:n]...)
	want := int(binary.BigEndian.Uint32(buf))
	for len(body) < want {
		n, err := unix.Read(controlFD, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return order{}, nil, errBadOrder
		}
		body = append(body, buf[:n]...)
	}
	o, err := decodeOrder(string(body))
	return o, fds, err
}

func recvmsg(buf, oob []byte) (n, oobn, flags int, from unix.Sockaddr, err error) {
	for {
		n, oobn, flags, from, err = unix.Recvmsg(controlFD, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, oobn, flags, from, err
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
	status unix.WaitStatus
}

// start starts the agent and tells the daemon.
func (w *watch) start(o order, fds []int) bool {
	none := &unix.Rlimit{}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, none)
	if o.processes > 0 {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: o.processes, Max: o.processes})
	}
	pid, err := syscall.ForkExec(o.spec.Path, append([]string{o.spec.Path}, o.spec.Args...), &syscall.ProcAttr{
		Dir: o.spec.Dir, Env: o.spec.Env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	// A fault of the runner shall be seen where the agent's faults are seen.
	_ = unix.Dup3(fds[2], 2, 0)
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		tell(didFail, uint32(no))
	case err != nil:
		tell(didFail, uint32(syscall.EIO))
	default:
		w.agent = pid
		tell(didStart, uint32(pid))
	}
	return err == nil
}

// run ends when the agent and all its descendants are gone.
func (w *watch) run() {
	go w.reap()   // ends with the last child
	go w.listen() // ends with the daemon or this process
	var timer <-chan time.Time
	for {
		select {
		case d, ok := <-w.deaths:
			if !ok {
				return
			}
			if d.pid == w.agent {
				tell(didExit, uint32(d.status))
				w.finish()
				return
			}
		case b, ok := <-w.orders:
			switch {
			case !ok || b == sayKill:
				w.finish()
				return
			case b == sayTerm && timer == nil:
				signalAll(descendants(os.Getpid()), unix.SIGTERM)
				timer = time.After(w.grace)
			}
		case <-timer:
			w.finish()
			return
		}
	}
}

// finish kills every descendant and waits until none is left.
func (w *watch) finish() {
	over := make(chan struct{})
	go func() { // ends when run's caller returns or no child is left
		defer close(over)
		for d := range w.deaths {
			if d.pid == w.agent {
				tell(didExit, uint32(d.status))
			}
		}
	}()
	for !exterminate(func() []entry { return descendants(os.Getpid()) }, time.Now().Add(sweepLimit)) {
		// Nothing else is left to do than to try: the daemon gives up first.
	}
	<-over
}

// reap collects every child, the agent's orphans among them.
func (w *watch) reap() {
	defer close(w.deaths)
	for {
		var d death
		pid, err := unix.Wait4(-1, &d.status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
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
		n, err := unix.Read(controlFD, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return
		default:
			w.orders <- b[0]
		}
	}
}

// tell reports to the daemon; one that is gone needs nothing.
func tell(kind byte, n uint32) {
	_ = unix.Sendto(controlFD, record(kind, n), unix.MSG_NOSIGNAL, nil)
}
