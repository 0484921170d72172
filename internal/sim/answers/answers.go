// Package answers is what agents answer, and the comparison of an answer with
// what a chat service holds of it. It reads sources line by line, with none of
// the renderer's code, so that a fault of the renderer cannot hide itself.
package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Real returns the realistic answers that every platform renders, by name.
func Real(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "internal/render/testdata/answers/*.md"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d answers: %v", len(files), err)
	}
	out := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".md")] = string(b)
	}
	return out
}

// root is the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, no := os.Stat(filepath.Join(dir, "go.mod")); no == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	t.Fatal("no module around the test", err)
	return ""
}
