package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cligate/internal/folder"
)

func TestFolderIsMadeOnceAndIgnoredByGit(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	for range 2 {
		r, err := folder.Open(work, "out/a1/7")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WriteFile("x", []byte("1"), 0o600); err != nil {
			t.Error(err)
		}
		_ = r.Close()
	}
	if b, err := os.ReadFile(filepath.Join(work, ".cligate", ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(work, ".cligate", "out", "a1", "7", "x")); err != nil {
		t.Error(err)
	}
}

func TestFolderIsNotReachedThroughALink(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".cligate", ".cligate/out", ".cligate/out/7"} {
		for name, to := range map[string]string{"outside": t.TempDir(), "inside": "../src", "inside, from the top": "src"} {
			work := t.TempDir()
			for _, d := range []string{"src", ".cligate/src", filepath.Dir(link)} {
				if err := os.MkdirAll(filepath.Join(work, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			_ = os.RemoveAll(filepath.Join(work, link))
			if err := os.Symlink(to, filepath.Join(work, link)); err != nil {
				t.Fatal(err)
			}
			if r, err := folder.Open(work, "out/7"); err == nil {
				_ = r.Close()
				t.Errorf("%s as a link (%s) was followed", link, name)
			}
			if left, _ := os.ReadDir(filepath.Join(work, "src")); len(left) > 0 {
				t.Errorf("%s (%s): something was made behind the link", link, name)
			}
		}
	}
}

func TestPathLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "../x", "out//x", "out/../../x", "/etc"} {
		if r, err := folder.Open(t.TempDir(), bad); err == nil {
			_ = r.Close()
			t.Errorf("%q was opened", bad)
		}
	}
	if _, err := folder.Find(t.TempDir(), "out/7"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
