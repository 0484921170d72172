package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// thread is a session that the process has loaded.
type thread struct {
	s      *server
	id     string
	parent *turn // whose sub-agent it is
	lock   *os.File

	mu       sync.Mutex
	kept     kept
	approval string
	sandbox  string
	plans    bool
	turn     *turn
	commands map[string]*command // by process id
}

// kept is what a session remembers.
type kept struct {
	Texts  []string `json:"texts"`
	Dir    string   `json:"cwd"`
	Model  string   `json:"model"`
	Effort string   `json:"effort"`
	In     int64    `json:"in"` // tokens so far
	Out    int64    `json:"out"`
	Last   string   `json:"last"` // id of the last turn
}

// command is one that runs, or was left running.
type command struct {
	item string
	text string
	cmd  *exec.Cmd
}

func sessionFile(id string) string { return filepath.Join(home(), "sessions", id+".json") }

// save writes what is remembered; it is called with t.mu held.
func (t *thread) save() {
	body, err := json.Marshal(t.kept)
	if err != nil {
		panic(err)
	}
	file := sessionFile(t.id)
	_ = os.MkdirAll(filepath.Dir(file), 0o700)
	if err := os.WriteFile(file+".new", body, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		panic(err)
	}
}

// open starts, resumes or forks a thread.
func (s *server) open(method string, p params) (object, func(), string) {
	t := &thread{s: s, id: uuid.NewString(), approval: p.Approval, sandbox: p.Sandbox, commands: map[string]*command{}}
	if method != "thread/start" {
		if uuid.Validate(p.Thread) != nil {
			return nil, nil, "invalid session id: invalid character"
		}
		body, err := os.ReadFile(sessionFile(p.Thread))
		if err != nil {
			return nil, nil, "no rollout found for thread id " + p.Thread
		}
		if err := json.Unmarshal(body, &t.kept); err != nil {
			panic(err)
		}
	}
	if method == "thread/resume" {
		t.id = p.Thread
	}
	if !t.claim() {
		return nil, nil, "thread " + t.id + " already has an active writer"
	}
	t.kept.Dir = cmp.Or(p.Dir, t.kept.Dir)
	t.kept.Model = cmp.Or(p.Model, t.kept.Model, "sim-large")
	s.mu.Lock()
	s.threads[t.id] = t
	s.mu.Unlock()
	answer := object{
		"thread": object{"id": t.id, "preview": "", "cwd": t.kept.Dir}, "model": t.kept.Model,
		"reasoningEffort": t.kept.Effort, "approvalPolicy": t.approval, "cwd": t.kept.Dir,
	}
	return answer, func() {
		s.tell("thread/started", object{"thread": answer["thread"]})
		if t.kept.Last != "" { // as the real one: figures of a turn that was
			t.usage(t.kept.Last, 0, 0)
		}
	}, ""
}

// claim makes this process the session's only writer.
func (t *thread) claim() bool {
	dir := filepath.Join(home(), "locks")
	_ = os.MkdirAll(dir, 0o700)
	f, err := os.OpenFile(filepath.Join(dir, t.id), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		panic(err)
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return false
	}
	t.lock = f
	return true
}

// unload lets a session go, a moment after nobody is subscribed any more.
func (t *thread) unload() {
	t.mu.Lock()
	busy := t.turn != nil
	t.mu.Unlock()
	if busy {
		breach("a session was let go in mid-turn")
	}
	_ = t.lock.Close()
	t.s.mu.Lock()
	delete(t.s.threads, t.id)
	t.s.mu.Unlock()
	t.s.tell("thread/closed", object{"threadId": t.id})
}

// list is the catalogue of a folder.
func (s *server) list(p params) object {
	files, _ := filepath.Glob(sessionFile("*"))
	data := []object{}
	for _, f := range files {
		var k kept
		body, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(body, &k) != nil || k.Dir != p.Dir || len(k.Texts) == 0 {
			continue
		}
		info, err := os.Stat(f)
		if err != nil {
			continue
		}
		data = append(data, object{
			"id": strings.TrimSuffix(filepath.Base(f), ".json"), "preview": k.Texts[0], "name": nil,
			"parentThreadId": nil, "updatedAt": info.ModTime().Unix(), "cwd": k.Dir,
		})
	}
	slices.SortFunc(data, func(a, b object) int { return cmp.Compare(b["updatedAt"].(int64), a["updatedAt"].(int64)) })
	return object{"data": data, "nextCursor": nil}
}

// configure takes the settings of a turn.
func (t *thread) configure(p params) {
	t.kept.Model = cmp.Or(p.Model, t.kept.Model)
	t.kept.Effort = cmp.Or(p.Effort, t.kept.Effort)
	t.approval = cmp.Or(p.Approval, t.approval)
	if p.Policy != nil {
		t.sandbox = map[string]string{
			"readOnly": "read-only", "workspaceWrite": "workspace-write", "dangerFullAccess": "danger-full-access",
		}[p.Policy.Type]
	}
	if p.Collab != nil {
		t.plans = p.Collab.Mode == "plan"
		t.kept.Model = p.Collab.Settings.Model
	}
}

// start begins a turn; while one runs it joins that.
func (t *thread) start(p params) (object, func(), string) {
	in, _ := p.inputs()
	t.mu.Lock()
	for t.turn != nil && t.turn.last { // it is about to make room
		gone := t.turn.gone
		t.mu.Unlock()
		<-gone
		t.mu.Lock()
	}
	defer t.mu.Unlock()
	if t.turn != nil {
		return object{"turn": t.turn.info("inProgress", nil)}, t.expect(t.turn, in), ""
	}
	t.configure(p)
	n := newTurn(t, in, "")
	t.turn = n
	return object{"turn": n.info("inProgress", nil)}, func() { go n.play() }, ""
}

func (t *thread) compact() (object, func(), string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil {
		return nil, nil, "a turn is already in progress"
	}
	n := newTurn(t, nil, "")
	n.compacts = true
	t.turn = n
	return object{}, func() { go n.play() }, ""
}

func (t *thread) running() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turn
}

func (t *thread) steer(p params) (object, func(), string) {
	in, _ := p.inputs()
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.turn
	switch {
	case n == nil, n.last:
		return nil, nil, "no active turn to steer"
	case n.id != p.Expected:
		return nil, nil, fmt.Sprintf("expected active turn id `%s` but found `%s`", p.Expected, n.id)
	case n.compacts:
		return nil, nil, "cannot steer a compact turn"
	}
	return object{"turnId": n.id}, t.expect(n, in), ""
}

func (t *thread) interrupt(p params) (object, func(), string) {
	n := t.running()
	if n == nil || n.id != p.Turn {
		return nil, nil, "no active turn to interrupt"
	}
	if n.deaf.Load() {
		return object{}, nil, ""
	}
	n.stop()
	return object{}, nil, ""
}

// usage tells the thread's figures, twice, as the real one does.
func (t *thread) usage(turn string, in, out int64) {
	t.mu.Lock()
	t.kept.In += in
	t.kept.Out += out
	total := object{"totalTokens": t.kept.In + t.kept.Out, "inputTokens": t.kept.In, "outputTokens": t.kept.Out}
	t.mu.Unlock()
	last := object{"totalTokens": in + out, "inputTokens": in, "outputTokens": out}
	for range 2 {
		t.s.tell("thread/tokenUsage/updated", object{
			"threadId": t.id, "turnId": turn,
			"tokenUsage": object{"total": total, "last": last, "modelContextWindow": 100000},
		})
	}
}

func (t *thread) terminals() []object {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []object{}
	for id, c := range t.commands {
		list = append(list, object{"itemId": c.item, "processId": id, "command": c.text, "cwd": t.kept.Dir})
	}
	return list
}

func (t *thread) terminate(process string) bool {
	t.mu.Lock()
	c := t.commands[process]
	t.mu.Unlock()
	if c == nil {
		return false
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	return true
}

// pause waits, and reports whether that was not cut short.
func pause(stop <-chan struct{}, d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
		return true
	case <-stop:
		return false
	}
}
