package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cligate/internal/config"
)

func TestProcessesWithAnOlderLoginAreClosed(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CODEX_HOME", "")
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	write := func(path string, at time.Time) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now().Add(-time.Hour)
	claude, codex := filepath.Join(home, ".claude/.credentials.json"), filepath.Join(other, "auth.json")
	write(claude, began)
	var closed []string
	w := newLoginWatch(config.Agents{Codex: config.Agent{Env: []string{"CODEX_HOME=" + other}}}, func(agent string) { closed = append(closed, agent) })
	look := func(want ...string) {
		t.Helper()
		closed = nil
		if w.look(); !slices.Equal(closed, want) {
			t.Errorf("closed %q, want %q", closed, want)
		}
	}
	look() // nothing has changed
	write(claude, began.Add(time.Minute))
	look("claude")
	look()
	write(codex, began) // the first login
	look("codex")
	if err := os.Remove(claude); err != nil { // logged out
		t.Fatal(err)
	}
	look("claude")
}
