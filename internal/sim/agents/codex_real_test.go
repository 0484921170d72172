//go:build agents

package agents

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/workertest"
)

// plansOnly are the acts that the real Codex shows in plan mode only.
var plansOnly = []workertest.Act{workertest.Question, workertest.FreeAnswer, workertest.Plan}

func TestTheRealCodexKeepsTheContract(t *testing.T) {
	l := lab.New(t, "codex")
	k := l.Kit("00000000-0000-4000-8000-000000000000", func(*testing.T) worker.Driver {
		return codex.New(codex.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
	})
	k.Mode = map[workertest.Act]string{}
	for _, a := range plansOnly {
		k.Mode[a] = "plan"
	}
	delete(k.Lacks, workertest.Halfway)
	k.Say[workertest.Halfway] = "remember the word plum\nstream 250 10"
	delete(k.Say, workertest.Questions)
	k.Lacks[workertest.Questions] = "each of its questions takes one answer"
	k.Other = chat.Settings{Model: lab.Small, Mode: "read-only", Effort: "high"}
	conform(t, "codex", k)
}
