//go:build agents

package agents

import (
	"testing"

	"cligate/internal/worker/workertest"
)

func TestTheRealQwenKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	_, k := acpKit(t, "qwen", noSession)
	k.Other.Mode = "plan"
	delete(k.Say, workertest.FailOverload)
	k.Lacks[workertest.FailOverload] = "it tries again for minutes before it says so"
	workertest.Run(t, k)
}
