//go:build agents

package cleanup

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/agents/lab"
)

// installed are the CLIs and the drivers that drive them. An agent that is not
// installed is not tried.
var installed = []struct{ cli, kind, name string }{
	{"claude", "claude", ""},
	{"codex", "codex", ""},
	{"opencode", "opencode", ""},
	{"pi", "pi", ""},
	{"gemini", "acp", "gemini"},
	{"qwen", "acp", "qwen"},
	{"copilot", "acp", "copilot"},
	{"claude-agent-acp", "acp", "claude-acp"},
	{"codex-acp", "acp", "codex-acp"},
}

// TestNothingOfARealAgentOutlives is not parallel: the agents are heavy.
func TestNothingOfARealAgentOutlives(t *testing.T) {
	for _, a := range installed {
		var held []string
		for _, how := range slices.Sorted(maps.Keys(ends)) {
			ran := false
			ok := t.Run(a.cli+"/"+how, func(t *testing.T) {
				l := lab.New(t, a.cli)
				ran = true
				ends[how](t, subject{
					kind: a.kind, config: config{Name: a.name, Command: l.Command, Env: l.Env}, work: l.Workspace(t),
					// A plain sleep is refused by some agents.
					tool: "run timeout 90 tail -f /dev/null", shows: "tail -f", alive: "say alive", mark: markOf(t, l.Env),
				})
			})
			if ok && ran {
				held = append(held, how)
			}
		}
		if len(held) == len(ends) {
			keep(t, a.cli, held)
		}
	}
}

// keep compares with what the documents say of an agent, or writes it down.
func keep(t *testing.T, cli string, held []string) {
	t.Helper()
	r, _ := lab.ReadRun(t, cli)
	switch {
	case *update:
		r.Ends = held
		lab.WriteRun(t, cli, r)
	case !slices.Equal(r.Ends, held):
		t.Errorf("%s survived %q, the documents say %q; run this test with -update", cli, held, r.Ends)
	}
}

var update = flag.Bool("update", false, "write down what the agents showed")

// markOf is the variable that only this lab's processes have.
func markOf(t *testing.T, env []string) string {
	t.Helper()
	for _, v := range env {
		if strings.HasPrefix(v, "LAB_MARK=") {
			return v
		}
	}
	t.Fatal("the lab marks nothing")
	return ""
}
