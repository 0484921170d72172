package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cligate/internal/config"
	"cligate/internal/files"
	"cligate/internal/worker/proc"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func put(t *testing.T, path, body string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), mode); err != nil {
		t.Fatal(err)
	}
}

func TestGitIsAskedAndRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	s, err := proc.New(proc.Config{Token: "files-" + filepath.Base(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	trap := filepath.Join(t.TempDir(), "sprung")
	hook := filepath.Join(dir, "hook.sh")
	put(t, hook, "#!/bin/sh\ntouch "+trap+"\n", 0o700)
	git(t, dir, "config", "core.fsmonitor", hook)
	put(t, filepath.Join(dir, ".gitignore"), "dist/\n*.log\n!keep.log\n-odd\n", 0o600)
	names := []string{"a.txt", "x.log", "keep.log", "-odd", ":(top)a.txt", "with space.log", "new\nline.log", "--help", "ümlaut.log", "dist"}
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	bad, err := gitOf{s}.Ignored(t.Context(), dir, names)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(bad)
	if want := []string{"-odd", "dist", "new\nline.log", "with space.log", "x.log", "ümlaut.log"}; !slices.Equal(bad, want) {
		t.Errorf("ignored %q, want %q", bad, want)
	}
	if bad, err := (gitOf{s}).Ignored(t.Context(), dir, []string{"a.txt"}); err != nil || len(bad) > 0 {
		t.Errorf("nothing is ignored: %q, %v", bad, err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program that the repository names was run")
	}
	put(t, filepath.Join(dir, ".git", "HEAD"), "rubbish", 0o600)
	if bad, err := (gitOf{s}).Ignored(t.Context(), dir, names); err == nil {
		t.Errorf("a broken repository ignores %q", bad)
	}
}

func TestOldFilesOfEveryWorkspaceGo(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Workspace: t.TempDir(), Workspaces: []config.Workspace{{Name: "other", Path: t.TempDir()}}, Files: config.Files{Keep: time.Hour}}
	spool, err := files.OpenSpool(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	a := &App{cfg: cfg, log: slog.New(slog.DiscardHandler), spool: spool}
	a.core.box = a.outgoing(nil).box
	past := time.Now().Add(-48 * time.Hour)
	var turns []string
	for _, w := range workspaces(cfg) {
		turn := filepath.Join(w.Path, ".cligate", "out", "1a2b", "1")
		put(t, filepath.Join(turn, "a.txt"), "x", 0o600)
		if err := os.Chtimes(turn, past, past); err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	a.tidyFiles(ctx)
	for _, turn := range turns {
		if _, err := os.Stat(turn); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", turn, err)
		}
	}
}
