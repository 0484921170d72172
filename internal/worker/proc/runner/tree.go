package runner

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

// KillLimit bounds one try at killing a set of processes.
const KillLimit = 2 * time.Second

// Entry is one process as /proc shows it.
type Entry struct {
	PID     int
	Parent  int
	Session int
	Start   uint64 // ticks since boot; with the pid it names a process for ever
	Zombie  bool
}

// Processes returns every process that /proc shows, by pid.
func Processes() map[int]Entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make(map[int]Entry, len(names))
	buf := make([]byte, 1024)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := inspect(pid, buf); ok {
			all[pid] = e
		}
	}
	return all
}

// Inspect returns one process, if it exists.
func Inspect(pid int) (Entry, bool) { return inspect(pid, make([]byte, 1024)) }

// inspect reads /proc/<pid>/stat. buf is scratch space.
func inspect(pid int, buf []byte) (Entry, bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Entry{}, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return Entry{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat takes the fields after the program's name, which is in brackets
// and may hold anything.
func parseStat(pid int, line []byte) (Entry, bool) {
	i := bytes.LastIndexByte(line, ')')
	if i < 0 {
		return Entry{}, false
	}
	f := bytes.Fields(line[i+1:])
	if len(f) < 20 {
		return Entry{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	session, err2 := strconv.Atoi(string(f[3]))
	start, err3 := strconv.ParseUint(string(f[19]), 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return Entry{}, false
	}
	return Entry{
		PID: pid, Parent: parent, Session: session, Start: start,
		Zombie: f[0][0] == 'Z' || f[0][0] == 'X',
	}, true
}

// Descendants returns what lives below root, without root and without zombies.
func Descendants(root int) []Entry { return Below(Processes(), root) }

// Below is Descendants in a known set of processes.
func Below(all map[int]Entry, root int) []Entry {
	children := make(map[int][]int, len(all))
	for _, e := range all {
		children[e.Parent] = append(children[e.Parent], e.PID)
	}
	var found []Entry
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		e := all[queue[0]]
		if !e.Zombie {
			found = append(found, e)
		}
		queue = append(queue, children[e.PID]...)
	}
	return found
}

// Signal sends a signal to exactly the process that e describes, never to a
// later one with the same pid.
func (e Entry) Signal(sig syscall.Signal) {
	fd, _, no := syscall.RawSyscall(sysPidfdOpen, uintptr(e.PID), 0, 0)
	if no != 0 && no != syscall.ENOSYS {
		return
	}
	if no == 0 {
		defer syscall.Close(int(fd))
	}
	if now, ok := Inspect(e.PID); !ok || now.Start != e.Start {
		return
	}
	if no == 0 {
		_, _, _ = syscall.RawSyscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
	} else {
		_ = syscall.Kill(e.PID, sig)
	}
}

// SignalAll sends a signal to each of the list.
func SignalAll(list []Entry, sig syscall.Signal) {
	for _, e := range list {
		e.Signal(sig)
	}
}

// Exterminate kills what find returns until it returns nothing and all that it
// ever returned is gone, and reports whether that was reached in time.
// Everything is stopped before anything is killed: what forks faster than it is
// killed cannot escape, and a child whose parent dies does not leave the tree
// unseen.
func Exterminate(find func() []Entry, until time.Time) bool {
	return kill(func() []Entry { return freeze(find) }, until)
}

// Sweep is Exterminate for a process whose own descendants come to it when
// their parents die: nothing of them can leave unseen, so nothing is stopped
// first. A sweeper that is itself killed leaves nothing stopped behind that
// would never end.
func Sweep(find func() []Entry, until time.Time) bool { return kill(find, until) }

func kill(find func() []Entry, until time.Time) bool {
	chosen := map[int]Entry{}
	pause := time.Millisecond
	for {
		for _, e := range find() {
			chosen[e.PID] = e
		}
		for pid, e := range chosen {
			if now, ok := Inspect(pid); !ok || now.Start != e.Start || now.Zombie {
				delete(chosen, pid)
				continue
			}
			e.Signal(syscall.SIGKILL)
		}
		switch {
		case len(chosen) == 0:
			return true
		case time.Now().After(until):
			return false
		}
		time.Sleep(pause) // the kernel tells nobody when a stranger is gone
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// freeze stops what find returns until it returns nothing new. Runners are not
// stopped: they start nothing more, and one that goes on kills its tree itself,
// also when this process does not live to do it.
func freeze(find func() []Entry) []Entry {
	stopped := map[int]uint64{}
	for range 50 {
		found, fresh := find(), false
		for _, e := range found {
			if at, ok := stopped[e.PID]; !ok || at != e.Start {
				if !isRunner(e.PID) {
					e.Signal(syscall.SIGSTOP)
				}
				stopped[e.PID], fresh = e.Start, true
			}
		}
		if !fresh {
			return found
		}
	}
	return find()
}

// isRunner reports whether a process is a runner, of whatever daemon.
func isRunner(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(b, []byte(Name+"\x00"))
}
