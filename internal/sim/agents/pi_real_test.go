//go:build agents

package agents

import (
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/pi"
	"cligate/internal/worker/workertest"
)

func TestTheRealPiKeepsTheContract(t *testing.T) {
	l := lab.New(t, "pi")
	k := l.Kit("/nowhere/01a22c9f-0000-7382-8432-d27f47dca111.jsonl", func(*testing.T) worker.Driver {
		return pi.New(pi.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
	})
	k.Other.Effort = "high"
	k.Say[workertest.Halfway] = "remember the word plum\nstream 250 10"
	delete(k.Lacks, workertest.Halfway)
	conform(t, "pi", k)
}
