//go:build agents

package agents

import (
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/opencode"
	"cligate/internal/worker/workertest"
)

func TestTheRealOpencodeKeepsTheContract(t *testing.T) {
	l := lab.New(t, "opencode")
	k := l.Kit("ses_dd1018259ffe0y8waLJ9ln9zzz", func(*testing.T) worker.Driver {
		return opencode.New(opencode.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
	})
	// It is heavy: what is to happen in the middle of a text may take seconds.
	k.Say[workertest.Stream] = "stream 400 20"
	k.Other.Mode, k.Other.Effort = "plan", "high"
	k.Say[workertest.Halfway] = "remember the word plum\nstream 250 10"
	delete(k.Lacks, workertest.Halfway)
	delete(k.Say, workertest.FailContext)
	k.Lacks[workertest.FailContext] = "it makes room by itself, and goes on"
	conform(t, "opencode", k)
}
