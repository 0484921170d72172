// Package fake is a coding agent inside the test process: a worker.Driver that
// follows scripts. It keeps to the worker contract and is strict about its
// callers: it counts overlapping prompts and second processes of one session,
// which no test may accept.
//
// Without a script it remembers. "remember the word plum" is learnt, and "what
// was the word?" is answered with it, also by a later worker that resumes the
// same native id. Everything else is echoed. An Obedient agent does more: every
// act of the conformance suite, when the prompt asks for it.
package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

var _ worker.Driver = (*Driver)(nil)

// Driver is a scripted agent. Like claude it takes the seed as its id.
type Driver struct {
	mu      sync.Mutex
	scripts [][]Step
	memory  map[string][]string // native id → prompts
	plan    plan
	seen    record
	workers map[int64]*Worker // the last worker of each session
	can     worker.Abilities
	where   map[string]string // native id → workspace
	obeys   bool
}

// plan is what a test asked the next calls to do.
type plan struct {
	refuse  []error         // results of the next opens
	opening <-chan struct{} // opens wait for it
	closing <-chan struct{} // closes wait for it
	applied chat.Applied
	setErr  error
}

// record is what was seen.
type record struct {
	opens    []worker.Spec
	prompts  []string // of all sessions, in order
	overlaps []string
	live     map[int64]int
	most     int // live workers at once
}

// New makes an agent that remembers and echoes.
func New() *Driver {
	return &Driver{
		memory:  map[string][]string{},
		workers: map[int64]*Worker{},
		plan:    plan{applied: chat.AppliedNow},
		seen:    record{live: map[int64]int{}},
		can: worker.Abilities{
			worker.Resume, worker.Interrupt, worker.Steer, worker.Approvals, worker.Questions, worker.Models,
			worker.Modes, worker.Efforts,
		},
		where: map[string]string{},
	}
}

// Declare sets the agent's abilities. With worker.Shared its sessions of one
// workspace live in one process.
func (d *Driver) Declare(can ...worker.Ability) *Driver {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.can = can
	return d
}

// Script gives the next prompt that has no script yet its steps.
func (d *Driver) Script(steps ...Step) *Driver {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scripts = append(d.scripts, steps)
	return d
}

// Refuse makes the next open fail with err; calls queue up.
func (d *Driver) Refuse(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan.refuse = append(d.plan.refuse, err)
}

// Lose makes the agent forget a native id.
func (d *Driver) Lose(nativeID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.memory, nativeID)
}

// HoldOpens makes opens wait until ch is closed; nil ends that.
func (d *Driver) HoldOpens(ch <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan.opening = ch
}

// HoldCloses makes closes wait until ch is closed; nil ends that.
func (d *Driver) HoldCloses(ch <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan.closing = ch
}

// Applies sets what Worker.Set answers.
func (d *Driver) Applies(a chat.Applied, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan.applied, d.plan.setErr = a, err
}

// Opens returns what workers were opened with, in order.
func (d *Driver) Opens() []worker.Spec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen.opens)
}

// Prompts returns every prompt that reached the agent, in order.
func (d *Driver) Prompts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen.prompts)
}

// Overlaps describes every breach of the contract by the caller: overlapping
// prompts, a second live worker for one session. It must stay empty.
func (d *Driver) Overlaps() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen.overlaps)
}

// Live returns how many workers live now, and the most that ever did at once.
func (d *Driver) Live() (now, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.seen.live {
		now += n
	}
	return now, d.seen.most
}

// Worker returns the last worker of a session; nil when there was none.
func (d *Driver) Worker(session int64) *Worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.workers[session]
}

// Probe implements worker.Driver.
func (d *Driver) Probe(context.Context) (worker.Traits, error) {
	return worker.Traits{Agent: "fake", Version: "1", LoggedIn: true, Can: d.abilities()}, nil
}

func (d *Driver) abilities() worker.Abilities {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.can)
}

// Open implements worker.Driver.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	d.mu.Lock()
	d.seen.opens = append(d.seen.opens, s)
	var refused error
	if len(d.plan.refuse) > 0 {
		refused, d.plan.refuse = d.plan.refuse[0], d.plan.refuse[1:]
	}
	hold := d.plan.opening
	d.mu.Unlock()

	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if refused != nil {
		return nil, refused
	}
	return d.start(s)
}

// start finds or makes the native session and its worker.
func (d *Driver) start(s worker.Spec) (*Worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := s.NativeID
	_, known := d.memory[id]
	switch {
	case id != "" && !known:
		return nil, chat.E(chat.NoSession, "no conversation found with id "+id, nil)
	case id == "":
		id = s.Seed
		if _, used := d.memory[id]; used && !s.Begun {
			return nil, chat.E(chat.AgentError, "session id "+id+" is already in use", nil)
		}
	}
	if d.memory[id] == nil {
		origin, known := d.memory[s.Fork]
		if s.Fork != "" && !known {
			return nil, chat.E(chat.NoSession, "no conversation found with id "+s.Fork, nil)
		}
		d.memory[id] = append([]string{}, origin...)
	}
	if d.seen.live[s.Session] > 0 {
		d.overlap("session %d has a second process", s.Session)
	}
	d.seen.live[s.Session]++
	total := 0
	for _, n := range d.seen.live {
		total += n
	}
	d.seen.most = max(d.seen.most, total)
	d.where[id] = s.Workspace
	w := &Worker{
		driver: d, spec: s, id: id, now: chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort},
		process: d.process(s), done: make(chan struct{}),
	}
	d.workers[s.Session] = w
	return w, nil
}

// process is the name of the process that serves a session; d.mu is held.
func (d *Driver) process(s worker.Spec) string {
	if d.can.Has(worker.Shared) {
		for _, w := range d.workers {
			if w.spec.Workspace == s.Workspace && !w.dead() {
				return w.process
			}
		}
	}
	return fmt.Sprintf("fake-%d-%d", s.Session, len(d.seen.opens))
}

// overlap notes a breach; d.mu is held.
func (d *Driver) overlap(format string, args ...any) {
	d.seen.overlaps = append(d.seen.overlaps, fmt.Sprintf(format, args...))
}

// next returns the steps for a prompt and remembers the prompt.
func (d *Driver) next(id, prompt string) []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	steps := []Step{Text(recall(d.memory[id], prompt))}
	if d.obeys {
		steps = obey(d.memory[id], prompt)
	}
	if len(d.scripts) > 0 {
		steps, d.scripts = d.scripts[0], d.scripts[1:]
	}
	d.memory[id] = append(d.memory[id], prompt)
	d.seen.prompts = append(d.seen.prompts, prompt)
	return steps
}
