// Package workertest is the conformance suite of worker drivers: the rules of
// the contract in package worker, driven from outside against a live agent.
// Every driver's tests call Run. It belongs to tests only.
package workertest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Kit is one driver and its agent, as the suite sees them.
type Kit struct {
	// Driver makes a driver whose processes end with the test.
	Driver func(t *testing.T) worker.Driver
	// Say is the prompt for each act.
	Say map[Act]string
	// Lacks are the acts that this agent cannot be made to do, and why. Each
	// act is in Say or here.
	Lacks map[Act]string
	// NoResume says that a session of this agent does not survive its process.
	NoResume bool
	// Unknown is a well-formed id of a session that never was.
	Unknown string
	// Kill ends a worker's process as a power user or the system might; nil =
	// its runner is killed.
	Kill func(w worker.Worker)
	// Left returns what is left of the processes that the driver started.
	Left func() []string
	// Mode is the permission mode that an act needs, where it needs one.
	Mode map[Act]string
	// Other is another model, mode and effort to change to; what is empty is
	// not changed.
	Other chat.Settings
	// Workspace makes a folder to work in; nil = the test's own.
	Workspace func(t *testing.T) string

	dir     string           // the workspace of the rule that runs
	can     worker.Abilities // what the driver declares
	version string
}

// Report is what a run of the suite showed of an agent.
type Report struct {
	Version string            `json:"version"`         // as the agent says itself
	Shown   []string          `json:"shown,omitempty"` // rules that were tested and held
	Hidden  map[string]string `json:"hidden,omitempty"`
	Failed  []string          `json:"-"` // rules that were tested and did not hold
}

// Run tests every rule that the kit's agent can be made to show. What cannot be
// shown it logs and reports, with the reason.
func Run(t *testing.T, k Kit) Report {
	t.Helper()
	report := Report{Hidden: map[string]string{}}
	for _, a := range k.unnamed() {
		t.Errorf("the kit neither says how to %s nor why it cannot", a)
	}
	k = k.look(t)
	report.Version = k.version
	var hidden []string
	for _, r := range rules {
		switch why, ran, held := k.try(t, r); {
		case why != "":
			hidden = append(hidden, r.name+" ("+why+")")
			report.Hidden[r.name] = why
		case held:
			report.Shown = append(report.Shown, r.name)
		case ran:
			report.Failed = append(report.Failed, r.name)
		}
	}
	if len(hidden) > 0 {
		t.Logf("not shown: %s", strings.Join(hidden, ", "))
	}
	k.wantNoProcess(t)
	return report
}

// Rules returns the names of the suite's rules.
func Rules() (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// wantNoProcess checks that nothing is left of what the driver started.
func (k Kit) wantNoProcess(t *testing.T) {
	t.Helper()
	var left []string
	if !eventually(min(2*time.Second, patience()), func() bool { left = k.left(); return len(left) == 0 }) {
		t.Errorf("processes are left: %q", left)
	}
}

// try runs a rule, or says why it cannot be shown. A rule that the test's
// command line leaves out has not run.
func (k Kit) try(t *testing.T, r rule) (why string, ran, held bool) {
	t.Helper()
	if why := k.cannot(r); why != "" {
		return why, false, false
	}
	held = t.Run(r.name, func(t *testing.T) {
		ran = true
		wantNoGoroutine(t)
		t.Cleanup(func() { k.wantNoProcess(t) }) // when everything is closed
		k.dir = k.workspace(t)
		r.test(t, k)
	})
	return "", ran, ran && held
}

// look lets the driver say what it can. Where that fails, a rule says so.
func (k Kit) look(t *testing.T) Kit {
	t.Helper()
	if tr, err := k.Driver(t).Probe(t.Context()); err == nil {
		k.can, k.version = tr.Can, tr.Version
	}
	return k
}

// unnamed are the acts of which the kit says neither how they are done nor why
// they cannot be.
func (k Kit) unnamed() (some []Act) {
	for _, a := range acts {
		if k.Say[a] == "" && k.Lacks[a] == "" {
			some = append(some, a)
		}
	}
	return some
}

// cannot is why a rule cannot be shown, empty when it can.
func (k Kit) cannot(r rule) string {
	if r.can != "" && !k.can.Has(r.can) {
		return "the agent does not declare " + string(r.can)
	}
	for _, a := range r.needs {
		if k.Say[a] == "" {
			return string(a) + ": " + k.Lacks[a]
		}
	}
	return ""
}

func (k Kit) workspace(t *testing.T) string {
	t.Helper()
	if k.Workspace != nil {
		return k.Workspace(t)
	}
	return t.TempDir()
}

// open opens a worker that is closed at the end of the test.
func (k Kit) open(t *testing.T, d worker.Driver, id string) worker.Worker {
	t.Helper()
	return k.openSpec(t, d, worker.Spec{NativeID: id})
}

// openSpec is open with more wishes; what every open needs is filled in.
func (k Kit) openSpec(t *testing.T, d worker.Driver, s worker.Spec) worker.Worker {
	t.Helper()
	w, err := k.tryOpen(t, d, s)
	if err != nil {
		t.Fatalf("open %q: %v", s.NativeID, err)
	}
	return w
}

func (k Kit) tryOpen(t *testing.T, d worker.Driver, s worker.Spec) (worker.Worker, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()
	s.Session = cmp.Or(s.Session, 1)
	s.Workspace = cmp.Or(s.Workspace, k.dir)
	s.Seed = cmp.Or(s.Seed, uuid.NewString())
	w, err := d.Open(ctx, s)
	if err == nil {
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	return w, err
}

// patience bounds every single step; it is generous, because machines that
// test are slow. Who expects the suite to fail shortens it by the environment.
func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("WORKERTEST_PATIENCE")); err == nil {
		return d
	}
	return 40 * time.Second
}

// turn is a prompt that runs.
type turn struct {
	host *Host
	err  chan error
	stop context.CancelCauseFunc
}

// prompt starts a turn.
func prompt(t *testing.T, w worker.Worker, text string, h *Host) *turn {
	t.Helper()
	return promptInput(t, w, Input(text), h)
}

func promptInput(t *testing.T, w worker.Worker, in chat.Input, h *Host) *turn {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &turn{host: h, err: make(chan error, 1), stop: cancel}
	t.Cleanup(func() {
		if n := h.Late(); n > 0 {
			t.Errorf("the host was used %d times after its turn", n)
		}
	})
	go func() { // ends with Prompt, which wait waits for
		r.err <- w.Prompt(ctx, in, h)
	}()
	return r
}

// wait waits for the end of the turn.
func (r *turn) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.err:
		r.host.end()
		return err
	case <-time.After(patience()):
		t.Fatalf("the turn does not end; so far: %s", r.host.story())
		return nil
	}
}

// say runs a turn that must succeed and returns its answer.
func say(t *testing.T, w worker.Worker, text string) string {
	t.Helper()
	h := NewHost(nil)
	if err := prompt(t, w, text, h).wait(t); err != nil {
		t.Fatalf("prompt %q: %v; so far: %s", text, err, h.story())
	}
	return h.Text()
}

// wantWord checks that the session remembers.
func (k Kit) wantWord(t *testing.T, w worker.Worker) {
	t.Helper()
	if got := say(t, w, k.Say[Recall]); !strings.Contains(got, "plum") {
		t.Errorf("the session forgot the word: %q", got)
	}
}

// wantDone checks that the process goes away.
func wantDone(t *testing.T, w worker.Worker) {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(patience()):
		t.Fatal("the process lives on")
	}
}

func wantAlive(t *testing.T, w worker.Worker) {
	t.Helper()
	select {
	case <-w.Done():
		t.Error("the process is gone")
	default:
	}
}

func wantCode(t *testing.T, err error, code chat.Code) {
	t.Helper()
	if got := chat.CodeOf(err); got != code {
		t.Errorf("error code %q, want %q: %v", got, code, err)
	}
}

var errStopped = chat.E(chat.Stopped, "", errors.New("a person said stop"))
