package proc

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"cligate/internal/worker/proc/runner"
)

// Kin is which processes an agent had at some moment. A driver takes it before
// a turn, so that what the turn started can be told from what serves the whole
// session.
type Kin struct {
	root int
	had  map[int]uint64 // pid → start
}

// Kin notes which processes the agent has now.
func (p *Process) Kin() Kin {
	k := Kin{root: p.control.pid, had: map[int]uint64{}}
	for _, e := range runner.Descendants(k.root) {
		k.had[e.PID] = e.Start
	}
	return k
}

// EndYounger kills the processes that the agent started since and that still
// live, and returns how many those were. It is for agents that end a turn and
// leave its tools running. spare tells by a process's arguments which are to
// live; nil = none. It does not wait for anything to end by itself.
func (k Kin) EndYounger(spare func(args []string) bool) int {
	return k.end(func(pid int) bool { return spare == nil || !spare(arguments(pid)) })
}

// EndMarked kills what the agent started whose environment has one of the
// entries, each "NAME=value", and returns how many those were. It is for agents
// that serve several sessions and mark the tools of each.
func (p *Process) EndMarked(entries ...string) int {
	return Kin{root: p.control.pid}.end(func(pid int) bool {
		env := list(pid, "environ")
		return slices.ContainsFunc(entries, func(e string) bool { return slices.Contains(env, e) })
	})
}

// end kills the younger ones that are meant.
func (k Kin) end(meant func(pid int) bool) int {
	seen := map[int]bool{}
	runner.Exterminate(func() (found []runner.Entry) {
		for _, e := range runner.Descendants(k.root) {
			if start, old := k.had[e.PID]; old && start == e.Start || !meant(e.PID) {
				continue
			}
			seen[e.PID] = true
			found = append(found, e)
		}
		return found
	}, time.Now().Add(killTime))
	return len(seen)
}

// arguments are a process's, program first; none when it is gone.
func arguments(pid int) []string { return list(pid, "cmdline") }

// list reads a list of strings that the system keeps about a process.
func list(pid int, what string) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + what)
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}
