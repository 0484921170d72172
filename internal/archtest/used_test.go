package archtest

import (
	"go/ast"
	"go/token"
	"reflect"
	"strings"
	"testing"
)

// selected collects the names that the program selects (x.Name), outside of
// the packages in but, of tests and of the simulator.
func selected(ss []source, but string) map[string]bool {
	names := map[string]bool{}
	for _, s := range ss {
		if s.test() || s.dir == but || simulator(s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				names[sel.Sel.Name] = true
			}
			return true
		})
	}
	return names
}

// specs calls f with every type and constant that a package declares at its
// top.
func specs(ss []source, dir string, f func(ast.Spec)) {
	for _, s := range ss {
		if s.test() || s.dir != dir {
			continue
		}
		for _, d := range s.file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.TYPE || g.Tok == token.CONST) {
				for _, spec := range g.Specs {
					f(spec)
				}
			}
		}
	}
}

func TestEveryFaultPointIsHit(t *testing.T) {
	t.Parallel()
	ss := sources(t)
	hit, points := selected(ss, "internal/fault"), 0
	specs(ss, "internal/fault", func(spec ast.Spec) {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			return
		}
		if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "Point" {
			return
		}
		points++
		if !hit[v.Names[0].Name] {
			t.Errorf("nothing hits fault.%s", v.Names[0].Name)
		}
	})
	if points < 20 {
		t.Errorf("%d points were found", points)
	}
}

// reserved are keys of agents whose drivers are not in the registry yet: they
// may be set, and choosing such an agent is refused with that reason.
var reserved = map[string]bool{}

func TestEveryConfigurationKeyIsRead(t *testing.T) {
	t.Parallel()
	ss := sources(t)
	read, keys := selected(ss, "internal/config"), 0
	specs(ss, "internal/config", func(spec ast.Spec) {
		typ, ok := spec.(*ast.TypeSpec)
		if !ok {
			return
		}
		st, ok := typ.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, f := range st.Fields.List {
			if f.Tag == nil || len(f.Names) == 0 || strings.HasSuffix(f.Names[0].Name, "File") { // the content is read instead
				continue
			}
			key, ok := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Lookup("mapstructure")
			if !ok || key == "-" {
				continue
			}
			keys++
			if name := f.Names[0].Name; read[name] == reserved[name] {
				t.Errorf("%s.%s (%s): read is %v, reserved is %v", typ.Name.Name, name, key, read[name], reserved[name])
			}
		}
	})
	if keys < 20 {
		t.Errorf("%d keys were found", keys)
	}
}
