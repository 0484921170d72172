package acp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
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
	if len(os.Args) == 3 && profiles[strings.TrimSuffix(os.Args[1], "-agent")].caps != "" {
		playAgent(os.Args[2], strings.TrimSuffix(os.Args[1], "-agent"))
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
	dir := t.TempDir()
	c.Name, c.Command, c.Args = name, exe, []string{name + "-agent", dir}
	c.Env = []string{quickExit, "HOME=" + dir, "XDG_CACHE_HOME=" + dir}
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

// TestEveryProfileConforms runs the suite against the agents as they are known
// to be, by what is known about them.
func TestEveryProfileConforms(t *testing.T) {
	none := "this agent does not do that"
	lacks := map[string][]workertest.Act{
		"gemini": {
			workertest.Question, workertest.FreeAnswer, workertest.Questions, workertest.Compact, workertest.AgentTurn,
			workertest.Plan, workertest.Reason, workertest.Withdraw, workertest.Nudge, workertest.Spend,
		},
		"qwen":    {workertest.Compact, workertest.Plan, workertest.Reason, workertest.Withdraw, workertest.FailContext},
		"copilot": {workertest.Question, workertest.FreeAnswer, workertest.Questions, workertest.AgentTurn, workertest.Plan, workertest.Reason, workertest.Withdraw, workertest.Nudge, workertest.Model, workertest.Spend},
	}
	for name, not := range lacks {
		t.Run(name, func(t *testing.T) {
			k := kit(t, name)
			k.Lacks, k.Say = map[workertest.Act]string{}, map[workertest.Act]string{}
			for _, a := range workertest.Acts() {
				if slices.Contains(not, a) {
					k.Lacks[a] = none
				} else {
					k.Say[a] = string(a)
				}
			}
			if k.Say[workertest.Nudge] != "" {
				k.Say[workertest.Nudge] = "nudged"
			}
			k.Other = chat.Settings{Mode: "plan"}
			if len(profiles[name].models) > 0 {
				k.Other.Model = "small"
			}
			workertest.Run(t, k)
		})
	}
}

func TestRoughAgentConforms(t *testing.T) {
	k := kit(t, "rough")
	k.Lacks = roughLacks
	k.Say = map[workertest.Act]string{}
	for _, a := range workertest.Acts() {
		if roughLacks[a] == "" {
			k.Say[a] = string(a)
		}
	}
	workertest.Run(t, k)
}
