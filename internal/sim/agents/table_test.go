package agents

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/opencode"
	"cligate/internal/worker/pi"
	"cligate/internal/worker/workertest"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/agents.md and, with the agents, what they are made from")

// The table lies between these lines.
const (
	page       = "../../../docs/agents.md"
	beginTable = "<!-- what the drivers say: go test -run Table ./internal/sim/agents -update -->\n"
	endTable   = "<!-- end of what the drivers say -->\n"
)

// column is an agent in the table.
type column struct {
	name string
	can  worker.Abilities
}

// columns are the agents that have a name here. An agent that speaks ACP says
// a part of it only when it presents itself; that part is written down here,
// and looked at with the installed CLIs.
func columns() []column {
	return []column{
		{"claude", claude.Abilities()},
		{"codex", codex.Abilities()},
		{"opencode", opencode.Abilities()},
		{"pi", pi.Abilities()},
		{"gemini", announcing("gemini", worker.Resume, worker.Images, worker.TakesOver)},
		{"qwen", announcing("qwen", worker.Resume, worker.Images, worker.Catalogue, worker.TakesOver)},
		{"copilot", announcing("copilot", worker.Resume, worker.Images, worker.Catalogue, worker.TakesOver)},
		{"demo", announcing("demo", worker.Resume, worker.Images)},
	}
}

func announcing(name string, announced ...worker.Ability) worker.Abilities {
	c, _ := acp.Preset(name)
	return c.Abilities(announced...)
}

func TestTheTableInTheDocumentsIsWhatTheDriversSay(t *testing.T) {
	t.Parallel()
	keepSection(t, beginTable, endTable, table(t))
}

// pageLock is for tests that rewrite parts of the page side by side.
var pageLock sync.Mutex

// keepSection compares a generated part of the page, or rewrites it.
func keepSection(t *testing.T, begin, end, text string) {
	t.Helper()
	pageLock.Lock()
	defer pageLock.Unlock()
	body, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(body), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for what lies between %q and %q", page, begin, end)
	}
	want := "\n" + text + "\n"
	if old == want {
		return
	}
	if !*update {
		t.Errorf("%s differs from what it is made from; run this test with -update", page)
		return
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDriversSayNoLessThanWasSeen(t *testing.T) {
	t.Parallel()
	for _, c := range columns() {
		least := workertest.Least(c.name)
		if len(least) == 0 {
			t.Errorf("nobody has looked at what %s can do", c.name)
		}
		for _, can := range least {
			if !c.can.Has(can) {
				t.Errorf("%s was seen to have the ability %q, and the driver does not say so", c.name, can)
			}
		}
	}
}

// table is the abilities, a line each, by agent.
func table(t *testing.T) string {
	t.Helper()
	help := meanings(t)
	var b strings.Builder
	b.WriteString("| ability |")
	for _, c := range columns() {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(columns())) + "\n")
	for _, can := range worker.AllAbilities() {
		fmt.Fprintf(&b, "| `%s`: %s |", can, help[string(can)])
		for _, c := range columns() {
			if c.can.Has(can) {
				b.WriteString(" ✓ |")
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// meanings are the comments of the abilities where they are declared.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../worker/ability.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || v.Comment == nil {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			if name, err := strconv.Unquote(lit.Value); err == nil {
				found[name] = strings.TrimSpace(v.Comment.Text())
			}
		}
		return true
	})
	for _, can := range worker.AllAbilities() {
		if found[string(can)] == "" {
			t.Errorf("nobody says what %q means", can)
		}
	}
	return found
}
