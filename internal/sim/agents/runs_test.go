package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker/workertest"
)

// The part of the page that is made from what the installed CLIs showed. make
// test-agents compares that with what they show now, or writes it anew.
const (
	beginRuns = "<!-- what the real ones showed: go test -run Runs ./internal/sim/agents -update -->\n"
	endRuns   = "<!-- end of what the real ones showed -->\n"
)

// pinned are the agents of the installer and their versions, in its order.
func pinned(t *testing.T) (names []string, versions map[string]string) {
	t.Helper()
	script, err := os.ReadFile("../../../.ci/install-agents")
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{}
	for line := range strings.Lines(string(script)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == f[1] {
			names, versions[f[0]] = append(names, f[0]), f[3]
		}
	}
	if len(names) == 0 {
		t.Fatal("the installer has no agents")
	}
	return names, versions
}

func TestTheRecordedRunsAreOfThePinnedVersions(t *testing.T) {
	t.Parallel()
	names, versions := pinned(t)
	for _, name := range names {
		r, known := lab.ReadRun(t, name)
		if !known {
			t.Errorf("%s was never run: make test-agents AGENTS=%s UPDATE=1", name, name)
		} else if r.Version != versions[name] {
			t.Errorf("%s %s was run, and %s is installed", name, r.Version, versions[name])
		}
	}
	files, err := filepath.Glob(filepath.Join(lab.RunsDir(t), "*.json"))
	if err != nil || len(files) != len(names) {
		t.Errorf("%d agents were run, the installer knows %d: %v", len(files), len(names), err)
	}
}

func TestTheRunsInTheDocumentsAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	keepSection(t, beginRuns, endRuns, runsTable(t))
}

// runsTable is what the agents showed: a table of figures, a table of the rules,
// and why a rule was not shown.
func runsTable(t *testing.T) string {
	t.Helper()
	names, _ := pinned(t)
	runs := map[string]lab.Run{}
	for _, n := range names {
		runs[n], _ = lab.ReadRun(t, n)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| | version | rules shown, of %d | nothing outlives |\n|---|---|---|---|\n", len(workertest.Rules()))
	for _, n := range names {
		r := runs[n]
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", n, r.Version, len(r.Shown), strings.Join(r.Ends, " · "))
	}
	b.WriteString("\n| rule | " + strings.Join(names, " | ") + " |\n|---|" + strings.Repeat(":-:|", len(names)) + "\n")
	var why notes
	for _, rule := range workertest.Rules() {
		fmt.Fprintf(&b, "| %s | ", words(rule))
		for i, n := range names {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(why.cell(runs[n], rule))
		}
		b.WriteString(" |\n")
	}
	b.WriteString("\n✓ shown · – the agent does not declare the ability · ? not run since the rule is there · a number: not shown, because\n\n")
	for i, w := range why {
		fmt.Fprintf(&b, "%d. %s\n", i+1, w)
	}
	return b.String()
}

// notes are the reasons, numbered in the order in which they come.
type notes []string

func (n *notes) cell(r lab.Run, rule string) string {
	why, hidden := r.Hidden[rule]
	switch {
	case slices.Contains(r.Shown, rule):
		return "✓"
	case !hidden:
		return "?"
	case strings.HasPrefix(why, "the agent does not declare "):
		return "–"
	}
	if _, reason, ok := strings.Cut(why, ": "); ok { // before it is the act
		why = reason
	}
	i := slices.Index(*n, why)
	if i < 0 {
		*n = append(*n, why)
		i = len(*n) - 1
	}
	return fmt.Sprint(i + 1)
}

// words are those of a name in capitals.
func words(name string) string {
	var b strings.Builder
	for i, c := range name {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z' || i+1 < len(name) && name[i+1] >= 'a') {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	var all []string
	for i, w := range strings.Split(b.String(), " ") {
		if i > 0 && (len(w) == 1 || w[1] < 'A' || w[1] > 'Z') {
			w = strings.ToLower(w)
		}
		all = append(all, w)
	}
	return strings.Join(all, " ")
}
