package pi

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheDriverConforms(t *testing.T) {
	w := newWorld(t)
	k := workertest.Kit{
		Driver:  func(*testing.T) worker.Driver { return w.Driver },
		Unknown: "/nowhere/01a22c9f-0000-7382-8432-d27f47dca111.jsonl",
		Left:    workertest.Left(w.token),
		Other:   chat.Settings{Model: "mock/small", Effort: "high"},
		Say: map[workertest.Act]string{
			workertest.Remember:     "remember the word plum",
			workertest.Recall:       "what was the word?",
			workertest.Stream:       "stream 300",
			workertest.FailLogin:    "fail 401",
			workertest.FailQuota:    "fail 429",
			workertest.Huge:         "huge 3\nsay after",
			workertest.Garbage:      "garbage\nsay after",
			workertest.Flood:        "stderr 20000 canary\nsay after",
			workertest.Exit:         "say before\ndie",
			workertest.Mute:         "say before\nmute",
			workertest.Deaf:         "say before\ndeaf",
			workertest.Children:     "child",
			workertest.Busy:         "tool 2000",
			workertest.LongTool:     "tool 60000",
			workertest.Nudge:        "say nudged",
			workertest.Model:        "model",
			workertest.Seen:         "seen",
			workertest.Think:        "think deep\nsay thought",
			workertest.Fixed:        "say always the same",
			workertest.FailOverload: "fail 529",
			workertest.FailModel:    "fail 404",
			workertest.FailContext:  "fail context",
			workertest.Cut:          "fail cut",
			workertest.Compact:      "/compact",
			workertest.Spend:        "tool 10\nstream 300",
			workertest.Halfway:      "remember the word plum\nstream 300",
		},
		Lacks: map[workertest.Act]string{},
	}
	for _, a := range []workertest.Act{
		workertest.Approval, workertest.Question, workertest.FreeAnswer, workertest.Reason, workertest.Withdraw, workertest.Questions,
		workertest.Plan, workertest.AgentTurn,
	} {
		k.Lacks[a] = "the agent asks nothing and starts nothing by itself"
	}
	workertest.Run(t, k)
}
