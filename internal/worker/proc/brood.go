package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cligate/internal/worker/proc/runner"
)

// brood knows a Starter's runners among the children of this process, and so
// which others came to it because a runner died.
type brood struct {
	token string

	mu  sync.RWMutex
	own map[int]struct{}
}

// fork starts a runner and knows it from the first moment on.
func (b *brood) fork(exe string, attr *syscall.ProcAttr) (pid int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pid, err = syscall.ForkExec(exe, []string{runner.Name, b.token}, attr)
	if err != nil {
		return 0, &os.PathError{Op: "execute", Path: exe, Err: err}
	}
	b.own[pid] = struct{}{}
	return pid, nil
}

// wait collects a runner that ends and reports whether it did so by itself,
// which it does only when no descendant is left.
func (b *brood) wait(pid int) (clean bool) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.own, pid)
		return err == nil && ws.Exited() && ws.ExitStatus() == 0
	}
}

// sweep kills the orphans of runners that died before their trees, and reports
// whether it could.
func (b *brood) sweep() bool {
	gone := runner.Sweep(b.orphans, time.Now().Add(runner.KillLimit))
	b.collect()
	return gone
}

// collect takes in adopted children that are dead and were not seen dead
// before. A process looks dead when its first thread is; it can be collected
// when the others are as well.
func (b *brood) collect() {
	for range 50 {
		_, adopted := b.strangers()
		early := false
		for _, e := range adopted {
			if e.Zombie {
				pid, err := unix.Wait4(e.PID, nil, unix.WNOHANG, nil)
				early = early || pid == 0 && err == nil
			}
		}
		if !early {
			return
		}
		time.Sleep(2 * time.Millisecond) // nobody tells when it is
	}
}

// orphans returns the trees of the children that this process adopted, and
// collects those that are dead. A process started here without setsid shares
// our session, an adopted one cannot.
func (b *brood) orphans() []runner.Entry {
	all, adopted := b.strangers()
	var found []runner.Entry
	for _, e := range adopted {
		switch {
		case e.Zombie:
			_, _ = unix.Wait4(e.PID, nil, unix.WNOHANG, nil)
		case !b.others(e.PID):
			found = append(append(found, e), runner.Below(all, e.PID)...)
		}
	}
	return found
}

// strangers returns all processes, and those children that are neither our
// runners nor of our session.
func (b *brood) strangers() (all map[int]runner.Entry, adopted []runner.Entry) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	// No child may be between fork and exec: it would look adopted.
	syscall.ForkLock.RLock()
	all = runner.Processes()
	syscall.ForkLock.RUnlock()
	self := all[os.Getpid()]
	for pid, e := range all {
		if _, ours := b.own[pid]; !ours && e.Parent == self.PID && e.Session != self.Session {
			adopted = append(adopted, e)
		}
	}
	return all, adopted
}

// others reports whether a process is a runner of another Starter in this
// process. One that carries our token and is not known here is none: it is what
// a dying runner had forked and not yet executed. Arguments are empty for a
// moment while a program is being executed and while it ends; that is not
// judged.
func (b *brood) others(pid int) bool {
	for range 50 {
		args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if token, ok := bytes.CutPrefix(args, []byte(runner.Name+"\x00")); ok {
			return string(token) != b.token+"\x00"
		}
		if err == nil && len(args) > 0 {
			return false
		}
		if e, ok := runner.Inspect(pid); !ok || e.Zombie {
			return true // nothing is left to kill
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false // it hides its arguments
}
