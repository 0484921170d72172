//go:build agents

package agents

import (
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/workertest"
)

// otherKit is the suite's view of an agent of which the configuration has the
// command line, and nothing else is known.
func otherKit(t *testing.T, name string, env ...string) workertest.Kit {
	t.Helper()
	l := lab.New(t, name)
	cfg, known := acp.Preset("some-agent")
	if known {
		t.Fatal("too much is known")
	}
	cfg.Command, cfg.Env = l.Command, append(l.Env, env...)
	d, err := acp.New(cfg, l.Starter, l.Log)
	if err != nil {
		t.Fatal(err)
	}
	// What can be chosen shows with the first session.
	w, err := d.Open(t.Context(), worker.Spec{Session: 1, Workspace: l.Workspace(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("offered: %+v", w.Info())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Kit(noSession, func(*testing.T) worker.Driver { return d })
}

func TestTheRealClaudeAgentACPKeepsTheContractAsAnyAgent(t *testing.T) { //nolint:paralleltest // the agents are heavy
	k := otherKit(t, "claude-agent-acp", "CLAUDE_CODE_MAX_RETRIES=1")
	// Now and then it asks its own program whether it is logged in; that is no
	// tool which outlives its turn.
	all := k.Left
	k.Left = func() []string {
		return slices.DeleteFunc(all(), func(s string) bool { return strings.Contains(s, "auth status") })
	}
	k.Other = chat.Settings{Model: "sonnet", Mode: "acceptEdits", Effort: "low"}
	conform(t, "claude-agent-acp", k)
}

func TestTheRealCodexACPKeepsTheContractAsAnyAgent(t *testing.T) { //nolint:paralleltest // the agents are heavy
	k := otherKit(t, "codex-acp")
	k.Other = chat.Settings{Mode: "agent", Effort: "high"}
	conform(t, "codex-acp", k)
}
