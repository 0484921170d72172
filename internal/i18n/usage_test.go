package i18n

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources are the program's own files, read for what they say about texts.
type sources struct {
	literals map[string]map[string]bool // of each folder, and of "" for all
	prefixes map[string]map[string]bool // folder → stations that it puts before a name
	calls    map[string][]call          // folder → calls with a literal key
	helpers  map[string]map[string]int  // folder → functions that put a station before parameter n
}

// call says a text by a literal key.
type call struct {
	at    string
	fun   string
	index int
	key   string
	names []string // of the values given; nil = unknown
}

// collect reads the sources below roots.
func collect(t *testing.T, roots ...string) *sources {
	t.Helper()
	s := &sources{
		literals: map[string]map[string]bool{"": {}}, prefixes: map[string]map[string]bool{},
		calls: map[string][]call{}, helpers: map[string]map[string]int{},
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && slices.Contains([]string{"sim", "node_modules", "testdata"}, e.Name()) && path != root:
				return fs.SkipDir
			case strings.HasSuffix(path, "_test.go"):
			case strings.HasSuffix(path, ".go"):
				return s.golang(path)
			case strings.HasSuffix(path, ".js"), strings.HasSuffix(path, ".html"):
				return s.page(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *sources) literal(dir, text string) {
	if s.literals[dir] == nil {
		s.literals[dir] = map[string]bool{}
	}
	s.literals[dir][text], s.literals[""][text] = true, true
}

var quoted = regexp.MustCompile(`['"]([a-z_]+)['"]|\bt\.([a-z_]+)\b`)

// page reads a file of the web page, which names the texts of station web.
func (s *sources) page(path string) error {
	body, err := os.ReadFile(path)
	for _, m := range quoted.FindAllStringSubmatch(string(body), -1) {
		s.literal("page", m[1]+m[2])
	}
	s.prefixes["page"] = map[string]bool{"web": true}
	return err
}

func (s *sources) golang(path string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if v, ok := text(n); ok {
				s.literal(dir, v)
			}
		case *ast.BinaryExpr:
			if station, ok := text(n.X); ok && slices.Contains(stations(), strings.TrimSuffix(station, ".")) {
				put(s.prefixes, dir, strings.TrimSuffix(station, "."), true)
			}
		case *ast.FuncDecl:
			s.helper(dir, n)
		case *ast.CallExpr:
			s.call(fset, dir, n)
		}
		return true
	})
	return nil
}

// helper notes a function that puts a station before one of its parameters.
func (s *sources) helper(dir string, f *ast.FuncDecl) {
	if f.Body == nil {
		return
	}
	at := map[string]int{}
	i := 0
	for _, p := range f.Type.Params.List {
		for _, name := range p.Names {
			at[name.Name] = i
			i++
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.ADD {
			station, isText := text(b.X)
			name, isName := b.Y.(*ast.Ident)
			if isText && isName && slices.Contains(stations(), strings.TrimSuffix(station, ".")) && strings.HasSuffix(station, ".") {
				if n, isParam := at[name.Name]; isParam {
					put(s.helpers, dir, f.Name.Name, n)
				}
			}
		}
		return true
	})
}

func (s *sources) call(fset *token.FileSet, dir string, n *ast.CallExpr) {
	fun := ""
	switch f := n.Fun.(type) {
	case *ast.Ident:
		fun = f.Name
	case *ast.SelectorExpr:
		fun = f.Sel.Name
	}
	for i, a := range n.Args {
		key, ok := text(a)
		if !ok {
			continue
		}
		c := call{at: fset.Position(n.Pos()).String(), fun: fun, index: i, key: key, names: []string{}}
		first := i + 1
		if fun == "Say" {
			first++
		}
		for j := first; j < len(n.Args); j += 2 {
			name, ok := text(n.Args[j])
			if !ok || n.Ellipsis.IsValid() {
				c.names = nil
				break
			}
			c.names = append(c.names, name)
		}
		s.calls[dir] = append(s.calls[dir], c)
		break // the first text is the key, if any is
	}
}

func put[V any](m map[string]map[string]V, dir, name string, v V) {
	if m[dir] == nil {
		m[dir] = map[string]V{}
	}
	m[dir][name] = v
}

func text(e ast.Node) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	v, err := strconv.Unquote(l.Value)
	return v, err == nil
}

func stations() []string {
	set := map[string]bool{}
	for key := range catalog[Default] {
		station, _, _ := strings.Cut(key, ".")
		set[station] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// used reports whether the program can say the text of key: by its whole name,
// by its name in a folder that puts the station before it, or by a beginning
// and an end that both occur.
func (s *sources) used(key string) bool {
	if s.literals[""][key] {
		return true
	}
	station, name, _ := strings.Cut(key, ".")
	for dir, ps := range s.prefixes {
		if ps[station] && s.literals[dir][name] {
			return true
		}
	}
	for i := range key {
		if key[i] == '_' || key[i] == '.' {
			if s.joined(station, key[:i+1], key[i+1:]) || s.joined(station, key[:i], key[i:]) {
				return true
			}
		}
	}
	return false
}

// joined reports whether a key can be put together from a beginning, with or
// without its station, and an end.
func (s *sources) joined(station, begin, end string) bool {
	all := s.literals[""]
	return all[end] && (all[begin] || all[strings.TrimPrefix(begin, station+".")])
}

// wrong lists calls with a key that does not exist, or with other values than
// the text has places for.
func (s *sources) wrong() (bad []string) {
	for dir, calls := range s.calls {
		for _, c := range calls {
			key := c.key
			n, helps := s.helpers[dir][c.fun]
			switch {
			case c.fun == "T" && c.index == 1, c.fun == "Has", c.fun == "Every":
			case c.fun == "Say" && c.index == 1: // of package chat: the cause stands between
			case helps && n == c.index:
				for station := range s.prefixes[dir] {
					if _, ok := catalog[Default][station+"."+key]; ok {
						key = station + "." + key
					}
				}
			default:
				continue
			}
			form, ok := catalog[Default][key]
			if !ok {
				bad = append(bad, fmt.Sprintf("%s: no text %q", c.at, c.key))
				continue
			}
			for _, hole := range holes(form) {
				if c.fun != "Has" && c.fun != "Every" && c.names != nil && !slices.Contains(c.names, strings.Trim(hole, "{}")) {
					bad = append(bad, fmt.Sprintf("%s: %q has no value for %s", c.at, c.key, hole))
				}
			}
		}
	}
	return bad
}

func TestEveryTextIsUsedAndEveryUsedTextExists(t *testing.T) {
	t.Parallel()
	s := collect(t, "../../internal", "../../cmd")
	for key := range catalog[Default] {
		if !s.used(key) {
			t.Errorf("nobody says %q", key)
		}
	}
	for _, b := range s.wrong() {
		t.Error(b)
	}
	for dir, said := range s.literals {
		for text := range said {
			station, name, ok := strings.Cut(text, ".")
			if !ok || name == "" || !slices.Contains(stations(), station) || len(s.prefixes[dir]) == 0 {
				continue
			}
			if _, ok := catalog[Default][text]; !ok && !begins(text) {
				t.Errorf("%s names %q, which is no text", dir, text)
			}
		}
	}
}

// begins reports whether a text is the beginning of keys.
func begins(s string) bool {
	for key := range catalog[Default] {
		if strings.HasPrefix(key, s) && (strings.HasSuffix(s, "_") || strings.HasSuffix(s, ".")) {
			return true
		}
	}
	return false
}

func TestTheUsageCheckCanFail(t *testing.T) {
	t.Parallel()
	s := collect(t, "testdata/usage")
	if s.used("router.aged") || !s.used("router.queued") || !s.used("router.button_run") || !s.used("router.button_stop") {
		t.Error("used texts and unused ones are not told apart")
	}
	if bad := s.wrong(); len(bad) != 3 || !strings.Contains(strings.Join(bad, "\n"), "no_such_text") {
		t.Errorf("complaints: %q", bad)
	}
}
