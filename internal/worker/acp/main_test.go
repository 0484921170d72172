package acp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/worker"
	"cligate/internal/worker/demo"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

// The test binary is also the agents: the demo agent, and a rough one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "demo-agent" {
		if err := demo.Main(context.Background(), os.Stdin, os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "rough-agent" {
		roughAgent(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

// quickExit takes a second from the end of each process of a race build.
const quickExit = "GORACE=atexit_sleep_ms=0"

// self is a configuration that runs this test binary as an agent.
func self(t *testing.T, name string) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := Preset(name)
	c.Name, c.Command, c.Args = name, exe, []string{name + "-agent", t.TempDir()}
	c.Env = []string{quickExit}
	c.Grace = 2 * time.Second
	c.MaxLine = 1 << 20
	if name == "rough" {
		c.Can = worker.Abilities{worker.Questions}
	}
	return c
}

// starter returns a process starter that ends with the test, and its token.
func starter(t *testing.T) (*proc.Starter, string) {
	t.Helper()
	token := fmt.Sprintf("acp-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	s, err := proc.New(proc.Config{Token: token, Grace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, token
}

// kit is a conformance kit for an agent of this binary.
func kit(t *testing.T, name string) workertest.Kit {
	t.Helper()
	s, token := starter(t)
	cfg := self(t, name)
	return workertest.Kit{
		Driver: func(t *testing.T) worker.Driver {
			t.Helper()
			d, err := New(cfg, s, testLog(t))
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Unknown: "01a22c9f-0000-7382-8432-d27f47dca111",
		Left:    workertest.Left(token),
	}
}

// testLog writes to the test's log where that was asked for.
func testLog(t *testing.T) *slog.Logger {
	t.Helper()
	if os.Getenv("ACP_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestDemoAgentConforms(t *testing.T) {
	k := kit(t, "demo")
	k.Say = map[workertest.Act]string{
		workertest.Remember:   "remember the word plum",
		workertest.Recall:     "what was the word?",
		workertest.Stream:     "stream 400",
		workertest.Approval:   "ask",
		workertest.Question:   "question which one?",
		workertest.FreeAnswer: "question which one?",
		workertest.FailLogin:  "fail 401 unauthorized",
		workertest.FailQuota:  "fail 429 rate limit",
		workertest.Exit:       "crash",
	}
	k.Lacks = map[workertest.Act]string{}
	for _, a := range []workertest.Act{
		workertest.Huge, workertest.Garbage, workertest.Flood, workertest.Mute, workertest.Deaf, workertest.Children,
	} {
		k.Lacks[a] = "the demo agent behaves"
	}
	workertest.Run(t, k)
}

func TestRoughAgentConforms(t *testing.T) {
	k := kit(t, "rough")
	k.Lacks = map[workertest.Act]string{}
	k.Say = map[workertest.Act]string{}
	for _, a := range workertest.Acts() {
		k.Say[a] = string(a)
	}
	workertest.Run(t, k)
}
