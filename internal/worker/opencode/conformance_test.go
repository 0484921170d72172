package opencode

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheDriverConforms(t *testing.T) {
	w := newWorld(t)
	no := "the agent cannot"
	workertest.Run(t, workertest.Kit{
		Driver:  func(*testing.T) worker.Driver { return w.Driver },
		Unknown: "ses_dd1018259ffe0y8waLJ9nnnnnn",
		Left:    workertest.Left(w.token),
		Other:   chat.Settings{Model: "mock/small", Mode: "plan", Effort: "high"},
		Say: map[workertest.Act]string{
			workertest.Remember:     "remember the word plum",
			workertest.Recall:       "what was the word?",
			workertest.Stream:       "stream 300",
			workertest.Approval:     "run echo hello",
			workertest.Question:     "ask",
			workertest.FreeAnswer:   "ask",
			workertest.FailLogin:    "fail 401",
			workertest.FailQuota:    "fail 429",
			workertest.Huge:         "bigline 3\nsay after",
			workertest.Garbage:      "garbage\nsay after",
			workertest.Flood:        "stderr 20000 canary\nsay after",
			workertest.Exit:         "say before\ndie",
			workertest.Mute:         "say before\nmute",
			workertest.Deaf:         "say before\ndeaf",
			workertest.Children:     "child",
			workertest.Busy:         "long 2000",
			workertest.LongTool:     "long 60000",
			workertest.Nudge:        "say nudged",
			workertest.Reason:       "run echo hello",
			workertest.Withdraw:     "withdraw",
			workertest.Questions:    "three",
			workertest.Model:        "model",
			workertest.Seen:         "seen",
			workertest.Think:        "think deep\nsay thought",
			workertest.Fixed:        "say always the same",
			workertest.FailOverload: "fail 529",
			workertest.FailModel:    "fail 404",
			workertest.FailContext:  "fail context",
			workertest.Cut:          "fail cut",
			workertest.Compact:      "/compact",
			workertest.Spend:        "used\nstream 300",
			workertest.Halfway:      "remember the word plum\nstream 300",
		},
		Lacks: map[workertest.Act]string{workertest.Plan: no, workertest.AgentTurn: no},
	})
}
