package proc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// TokenFor returns the token of a data directory, which must exist. It stays
// the same from start to start and differs between directories.
func TokenFor(dataDir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dataDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("token of the data directory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", fmt.Errorf("token of the data directory: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", dir, st.Dev, st.Ino))
	return hex.EncodeToString(sum[:8]), nil
}

// Reap kills what an earlier daemon left behind and returns how many processes
// that were: the trees of the recorded identities (see Process.Identity), and
// every process that carries token. It is called before New. A process is
// never chosen by its name or age, and never if it is an ancestor of this one.
// An error means that something still lives.
func Reap(ctx context.Context, token string, identities ...string) (killed int, err error) {
	recorded := map[int]uint64{}
	for _, id := range identities {
		if e, ok := parseIdentity(id); ok {
			recorded[e.pid] = e.start
		}
	}
	seen := map[int]uint64{}
	find := func() []entry {
		found := leftovers(token, recorded)
		for _, e := range found {
			seen[e.pid] = e.start
		}
		return found
	}
	until := time.Now().Add(2 * sweepLimit)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	if !exterminate(find, until) {
		return len(seen), errors.New("processes of an earlier run could not be killed")
	}
	return len(seen), nil
}

// leftovers returns the marked and recorded processes and all below them.
func leftovers(token string, recorded map[int]uint64) []entry {
	all := processes()
	own := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !own[pid]; pid = all[pid].parent {
		own[pid] = true
	}
	for _, e := range below(all, os.Getpid()) {
		own[e.pid] = true
	}
	chosen := map[int]entry{}
	for pid, e := range all {
		start, ok := recorded[pid]
		if !own[pid] && !e.zombie && (ok && start == e.start || marked(pid, token)) {
			chosen[pid] = e
		}
	}
	for pid := range chosen {
		for _, e := range below(all, pid) {
			if !own[e.pid] {
				chosen[e.pid] = e
			}
		}
	}
	list := make([]entry, 0, len(chosen))
	for _, e := range chosen {
		list = append(list, e)
	}
	return list
}

// marked reports whether a process carries the token: in its environment, or,
// being a runner whose environment nobody may read, in its arguments.
func marked(pid int, token string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil && string(b) == runnerName+"\x00"+token+"\x00" {
		return true
	}
	b, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return false
	}
	want := []byte(tokenName + "=" + token)
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

// sweep kills the orphans of runners that died before their trees: they came
// to this process, the next sub-reaper above.
func (s *Starter) sweep() {
	if !exterminate(orphans, time.Now().Add(sweepLimit)) {
		s.log.Error("orphans of a runner could not be killed")
	}
}

// orphans returns the trees of the children that this process adopted, and
// collects those that are dead. A process started here without setsid shares
// our session, an adopted one cannot; a runner is known by its arguments.
func orphans() []entry {
	// No child may be between fork and exec: it would look adopted.
	syscall.ForkLock.RLock()
	all := processes()
	syscall.ForkLock.RUnlock()
	self := all[os.Getpid()]
	var found []entry
	for _, e := range all {
		switch {
		case e.parent != self.pid || e.session == self.session:
		case e.zombie:
			// A dead runner may be collected here as well; its owner copes.
			_, _ = unix.Wait4(e.pid, nil, unix.WNOHANG, nil)
		case !isRunner(e.pid):
			found = append(append(found, e), below(all, e.pid)...)
		}
	}
	return found
}

func isRunner(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(b, []byte(runnerName+"\x00"))
}
