package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// source is one Go file of the project.
type source struct {
	dir  string // relative to the root, slashes
	name string
	file *ast.File
	fset *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "testdata" || n == "node_modules" || n == "data" || (strings.HasPrefix(n, ".") && n != ".." && n != ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		out = append(out, source{filepath.ToSlash(rel), d.Name(), f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			what := strings.Trim(imp.Path.Value, `"`)
			if why := refuse(s.dir, what, s.test()); why != "" {
				t.Errorf("%s/%s imports %s: %s", s.dir, s.name, what, why)
			}
		}
	}
}

func TestForbiddenImportsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, what string }{
		{"internal/chat", "cligate/internal/i18n"},
		{"internal/chat", "github.com/google/uuid"},
		{"internal/router", "cligate/internal/turn"},
		{"internal/turn", "cligate/internal/store"},
		{"internal/reply", "cligate/internal/platform/telegram"},
		{"internal/platform/web", "cligate/internal/platform/telegram"},
		{"internal/worker/claude", "os/exec"},
		{"internal/router", "github.com/mattn/go-sqlite3"},
		{"internal/reply", "github.com/spf13/viper"},
		{"internal/router", "cligate/internal/sim/telegram"},
		{"internal/unheard", "cligate/internal/chat"},
	} {
		if refuse(c.from, c.what, false) == "" {
			t.Errorf("%s may import %s", c.from, c.what)
		}
	}
	for _, c := range []struct{ from, what string }{
		{"internal/app", "cligate/internal/store"},
		{"internal/worker/proc", "os/exec"},
		{"internal/turn", "cligate/internal/chat"},
	} {
		if why := refuse(c.from, c.what, false); why != "" {
			t.Errorf("%s may not import %s: %s", c.from, c.what, why)
		}
	}
}

func TestSizesStayWithinTheLimits(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, s := range sources(t) {
		at := path.Join(s.dir, s.name)
		if s.test() {
			continue
		}
		if n := s.fset.Position(s.file.End()).Line; n > maxFile {
			t.Errorf("%s has %d lines, more than %d", at, n, maxFile)
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if n := s.fset.Position(d.End()).Line - s.fset.Position(d.Pos()).Line + 1; n > maxFunc {
					t.Errorf("%s: %s has %d lines, more than %d", at, d.Name.Name, n, maxFunc)
				}
				if r := receiver(d); r != "" {
					methods[s.dir+"."+r]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if n, name := fields(spec); n > maxFields && !wide(s.dir, name) {
						t.Errorf("%s: %s has %d fields, more than %d", at, name, n, maxFields)
					}
				}
			}
		}
	}
	for typ, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d: a hub", typ, n, maxMethods)
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func fields(spec ast.Spec) (int, string) {
	ts, ok := spec.(*ast.TypeSpec)
	if !ok {
		return 0, ""
	}
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		return 0, ""
	}
	n := 0
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n, ts.Name.Name
}

func TestEveryPackageExplainsItself(t *testing.T) {
	t.Parallel()
	explained, seen := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		seen[s.dir] = true
		if s.file.Doc != nil {
			explained[s.dir] = true
		}
	}
	for dir := range seen {
		if !explained[dir] {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func TestNoTestIsSkippedOrSleeps(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		bubble := false // inside a synctest bubble a sleep is exact
		for _, imp := range s.file.Imports {
			bubble = bubble || imp.Path.Value == `"testing/synctest"`
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch what := called(n); {
			case what == "t.Skip" || what == "t.Skipf" || what == "t.SkipNow":
				t.Errorf("%s skips a test", s.fset.Position(n.Pos()))
			case what == "time.Sleep" && !bubble:
				t.Errorf("%s sleeps", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// called returns "x.f" for a call of that form.
func called(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name + "." + sel.Sel.Name
}
