package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"cligate/internal/worker/proc/runner"
)

// Reap kills what an earlier daemon left behind and returns how many processes
// that were: the trees of the recorded identities (see Process.Identity), and
// every process that carries token (empty = none). With a token it is called
// before New, because it would kill this process's own runners too. A process
// is never chosen by its name or age, and never if it is an ancestor of this
// one. An error means that something still lives.
func Reap(ctx context.Context, token string, identities ...string) (killed int, err error) {
	recorded := map[int]uint64{}
	for _, id := range identities {
		if pid, start, ok := ParseIdentity(id); ok {
			recorded[pid] = start
		}
	}
	if token == "" && len(recorded) == 0 {
		return 0, nil // there is nothing to know them by
	}
	seen := map[int]uint64{}
	find := func() []runner.Entry {
		found := leftovers(token, recorded)
		for _, e := range found {
			seen[e.PID] = e.Start
		}
		return found
	}
	until := time.Now().Add(2 * runner.KillLimit)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	if !runner.Exterminate(find, until) {
		return len(seen), errors.New("processes of an earlier run could not be killed")
	}
	return len(seen), nil
}

// leftovers returns the marked and recorded processes and all below them.
func leftovers(token string, recorded map[int]uint64) []runner.Entry {
	all := runner.Processes()
	own := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !own[pid]; pid = all[pid].Parent {
		own[pid] = true
	}
	chosen := map[int]runner.Entry{}
	for pid, e := range all {
		start, ok := recorded[pid]
		ours := ok && start == e.Start || token != "" && marked(pid, token)
		if own[pid] || e.Zombie || !ours {
			continue
		}
		chosen[pid] = e
		for _, e := range runner.Below(all, pid) {
			if !own[e.PID] {
				chosen[e.PID] = e
			}
		}
	}
	list := make([]runner.Entry, 0, len(chosen))
	for _, e := range chosen {
		list = append(list, e)
	}
	return list
}

// marked reports whether a process carries the token: in its environment, or,
// being a runner whose environment nobody may read, in its arguments.
func marked(pid int, token string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil && string(b) == runner.Name+"\x00"+token+"\x00" {
		return true
	}
	b, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return false
	}
	want := []byte(runner.TokenName + "=" + token)
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}
