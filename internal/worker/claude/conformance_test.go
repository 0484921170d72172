package claude

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
			workertest.Remember:   "remember the word plum",
			workertest.Recall:     "what was the word?",
			workertest.Stream:     "stream 300 10",
			workertest.Approval:   "run echo hello",
			workertest.Question:   "ask which one?",
			workertest.FreeAnswer: "ask which one?",
			workertest.FailLogin:  "fail login",
			workertest.FailQuota:  "fail 429",
			workertest.Huge:       "bigline 60\nsay after",
			workertest.Garbage:    "garbage\nsay after",
			workertest.Flood:      "stderr 20000 canary\nsay after",
			workertest.Exit:       "say before\ndie 1",
			workertest.Mute:       "say before\nmute",
			workertest.Deaf:       "deaf\nsay before\ndeaf",
			workertest.Children:   "child",

			workertest.Busy:         "run sleep 2\nsay that took long",
			workertest.LongTool:     "run sleep 90\nsay that took long",
			workertest.Nudge:        "say nudged",
			workertest.Reason:       "run echo hello",
			workertest.Withdraw:     "withdraw\nsay after",
			workertest.Questions:    "questions",
			workertest.Plan:         "plan\nsay on we go",
			workertest.AgentTurn:    "bg 300 by myself\nsay started",
			workertest.Model:        "model",
			workertest.Seen:         "seen",
			workertest.Think:        "think deep\nsay thought",
			workertest.Fixed:        "say always the same",
			workertest.FailOverload: "fail 529",
			workertest.FailModel:    "fail 404",
			workertest.FailContext:  "fail context",
			workertest.Cut:          "cut",
			workertest.Compact:      "/compact",
			workertest.Spend:        "tool 1\nstream 300 10",
			workertest.Halfway:      "remember the word plum\nstream 300 10",
		},
		Mode:  map[workertest.Act]string{workertest.Plan: "plan"},
		Other: chat.Settings{Model: "sim-small", Mode: "acceptEdits", Effort: "low"},
	})
	w.journal(t) // no breach of the stand-in's rules
}
