//go:build agents

package agents

import (
	"context"
	"slices"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/opencode"
	"cligate/internal/worker/pi"
)

// TestTheRealTableIsTheOneInTheDocuments asks the installed CLIs.
func TestTheRealTableIsTheOneInTheDocuments(t *testing.T) { //nolint:paralleltest // the agents are heavy
	for _, c := range columns() {
		if c.name == "demo" { // is not installed, and tested with its driver
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := lab.New(t, c.name)
			tr, err := probed(t.Context(), l, c.name)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("version %s", tr.Version)
			for _, a := range worker.AllAbilities() {
				if tr.Can.Has(a) != c.can.Has(a) {
					t.Errorf("%s: the agent says %v, the documents %v", a, tr.Can.Has(a), c.can.Has(a))
				}
			}
			if len(tr.Can) != len(slices.Compact(slices.Sorted(slices.Values(tr.Can)))) {
				t.Errorf("said twice: %q", tr.Can)
			}
		})
	}
}

func probed(ctx context.Context, l *lab.Lab, name string) (t worker.Traits, err error) {
	switch name {
	case "claude":
		return claude.New(claude.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log).Probe(ctx)
	case "codex":
		return codex.New(codex.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log).Probe(ctx)
	case "opencode":
		return opencode.New(opencode.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log).Probe(ctx)
	case "pi":
		return pi.New(pi.Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log).Probe(ctx)
	default:
		cfg, _ := acp.Preset(name)
		cfg.Command, cfg.Env = l.Command, append(cfg.Env, l.Env...)
		d, err := acp.New(cfg, l.Starter, l.Log)
		if err != nil {
			return t, err
		}
		return d.Probe(ctx)
	}
}
