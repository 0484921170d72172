package i18n

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// codesOf reads the error codes that people can be told about: all of package
// chat, but those that only a platform's sender hears.
func codesOf(t *testing.T) (codes []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../chat/errors.go", nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST || g.Doc.Text() != "Codes of the gateway itself.\n" {
			continue
		}
		for _, s := range g.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				if code, ok := text(v); ok && code != "" {
					codes = append(codes, code)
				}
			}
		}
	}
	return codes
}

func TestEveryCodeHasASentence(t *testing.T) {
	t.Parallel()
	codes := codesOf(t)
	if len(codes) < 25 || !slices.Contains(codes, "too_old") {
		t.Fatalf("codes %q", codes)
	}
	for _, code := range codes {
		for lang := range catalog {
			if catalog[lang]["error."+code] == "" {
				t.Errorf("%s: nothing is said about %q", lang, code)
			}
		}
	}
}
