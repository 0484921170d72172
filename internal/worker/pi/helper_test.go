package pi

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"cligate/internal/worker"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

// The test binary is also the agent's stand-in.
func TestMain(m *testing.M) {
	if os.Getenv(fakeOn) != "" {
		fakeMain(os.Args[1:])
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a driver with a stand-in for the agent.
type world struct {
	*Driver
	token, home string
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{token: fmt.Sprintf("pi-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")), home: t.TempDir()}
	s, err := proc.New(proc.Config{Token: w.token, Grace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("PI_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(filepath.Join(w.home, "breaches")); err == nil {
			t.Errorf("the driver broke the agent's rules:\n%s", b)
		}
	})
	cfg := Config{
		Command: exe, Grace: 2 * time.Second, MaxLine: 1 << 20,
		Env: append([]string{fakeOn + "=" + w.home, "HOME=" + w.home, "GORACE=atexit_sleep_ms=0"}, env...),
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	w.Driver = New(cfg, s, log)
	return w
}

// open opens a session that ends with the test.
func (w *world) open(t *testing.T, s worker.Spec) *Worker {
	t.Helper()
	if s.Workspace == "" {
		s.Workspace = t.TempDir()
	}
	if s.Seed == "" {
		s.Seed = uuid.NewString()
	}
	one, err := w.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = one.Close() })
	return one.(*Worker)
}

func say(t *testing.T, w worker.Worker, text string, answer workertest.Answer) *workertest.Host {
	t.Helper()
	h, err := workertest.Prompt(t, w, text, answer)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h
}
