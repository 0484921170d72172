package claude

import (
	"bytes"
	"log/slog"
	"os"
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
	cfg := Config{Command: self, Env: []string{asAgent + "=1", "CLAUDE_CONFIG_DIR=" + w.dir}}
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
		if e.Kind == sim.KindOverlap {
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
