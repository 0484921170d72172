//go:build agents

package agents

import (
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/workertest"
)

// acpKit is the conformance suite's view of an installed agent of that name.
func acpKit(t *testing.T, name string, unknown string) (*lab.Lab, workertest.Kit) {
	t.Helper()
	l := lab.New(t, name)
	return l, l.Kit(unknown, func(t *testing.T) worker.Driver {
		t.Helper()
		cfg, _ := acp.Preset(name)
		cfg.Command, cfg.Env = l.Command, append(cfg.Env, l.Env...)
		d, err := acp.New(cfg, l.Starter, l.Log)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

// noSession is an id of the kind that agents give, of a session that never was.
const noSession = "01a22c9f-0000-4382-8432-d27f47dca111"

func TestTheRealGeminiKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	_, k := acpKit(t, "gemini", noSession)
	k.Other.Model, k.Other.Mode = "gemini-3-flash-preview", "plan"
	delete(k.Say, workertest.FailOverload)
	k.Lacks[workertest.FailOverload] = "it tries again for minutes before it says so"
	// Its own policy lets some commands run unasked.
	conform(t, "gemini", k)
}
