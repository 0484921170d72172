package rig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cligate/internal/sim/claude"
	"cligate/internal/worker/proc"
)

// orphanLimit is how long the tree of a daemon may take to follow it.
const orphanLimit = 5 * time.Second

// Orphans returns the processes of this rig that do not belong to a living
// daemon: those that carry its runners' token, and those that the agents wrote
// down. What is dying gets a moment.
func (r *Rig) Orphans() []string {
	var found []string
	r.Within(orphanLimit, func() bool {
		found = r.orphans()
		return len(found) == 0
	})
	return found
}

// Processes returns the ids of all processes that carry this rig's token.
func (r *Rig) Processes() []int {
	r.tb.Helper()
	token, err := proc.TokenFor(r.DataDir())
	if err != nil {
		r.tb.Fatal(err)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		r.tb.Fatal(err)
	}
	var pids []int
	for _, dir := range dirs {
		for _, f := range []string{"environ", "cmdline"} {
			raw, err := os.ReadFile(filepath.Join(dir, f))
			if err == nil && bytes.Contains(raw, []byte(token)) {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

func (r *Rig) orphans() (out []string) {
	alive, daemon := r.Alive(), r.Pid()
	for _, pid := range suspects(r) {
		p, ok := inspect(pid)
		if !ok || p.zombie || alive && below(pid, daemon) {
			continue
		}
		out = append(out, fmt.Sprintf("%d (%s, %s), child of %d", pid, p.name, p.state, p.parent))
	}
	return out
}

// suspects are processes with the token, those that work in the directory that
// only the daemon works in (what it was forking when it died), and recorded ones
// that still carry the home directory of this rig.
func suspects(r *Rig) []int {
	pids := r.Processes()
	known := map[int]bool{r.Pid(): true}
	for _, pid := range pids {
		known[pid] = true
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if at, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && at == r.Dir && !known[pid] {
			known[pid] = true
			pids = append(pids, pid)
		}
	}
	all, err := claude.Journal(filepath.Join(r.Home(), ".claude"))
	if err != nil {
		r.tb.Fatal(err)
	}
	for _, e := range all {
		for _, pid := range []int{e.PID, e.Pid} {
			if pid > 0 && !known[pid] && carriesHome(r, pid) {
				known[pid] = true
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// carriesHome tells a process of this rig from a later one with the same id.
func carriesHome(r *Rig, pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(raw, []byte("HOME="+r.Home()))
}

type process struct {
	name   string
	state  string
	parent int
	zombie bool
}

func inspect(pid int) (process, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	f := strings.Fields(string(raw[shut+1:]))
	if len(f) < 2 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(f[1])
	return process{name: string(raw[open+1 : shut]), state: f[0], parent: parent, zombie: f[0] == "Z" || f[0] == "X"}, true
}

// below reports whether pid is a descendant of top.
func below(pid, top int) bool {
	for range 64 {
		p, ok := inspect(pid)
		if !ok || p.parent <= 1 {
			return false
		}
		if p.parent == top {
			return true
		}
		pid = p.parent
	}
	return false
}
