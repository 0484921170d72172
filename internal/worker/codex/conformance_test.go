package codex

import (
	"testing"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheDriverConforms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxLine = 1 << 20 })
	workertest.Run(t, workertest.Kit{
		Driver:  func(*testing.T) worker.Driver { return w.Driver },
		Unknown: uuid.NewString(),
		Left:    workertest.Left(w.token),
		Say: map[workertest.Act]string{
			workertest.Remember:     "remember the word plum",
			workertest.Recall:       "what was the word?",
			workertest.Stream:       "stream 300 10",
			workertest.Spend:        "say one\nstream 300 10",
			workertest.Halfway:      "remember the word plum\nstream 300 10",
			workertest.Approval:     "run echo hello",
			workertest.Reason:       "run echo hello",
			workertest.Withdraw:     "withdraw",
			workertest.Question:     "ask",
			workertest.FreeAnswer:   "ask",
			workertest.Plan:         "plan",
			workertest.FailLogin:    "fail 401",
			workertest.FailQuota:    "fail 429 quota",
			workertest.FailOverload: "fail 529",
			workertest.FailModel:    "fail 404",
			workertest.FailContext:  "fail 400 context",
			workertest.Cut:          "cut",
			workertest.Huge:         "bigline 60\nsay after",
			workertest.Garbage:      "garbage\nsay after",
			workertest.Flood:        "stderr 20000 canary\nsay after",
			workertest.Exit:         "say before\ndie 1",
			workertest.Mute:         "say before\nmute",
			workertest.Deaf:         "say before\ndeaf",
			workertest.Children:     "child",
			workertest.Busy:         "run sleep 2\nsay that took long",
			workertest.LongTool:     "run sleep 90\nsay that took long",
			workertest.Nudge:        "say nudged",
			workertest.Model:        "model",
			workertest.Seen:         "seen",
			workertest.Think:        "think deep\nsay thought",
			workertest.Fixed:        "say always the same",
			workertest.Compact:      "/compact",
		},
		Lacks: map[workertest.Act]string{
			workertest.Questions: "each of its questions takes one answer",
			workertest.AgentTurn: "only a goal that the model sets itself makes it go on by itself",
		},
		Mode: map[workertest.Act]string{
			workertest.Question: "plan", workertest.FreeAnswer: "plan", workertest.Plan: "plan",
		},
		Other: chat.Settings{Model: "sim-small", Mode: "read-only", Effort: "high"},
	})
}
