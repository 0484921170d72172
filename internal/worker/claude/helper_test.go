package claude

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"cligate/internal/chat"
	sim "cligate/internal/sim/claude"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// asAgent makes the test binary play the agent.
const asAgent = "PLAY_CLAUDE"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(sim.Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// world is a driver, the stand-in that it starts, and its state directory.
type world struct {
	*Driver
	dir   string // of the stand-in
	work  string // the workspace
	token string
	log   *safeBuffer
}

// newWorld returns a driver for the stand-in; change may alter its settings.
func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), work: t.TempDir(), token: "test-" + uuid.NewString(), log: &safeBuffer{}}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	starter, err := proc.New(proc.Config{Token: w.token, Grace: 300 * time.Millisecond, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := starter.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Command: self, Env: []string{asAgent + "=1", "SIM_CLAUDE_DIR=" + w.dir}}
	if change != nil {
		change(&cfg)
	}
	w.Driver = New(cfg, starter, log)
	return w
}

// open opens a worker for a fresh session, or for s.
func (w *world) open(t *testing.T, change func(*worker.Spec)) *Worker {
	t.Helper()
	s := worker.Spec{Session: 1, Workspace: w.work, Seed: uuid.NewString()}
	if change != nil {
		change(&s)
	}
	got, err := w.Open(t.Context(), s)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := got.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return got.(*Worker)
}

// journal returns the stand-in's journal, only the given kinds.
func (w *world) journal(t *testing.T, kinds ...string) []sim.Entry {
	t.Helper()
	all, err := sim.Journal(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	var some []sim.Entry
	for _, e := range all {
		if e.Kind == "overlap" {
			t.Errorf("the stand-in saw a breach: %+v", e)
		}
		for _, k := range kinds {
			if e.Kind == k {
				some = append(some, e)
			}
		}
	}
	return some
}

// audience is a host that remembers everything.
type audience struct {
	answer func(ctx context.Context, q chat.Question) (chat.Answer, error)

	mu     sync.Mutex
	events []chat.Event
	asked  []chat.Question
	news   chan struct{} // closed and replaced at each event
	over   bool          // nothing may come any more
	late   int
}

func newAudience() *audience { return &audience{news: make(chan struct{})} }

func (a *audience) Emit(_ context.Context, e chat.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		a.late++
	}
	a.events = append(a.events, e)
	close(a.news)
	a.news = make(chan struct{})
	return nil
}

func (a *audience) Ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q)
	close(a.news)
	a.news = make(chan struct{})
	a.mu.Unlock()
	if a.answer == nil {
		return chat.Answer{}, chat.E(chat.Internal, "nobody answers in this test", nil)
	}
	return a.answer(ctx, q)
}

// close ends the turn as the host sees it.
func (a *audience) close(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	t.Cleanup(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.late > 0 {
			t.Errorf("%d events after the end of the turn", a.late)
		}
	})
}

// await waits until ok holds.
func (a *audience) await(t *testing.T, what string, ok func(a *audience) bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		a.mu.Lock()
		good, news := ok(a), a.news
		a.mu.Unlock()
		if good {
			return
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("no %s in time; text %q", what, a.text())
		}
	}
}

func (a *audience) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.textLocked()
}

// textLocked is the answer; a closed block ends with a bar.
func (a *audience) textLocked() string {
	var sb strings.Builder
	for _, e := range a.events {
		switch e.Kind {
		case chat.EventText:
			sb.WriteString(e.Text)
		case chat.EventBreak:
			sb.WriteString("|")
		}
	}
	return sb.String()
}

func (a *audience) of(k chat.EventKind) []chat.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	var some []chat.Event
	for _, e := range a.events {
		if e.Kind == k {
			some = append(some, e)
		}
	}
	return some
}

// prompt runs a whole turn.
func prompt(t *testing.T, w worker.Worker, text string, answer func(context.Context, chat.Question) (chat.Answer, error)) (*audience, error) {
	t.Helper()
	a := newAudience()
	a.answer = answer
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := w.Prompt(ctx, input(text), a)
	a.close(t)
	return a, err
}

// begin starts a turn and returns how to cancel it and its result.
func begin(t *testing.T, w worker.Worker, text string, a *audience) (cancel context.CancelCauseFunc, result <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	res := make(chan error, 1)
	go func() { // ends with the turn
		err := w.Prompt(ctx, input(text), a)
		a.close(t)
		res <- err
	}()
	return cancel, res
}

func input(text string) chat.Input { return chat.Input{Pieces: []chat.Piece{{Text: text}}} }

// wantCode fails the test unless err has the code.
func wantCode(t *testing.T, err error, code chat.Code) {
	t.Helper()
	if chat.CodeOf(err) != code {
		t.Fatalf("error = %v, want code %q", err, code)
	}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
