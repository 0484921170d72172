//go:build agents

package agents

import (
	"maps"
	"slices"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker/workertest"
)

// conform runs the suite on an installed agent. What it showed before it has to
// show again; with -update what it shows now is written down, beside what is
// known of the rules that were not run this time.
func conform(t *testing.T, name string, k workertest.Kit) {
	t.Helper()
	report := workertest.Run(t, k)
	was, _ := lab.ReadRun(t, name)
	now := lab.Run{Report: report, Ends: was.Ends}
	if *update {
		now.Shown = slices.DeleteFunc(workertest.Rules(), func(rule string) bool {
			before := was.Version == now.Version && slices.Contains(was.Shown, rule)
			_, hidden := now.Hidden[rule]
			return hidden || slices.Contains(report.Failed, rule) || !before && !slices.Contains(report.Shown, rule)
		})
		lab.WriteRun(t, name, now)
		return
	}
	for _, rule := range was.Shown {
		if why, hidden := now.Hidden[rule]; hidden {
			t.Errorf("%s was shown, and is not any more: %s", rule, why)
		}
	}
	partial := len(now.Shown)+len(now.Hidden)+len(now.Failed) < len(workertest.Rules())
	if !partial && !slices.Equal(was.Shown, now.Shown) || !maps.Equal(was.Hidden, now.Hidden) {
		t.Logf("the documents do not tell everything that %s showed: make test-agents AGENTS=%s UPDATE=1", name, name)
	}
}
