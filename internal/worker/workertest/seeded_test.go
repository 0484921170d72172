package workertest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cligate/internal/worker/workertest"
)

// seeded marks the process in which the suite is expected to fail.
const seeded = "WORKERTEST_SEEDED"

func TestASoundDriverPassesEveryRule(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		k := brokenKit(func(b *broken) { b.shared = shared })
		workertest.Run(t, k)
	}
}

func TestEveryRuleHasADefect(t *testing.T) {
	t.Parallel()
	list := defects()
	for _, name := range workertest.Rules() {
		if !slices.ContainsFunc(list, func(d defect) bool { return d.rule == name }) {
			t.Errorf("nothing shows that %s can fail", name)
		}
	}
}

func TestEveryDefectIsFound(t *testing.T) {
	if os.Getenv(seeded) != "" {
		runDefects(t)
		return
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestEveryDefectIsFound$", "-test.parallel=16")
	cmd.Env = append(os.Environ(), seeded+"=1", "WORKERTEST_PATIENCE=10s")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing failed:\n%s", out)
	}
	found := failures(string(out))
	for _, d := range defects() {
		name := strings.ReplaceAll(d.rule+" "+d.name, " ", "_")
		switch said, red := found[name]; {
		case !red:
			t.Errorf("%s is not found in %d bytes that end %q", name, len(out), out[max(0, len(out)-300):])
		case !strings.Contains(said, d.says):
			t.Errorf("%s: the suite says %q, want %q", name, said, d.says)
		}
	}
}

// failures returns what was said in each failed test of the first level.
func failures(out string) map[string]string {
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "    --- FAIL: TestEveryDefectIsFound/"); ok {
			name, _, _ = strings.Cut(rest, " ")
			found[name] = ""
			continue
		}
		if name != "" {
			found[name] += line
		}
	}
	return found
}

func TestAKitNamesEveryAct(t *testing.T) {
	t.Parallel()
	k := brokenKit(func(*broken) {})
	if some := k.Unnamed(); len(some) > 0 {
		t.Errorf("a whole kit lacks %q", some)
	}
	for _, a := range workertest.Acts() {
		said := k.Say[a]
		delete(k.Say, a)
		k.Lacks = map[workertest.Act]string{a: ""} // without a reason
		if some := k.Unnamed(); !slices.Equal(some, []workertest.Act{a}) {
			t.Errorf("without %q the kit is said to lack %q", a, some)
		}
		k.Say[a], k.Lacks = said, nil
	}
}
