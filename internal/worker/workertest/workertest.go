// Package workertest is the conformance suite of worker drivers: the rules of
// the contract in package worker, driven from outside against a live agent.
// Every driver's tests call Run. It belongs to tests only.
package workertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Act is something that an agent is made to do by a prompt.
type Act string

// The acts. The agent shall do nothing else in that turn, and answer with some
// text unless the act says otherwise.
const (
	Remember   Act = "remember"    // keep the word plum in the session
	Recall     Act = "recall"      // answer with the word, if there is one
	Stream     Act = "stream"      // at least 200 pieces of text over at least two seconds
	Approval   Act = "approval"    // ask for leave to use a tool; say so when it was denied
	Question   Act = "question"    // ask a question with the options red and blue, and answer with the choice
	FreeAnswer Act = "free answer" // the same; an answer in own words is taken too
	FailLogin  Act = "fail login"  // fail as an agent that is not logged in
	FailQuota  Act = "fail quota"  // fail as one over its limit
	Huge       Act = "huge"        // print a line over the driver's cap, then answer
	Garbage    Act = "garbage"     // print lines that are no messages, binary ones too, then answer
	Flood      Act = "flood"       // print 20 MB on stderr, with "canary" in it, then answer
	Exit       Act = "exit"        // show some text, then end the process without a result
	Mute       Act = "mute"        // close the output in mid-turn and live on
	Deaf       Act = "deaf"        // show some text, then neither end nor obey
	Children   Act = "children"    // leave a process behind that has left the agent's session
)

// Acts returns every act.
func Acts() []Act { return slices.Clone(acts) }

var acts = []Act{
	Remember, Recall, Stream, Approval, Question, FreeAnswer, FailLogin, FailQuota,
	Huge, Garbage, Flood, Exit, Mute, Deaf, Children,
}

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
}

// limit bounds every single step; it is generous, because machines that test
// are slow.
const limit = 40 * time.Second

// rule is one test of the suite.
type rule struct {
	name  string
	needs []Act
	test  func(t *testing.T, k Kit)
}

var rules = []rule{
	{"TwoTurnsShareProcessAndSession", []Act{Remember, Recall}, twoTurns},
	{"TheAgentsIDIsKnownAfterATurn", []Act{Recall}, idKnown},
	{"AKilledWorkerIsResumed", []Act{Remember, Recall}, killAndResume},
	{"AClosedWorkerIsResumed", []Act{Remember, Recall}, closeAndResume},
	{"KilledInMidTurnIsACrashAndKeepsTheSession", []Act{Remember, Recall, Stream}, killInTurn},
	{"AnUnknownIDIsReportedAsSuch", nil, unknownID},
	{"SentComesBeforeText", []Act{Recall}, sentFirst},
	{"InterruptInTextEndsTheTurnOnly", []Act{Remember, Recall, Stream}, interruptText},
	{"InterruptAtOnceEndsTheTurnOnly", []Act{Recall, Stream}, interruptAtOnce},
	{"InterruptWithAnApprovalPending", []Act{Recall, Approval}, interruptApproval},
	{"AnApprovalIsAskedExactly", []Act{Approval}, approve},
	{"YesForTheSessionIsOursAlone", []Act{Approval}, approveSession},
	{"DeniedIsDenied", []Act{Approval, Recall}, deny},
	{"NobodyDecidedMeansDenied", []Act{Approval, Recall}, nobodyDecided},
	{"AQuestionIsAnswered", []Act{Question}, question},
	{"AQuestionTakesOwnWords", []Act{FreeAnswer}, freeAnswer},
	{"FailuresHaveTheirClass", []Act{FailLogin, FailQuota, Recall}, failures},
	{"AHugeLineDoesNotEndTheTurn", []Act{Huge, Recall}, survive(Huge)},
	{"GarbageDoesNotEndTheTurn", []Act{Garbage, Recall}, survive(Garbage)},
	{"StderrIsSurvivedAndNotShown", []Act{Flood, Recall}, survive(Flood)},
	{"AnExitInMidTurnIsACrash", []Act{Exit}, exit},
	{"ClosedOutputIsACrash", []Act{Mute}, mute},
	{"AnAgentThatDoesNotObeyIsEnded", []Act{Deaf}, deaf},
	{"CloseEndsARunningTurn", []Act{Stream}, closeInTurn},
	{"NoDescendantOutlivesTheWorker", []Act{Children}, children},
	{"ProbeTellsWhatTheAgentCan", nil, probe},
	{"NothingIsSteeredWhileNothingRuns", []Act{Recall}, steerIdle},
	{"ARunningTurnIsSteeredOrRefuses", []Act{Recall, Stream}, steerBusy},
	{"StrangeSettingsAreRefusedAndCostNothing", []Act{Remember, Recall}, set},
	{"AClosedWorkerDoesNothing", []Act{Recall}, closed},
}

// Run tests every rule that the kit's agent can be made to show.
func Run(t *testing.T, k Kit) {
	t.Helper()
	for _, a := range acts {
		if _, lacks := k.Lacks[a]; k.Say[a] == "" && !lacks {
			t.Errorf("the kit neither says how to %s nor that it cannot", a)
		}
	}
	for _, r := range rules {
		if slices.ContainsFunc(r.needs, func(a Act) bool { return k.Say[a] == "" }) {
			t.Logf("%s cannot be shown", r.name)
			continue
		}
		t.Run(r.name, func(t *testing.T) { r.test(t, k) })
	}
	if k.Left != nil {
		if left := k.Left(); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
	}
}

// open opens a worker that is closed at the end of the test.
func (k Kit) open(t *testing.T, d worker.Driver, id string) worker.Worker {
	t.Helper()
	w, err := k.tryOpen(t, d, id)
	if err != nil {
		t.Fatalf("open %q: %v", id, err)
	}
	return w
}

func (k Kit) tryOpen(t *testing.T, d worker.Driver, id string) (worker.Worker, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	w, err := d.Open(ctx, worker.Spec{Session: 1, Workspace: t.TempDir(), NativeID: id, Seed: seed(t)})
	if err == nil {
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	return w, err
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
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &turn{host: h, err: make(chan error, 1), stop: cancel}
	go func() { // ends with Prompt, which wait waits for
		r.err <- w.Prompt(ctx, Input(text), h)
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
	case <-time.After(limit):
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
	case <-time.After(limit):
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
