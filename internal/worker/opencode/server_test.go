package opencode

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

func TestAServerThatTakesAnybodyIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeOpen+"=1")
	if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir()}); chat.CodeOf(err) != chat.TooOld {
		t.Errorf("opened with %v", err)
	}
	if left := workertest.Left(w.token)(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestOnlyThisMachineIsListenedTo(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://127.0.0.1:4096": true, "http://localhost:1": true, "http://[::1]:4": true,
		"http://0.0.0.0:4096": false, "http://192.168.1.4:4096": false, "https://127.0.0.1:1": false,
		"http://127.0.0.1.evil.example:80": false, "http://": false, "": false, "http://127.0.0.1@evil.example/": false,
	} {
		if got := onLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// A broken event stream is opened again, and nothing is said twice or in
// another order.
func TestABrokenStreamLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	h := say(t, s, "say before\nbreakoff\nstream 60\nbreakoff\nsay after", nil)
	want := "before|"
	for i := range 60 {
		want += "tick " + strconv.Itoa(i) + " "
	}
	if want += "|after|"; h.Blocks() != want {
		t.Errorf("heard %q", h.Blocks())
	}
	h = say(t, s, "breakoff\nrun echo hi", workertest.Allow)
	if h.Text() != "ran: echo hi" || len(h.Asked()) != 1 {
		t.Errorf("%q, asked %+v", h.Text(), h.Asked())
	}
}

// The words about an earlier failure come after its end; they are not taken for
// the next turn's.
func TestALateErrorIsNotTheNextTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeSlow+"=1500ms")
	s := w.open(t, worker.Spec{})
	s.settings.Model = "mock/nope" // it was there when it was chosen
	if _, err := workertest.Prompt(t, s, "hello", nil); chat.CodeOf(err) != chat.ModelUnknown || strings.Contains(chat.DetailOf(err), "anonymous") {
		t.Errorf("failed with %v", err)
	}
	s.settings.Model = "mock/small"
	if h := say(t, s, "model", nil); !strings.Contains(h.Text(), "small") {
		t.Errorf("said %q", h.Text())
	}
}

func TestATurnIsStoppedBeforeItHasBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeSlow+"=700ms")
	s := w.open(t, worker.Spec{})
	stop, result := workertest.Begin(t, s, "stream 300", workertest.NewHost(nil))
	because := errors.New("a person said stop")
	stop(because)
	if err := <-result; !errors.Is(err, because) {
		t.Errorf("ended with %v", err)
	}
	if h := say(t, s, "say next", nil); h.Text() != "next" { // a breach, if the first one still ran
		t.Errorf("said %q", h.Text())
	}
}

func TestACommandOfTheAgentsOwnIsCarriedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	if h := say(t, s, "/review the last change", nil); h.Text() != "reviewed the last change" {
		t.Errorf("said %q", h.Text())
	}
	if h := say(t, s, "/compact", nil); h.Text() != "" || len(h.Of(chat.EventNotice)) != 1 {
		t.Errorf("said %q, told %v", h.Text(), h.Of(chat.EventNotice))
	}
	if h := say(t, s, "/skilled x", nil); !strings.Contains(h.Text(), "not understand") { // a text like any other
		t.Errorf("said %q", h.Text())
	}
}

func TestThePlanIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := say(t, w.open(t, worker.Spec{}), "todo\nsay done", nil)
	p := h.Of(chat.EventPlan)
	if len(p) != 1 || len(p[0].Plan) != 2 || !p[0].Plan[0].Done || p[0].Plan[1].Text != "leap" {
		t.Errorf("shown %+v", p)
	}
}

func TestFailedCallsAreNotRepeatedForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	h, err := workertest.Prompt(t, s, "fail 529", nil)
	if chat.CodeOf(err) != chat.Overloaded || !strings.Contains(chat.DetailOf(err), "overloaded") {
		t.Errorf("failed with %v", err)
	}
	if n := len(h.Of(chat.EventRetry)); n != w.cfg.Retries+1 {
		t.Errorf("told %d times", n)
	}
	say(t, s, "say next", nil)
}

// Many sessions begin and leave at once; one server serves them, and none is
// left.
func TestSessionsComeAndGoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%4 == 3 {
				time.AfterFunc(time.Duration(i)*10*time.Millisecond, cancel)
			}
			s, err := w.Open(ctx, worker.Spec{Session: int64(i), Workspace: dir})
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			if err := s.Prompt(t.Context(), workertest.Input("say hi"), workertest.NewHost(nil)); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := workertest.Left(w.token)(); len(left) > 0 || len(w.pool.tenants) > 0 {
		t.Errorf("left: %q, %d servers", left, len(w.pool.tenants))
	}
}

func TestThePasswordIsNeverLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log lockedBuffer
	w.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var password string
	start := w.start
	w.start = func(ctx context.Context, s proc.Spec) (process, error) {
		for _, v := range s.Env {
			if p, ok := strings.CutPrefix(v, envPassword+"="); ok {
				password = p
			}
		}
		return start(ctx, s)
	}
	s := w.open(t, worker.Spec{})
	_, _ = workertest.Prompt(t, s, "garbage\nsay x\ndie", nil)
	if len(password) < 20 || strings.Contains(log.String(), password) {
		t.Errorf("password %q in the log:\n%s", password, log.String())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestAMissingAgentIsToldAsSuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Command = "/no/such/opencode"
	if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir()}); chat.CodeOf(err) != chat.NotInstalled {
		t.Errorf("opened with %v", err)
	}
	tr, err := w.Probe(t.Context())
	if chat.CodeOf(err) != chat.NotInstalled || tr.Hint == "" {
		t.Errorf("probed %+v, %v", tr, err)
	}
	w.cfg.Command = "/bin/cat"
	if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir()}); err == nil {
		t.Error("a program that is no agent was opened")
	}
}
