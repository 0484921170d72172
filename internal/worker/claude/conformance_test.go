package claude

import (
	"testing"

	"github.com/google/uuid"

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
			workertest.Huge:       "bigline 3\nsay after",
			workertest.Garbage:    "garbage\nsay after",
			workertest.Flood:      "stderr 20000 canary\nsay after",
			workertest.Exit:       "say before\ndie 1",
			workertest.Mute:       "say before\nmute",
			workertest.Deaf:       "say before\ndeaf",
			workertest.Children:   "child",
		},
	})
	w.journal(t) // no breach of the stand-in's rules
}
