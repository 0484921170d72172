package codex

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// say runs a turn that must succeed and returns its answer.
func say(t *testing.T, w *Worker, text string) string {
	t.Helper()
	h, err := workertest.Prompt(t, w, text, workertest.Allow)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h.Text()
}

func TestWhatCannotBeResumedHasNoID(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, nil)
	if id := w.NativeID(); id != "" {
		t.Errorf("before its first turn the session is %q", id)
	}
	h, err := workertest.Prompt(t, w, "say hello", nil)
	if err != nil {
		t.Fatal(err)
	}
	if told := h.Of(chat.EventSession); len(told) != 1 || told[0].Text != w.NativeID() || w.NativeID() == "" {
		t.Errorf("told %+v, has %q", told, w.NativeID())
	}
	if again, err := workertest.Prompt(t, w, "say hello", nil); err != nil || len(again.Of(chat.EventSession)) > 0 {
		t.Errorf("told again: %v", err)
	}
}

func TestSessionsOpenedAtOnceShareOneProcess(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	var wg sync.WaitGroup
	all := make([]*Worker, 5)
	for i := range all {
		wg.Go(func() { all[i] = wd.open(t, func(s *worker.Spec) { s.Session = int64(i + 1) }) })
	}
	wg.Wait()
	for _, w := range all[1:] {
		if w.Process() != all[0].Process() {
			t.Errorf("processes %s and %s", all[0].Process(), w.Process())
		}
	}
	for _, w := range all {
		wg.Go(func() { _ = w.Close() })
	}
	wg.Wait()
	if left := workertest.Left(wd.token)(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	say(t, wd.open(t, nil), "say hello") // and a new one starts
}

func TestASessionInAnotherProcessIsBusyNotLost(t *testing.T) {
	t.Parallel()
	one := newWorld(t, nil)
	two := newWorld(t, func(c *Config) { c.Env = []string{asAgent + "=1", "CODEX_HOME=" + one.dir} })
	a, b := one.open(t, nil), one.open(t, nil)
	say(t, a, "remember the word plum")
	say(t, b, "say hello")
	spec := worker.Spec{Session: 1, Workspace: one.work, NativeID: a.NativeID()}
	_, err := two.Open(t.Context(), spec)
	wantCode(t, err, chat.Unavailable)
	if got := chat.DetailOf(err); got != i18n.T(i18n.Default, "codex.in_use") {
		t.Errorf("says %q", got)
	}
	// Let go here, it can go on there, although its process lives on.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	there, err := two.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if got := say(t, there.(*Worker), "what was the word?"); !strings.Contains(got, "plum") {
		t.Errorf("the session forgot: %q", got)
	}
	say(t, b, "say hello")
}

func TestASessionIsOpenedAgainInItsProcess(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	a, b := wd.open(t, nil), wd.open(t, nil)
	say(t, a, "remember the word plum")
	id, process := a.NativeID(), b.Process()
	for range 3 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = wd.open(t, func(s *worker.Spec) { s.NativeID = id })
		if a.Process() != process {
			t.Errorf("process %s, want %s", a.Process(), process)
		}
	}
	if got := say(t, a, "what was the word?"); !strings.Contains(got, "plum") {
		t.Errorf("the session forgot: %q", got)
	}
}

func TestAStopEndsItsOwnCommandsOnly(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	yolo := func(s *worker.Spec) { s.Mode = modeYolo }
	a, b := wd.open(t, yolo), wd.open(t, yolo)
	running := func(what string) bool {
		return slices.ContainsFunc(workertest.Left(wd.token)(), func(s string) bool { return strings.Contains(s, what) })
	}
	stop, ended := workertest.Begin(t, a, "run sleep 301", workertest.NewHost(nil))
	stopOther, otherEnded := workertest.Begin(t, b, "run sleep 302", workertest.NewHost(nil))
	await(t, func() bool { return running("sleep 301") && running("sleep 302") })
	stop(chat.E(chat.Stopped, "", nil))
	wantCode(t, <-ended, chat.Stopped)
	if running("sleep 301") {
		t.Error("the stopped command lives")
	}
	if !running("sleep 302") {
		t.Error("another session's command is gone")
	}
	stopOther(chat.E(chat.Stopped, "", nil))
	wantCode(t, <-otherEnded, chat.Stopped)
	if running("sleep 302") {
		t.Error("the stopped command lives")
	}
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatal("it does not come")
		}
	}
}

func TestAnAgentThatDoesNotObeyIsLeftToThoseWhoUseIt(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, func(c *Config) { c.Grace = 300 * time.Millisecond })
	deaf, other := wd.open(t, nil), wd.open(t, nil)
	h := workertest.NewHost(nil)
	stop, ended := workertest.Begin(t, deaf, "say before\ndeaf", h)
	h.AwaitText(t, "before")
	good := workertest.NewHost(nil)
	_, otherEnded := workertest.Begin(t, other, "stream 200 10", good)
	good.AwaitText(t, "tick")
	stop(chat.E(chat.Stopped, "", nil))
	wantCode(t, <-ended, chat.Stopped)
	<-deaf.Done()
	// A new session gets a process that obeys, while the other turn goes on.
	fresh := wd.open(t, nil)
	if fresh.Process() == other.Process() {
		t.Error("a new session uses a process that does not obey")
	}
	say(t, fresh, "say hello")
	if err := <-otherEnded; err != nil {
		t.Errorf("the other turn ended with %v", err)
	}
}

func TestSettingsGoWithTheNextTurn(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, nil)
	for _, c := range []struct {
		set  chat.Settings
		want string
	}{
		{chat.Settings{}, "model: sim-large effort:  untrusted workspace-write"},
		{chat.Settings{Mode: "read-only"}, "model: sim-large effort:  on-request read-only"},
		{chat.Settings{Mode: "auto", Effort: "high"}, "model: sim-large effort: high on-request workspace-write"},
		{chat.Settings{Mode: "yolo", Model: "sim-small"}, "model: sim-small effort: high never danger-full-access"},
		{chat.Settings{Mode: "plan"}, "model: sim-small effort: high on-request read-only"},
		{chat.Settings{Mode: "ask"}, "model: sim-small effort: high untrusted workspace-write"},
	} {
		applied, err := w.Set(t.Context(), c.set)
		if err != nil || c.set != (chat.Settings{}) && applied != chat.AppliedNext {
			t.Fatalf("%+v: %q, %v", c.set, applied, err)
		}
		if got := say(t, w, "model"); got != c.want {
			t.Errorf("after %+v %q, want %q", c.set, got, c.want)
		}
	}
	_, err := w.Set(t.Context(), chat.Settings{Effort: "gigantic"})
	wantCode(t, err, chat.Invalid)
	_, err = w.Set(t.Context(), chat.Settings{Effort: "ultra"})
	wantCode(t, err, chat.Invalid)
	id := w.NativeID()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again := wd.open(t, func(s *worker.Spec) { s.NativeID, s.Mode = id, "yolo" })
	if got := say(t, again, "model"); !strings.Contains(got, "never danger-full-access") {
		t.Errorf("after a resume in another mode %q", got)
	}
}

func TestAnAcceptedPlanLeadsBackToTheModeBefore(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, func(s *worker.Spec) { s.Mode = "auto" })
	if _, err := w.Set(t.Context(), chat.Settings{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	h, err := workertest.Prompt(t, w, "plan", workertest.Allow)
	if err != nil || len(h.Of(chat.EventSent)) != 1 {
		t.Fatalf("%v, sent %d times", err, len(h.Of(chat.EventSent)))
	}
	if q := h.Asked(); len(q) != 1 || q[0].Detail != "1. look\n2. leap\n" {
		t.Errorf("asked %+v", q)
	}
	if mode := w.Info().Mode; mode != "auto" {
		t.Errorf("mode %q", mode)
	}
	if _, err := w.Set(t.Context(), chat.Settings{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	h, err = workertest.Prompt(t, w, "plan", workertest.Say(chat.Answer{Effect: chat.EffectDeny, Text: "say smaller steps"}))
	if err != nil || h.Text() != "smaller steps" || w.Info().Mode != "plan" {
		t.Errorf("refused with words: %q, %v, mode %q", h.Text(), err, w.Info().Mode)
	}
}

func TestTheProbeTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	tr, err := wd.Probe(t.Context())
	if err != nil || !tr.LoggedIn || tr.Version != "0.171.0" || tr.Hint != "" {
		t.Errorf("%+v, %v", tr, err)
	}
	if err := os.WriteFile(filepath.Join(wd.dir, "logged-out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if tr, err = wd.Probe(t.Context()); err != nil || tr.LoggedIn || tr.Hint == "" {
		t.Errorf("logged out: %+v, %v", tr, err)
	}
	if left := workertest.Left(wd.token)(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	none := newWorld(t, func(c *Config) { c.Command = "/no/such/codex" })
	tr, err = none.Probe(t.Context())
	wantCode(t, err, chat.NotInstalled)
	if tr.Hint == "" {
		t.Error("no hint")
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Args = []string{"--no-such-option"} },
		func(c *Config) { c.Env = append(c.Env, "SIM_CODEX_VERSION=0.98.0") },
	} {
		old := newWorld(t, change)
		_, err = old.Open(t.Context(), worker.Spec{Session: 1, Workspace: old.work})
		wantCode(t, err, chat.TooOld)
		if d := chat.DetailOf(err); !strings.Contains(d, oldest) {
			t.Errorf("detail %q", d)
		}
	}
}

func TestAnOpenThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(chat.E(chat.Stopped, "", nil))
	_, err := wd.Open(ctx, worker.Spec{Session: 1, Workspace: wd.work})
	wantCode(t, err, chat.Stopped)
	for _, s := range []worker.Spec{
		{Workspace: "relative"}, {Workspace: "/no/such/dir"}, {Workspace: wd.work, NativeID: "nope"}, {Workspace: wd.work, Mode: "wild"},
	} {
		_, err := wd.Open(t.Context(), s)
		wantCode(t, err, chat.Invalid)
	}
	if left := workertest.Left(wd.token)(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
