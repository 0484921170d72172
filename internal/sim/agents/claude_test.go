package agents

import (
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	sim "cligate/internal/sim/claude"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/proc"
)

// asClaude makes the test binary play the claude CLI.
const asClaude = "PLAY_CLAUDE"

func TestMain(m *testing.M) {
	if os.Getenv(asClaude) != "" {
		os.Exit(sim.Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// newClaude returns a driver for an agent that gets env and a mark.
func newClaude(t *testing.T, command string, env ...string) subject {
	t.Helper()
	log := slog.New(slog.NewTextHandler(logWriter(t), &slog.HandlerOptions{Level: slog.LevelDebug}))
	starter, err := proc.New(proc.Config{Token: "agents-" + uuid.NewString(), Grace: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := starter.Close(); err != nil {
			t.Error(err)
		}
	})
	mark := "TEST_MARK=" + uuid.NewString()
	return subject{driver: claude.New(claude.Config{Command: command, Env: append(env, mark)}, starter, log), mark: mark}
}

func logWriter(t *testing.T) io.Writer {
	t.Helper()
	if testing.Verbose() {
		return t.Output()
	}
	return io.Discard
}

func TestTheStandInIsCancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cancelAtAnyMoment(t, newClaude(t, self, asClaude+"=1", "SIM_CLAUDE_DIR="+t.TempDir()), 60)
}

func TestTheStandInHoldsTheConversation(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	converse(t, newClaude(t, self, asClaude+"=1", "SIM_CLAUDE_DIR="+dir))
	entries, err := sim.Journal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind == sim.KindOverlap {
			t.Errorf("a breach: %+v", e)
		}
	}
}
