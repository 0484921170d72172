package demo

import (
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

func TestTheDemoAgentShowsEveryActThatItsProtocolHas(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	token := "demo-" + uuid.NewString()
	s, err := proc.New(proc.Config{Token: token, Grace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, _ := acp.Preset("demo")
	cfg.Command, cfg.Args = exe, []string{"demo-agent", t.TempDir()}
	cfg.Env = append(cfg.Env, "GORACE=atexit_sleep_ms=0") // takes a second from the end of each process of a race build
	k := workertest.Kit{
		Driver: func(t *testing.T) worker.Driver {
			t.Helper()
			d, err := acp.New(cfg, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Unknown: "01a22c9f-0000-7382-8432-d27f47dca111",
		Left:    workertest.Left(token),
		Other:   chat.Settings{Model: "demo-small", Mode: "plan", Effort: "high"},
		Lacks:   map[workertest.Act]string{},
		Say: map[workertest.Act]string{
			workertest.Remember:     "remember the word plum",
			workertest.Recall:       "what was the word?",
			workertest.Stream:       "stream 200",
			workertest.Approval:     "ask",
			workertest.Question:     "question which one?",
			workertest.FreeAnswer:   "question which one?",
			workertest.Questions:    "questions",
			workertest.Plan:         "plan",
			workertest.Think:        "think",
			workertest.Busy:         "work 2",
			workertest.LongTool:     "work 61",
			workertest.AgentTurn:    "later 1",
			workertest.Model:        "model",
			workertest.Seen:         "seen",
			workertest.Fixed:        "echo one",
			workertest.Compact:      "/compact",
			workertest.Exit:         "crash",
			workertest.FailLogin:    "fail login",
			workertest.FailQuota:    "fail quota",
			workertest.FailOverload: "fail overload",
			workertest.FailModel:    "fail model",
			workertest.FailContext:  "fail context",
			workertest.Cut:          "fail network",
		},
	}
	for why, acts := range map[string][]workertest.Act{
		"the protocol does not carry it": {workertest.Nudge, workertest.Reason, workertest.Withdraw},
		"one prompt does one thing":      {workertest.Halfway, workertest.Spend},
		"the demo agent behaves": {
			workertest.Huge, workertest.Garbage, workertest.Flood, workertest.Mute, workertest.Deaf, workertest.Children,
		},
	} {
		for _, a := range acts {
			k.Lacks[a] = why
		}
	}
	workertest.Run(t, k)
}
