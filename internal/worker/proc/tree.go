package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sweepLimit bounds one try at killing a set of processes.
const sweepLimit = 2 * time.Second

// entry is one process as /proc shows it.
type entry struct {
	pid     int
	parent  int
	session int
	start   uint64 // ticks since boot; with the pid it names a process for ever
	zombie  bool
}

// processes returns every process that /proc shows, by pid.
func processes() map[int]entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make(map[int]entry, len(names))
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

// inspect reads /proc/<pid>/stat. buf is scratch space.
func inspect(pid int, buf []byte) (entry, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry{}, false
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	if err != nil || n <= 0 {
		return entry{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat takes the fields after the program's name, which is in brackets
// and may hold anything.
func parseStat(pid int, line []byte) (entry, bool) {
	i := bytes.LastIndexByte(line, ')')
	if i < 0 {
		return entry{}, false
	}
	f := bytes.Fields(line[i+1:])
	if len(f) < 20 {
		return entry{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	session, err2 := strconv.Atoi(string(f[3]))
	start, err3 := strconv.ParseUint(string(f[19]), 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return entry{}, false
	}
	return entry{
		pid: pid, parent: parent, session: session, start: start,
		zombie: f[0][0] == 'Z' || f[0][0] == 'X',
	}, true
}

// descendants returns what lives below root, without root and without zombies.
func descendants(root int) []entry { return below(processes(), root) }

func below(all map[int]entry, root int) []entry {
	children := make(map[int][]int, len(all))
	for _, e := range all {
		children[e.parent] = append(children[e.parent], e.pid)
	}
	var found []entry
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		e := all[queue[0]]
		if !e.zombie {
			found = append(found, e)
		}
		queue = append(queue, children[e.pid]...)
	}
	return found
}

// signal sends a signal to exactly the process that e describes, never to a
// later one with the same pid.
func (e entry) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		if now, ok := inspect(e.pid, make([]byte, 1024)); ok && now.start == e.start {
			_ = unix.Kill(e.pid, sig)
		}
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := inspect(e.pid, make([]byte, 1024)); ok && now.start == e.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func signalAll(list []entry, sig unix.Signal) {
	for _, e := range list {
		e.signal(sig)
	}
}

// exterminate kills what find returns until it returns nothing, and reports
// whether that was reached in time. Everything is stopped before anything is
// killed: what forks faster than it is killed cannot escape, and a child whose
// parent dies does not leave the tree unseen.
func exterminate(find func() []entry, until time.Time) bool {
	pause := time.Millisecond
	for {
		found := freeze(find)
		if len(found) == 0 {
			return true
		}
		signalAll(found, unix.SIGKILL)
		if time.Now().After(until) {
			return false
		}
		time.Sleep(pause) // the kernel tells nobody when a stranger is gone
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// freeze stops what find returns until it returns nothing new.
func freeze(find func() []entry) []entry {
	stopped := map[int]uint64{}
	for range 50 {
		found, fresh := find(), false
		for _, e := range found {
			if at, ok := stopped[e.pid]; !ok || at != e.start {
				e.signal(unix.SIGSTOP)
				stopped[e.pid], fresh = e.start, true
			}
		}
		if !fresh {
			return found
		}
	}
	return find()
}

// identityOf names a process: pid, start time and boot.
func identityOf(pid int) string {
	e, ok := inspect(pid, make([]byte, 1024))
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%d.%s", pid, e.start, bootID())
}

// parseIdentity returns the process that identity names, if it may still live.
func parseIdentity(identity string) (entry, bool) {
	f := strings.Split(identity, ".")
	if len(f) != 3 || f[2] != bootID() {
		return entry{}, false
	}
	pid, err1 := strconv.Atoi(f[0])
	start, err2 := strconv.ParseUint(f[1], 10, 64)
	return entry{pid: pid, start: start}, errors.Join(err1, err2) == nil && pid > 1
}

// bootID tells this boot of the machine from others.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) < 8 {
		return "0"
	}
	return string(b[:8])
}
