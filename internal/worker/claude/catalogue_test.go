package claude

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// told writes a session's file into a folder of the agent's.
func told(t *testing.T, base, folder, cwd, words string) (id string) {
	t.Helper()
	dir := filepath.Join(base, "projects", folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	id = uuid.NewString()
	line := `{"type":"user","cwd":"` + cwd + `","message":{"content":"` + words + `"}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return id
}

// listed are the titles of a workspace's sessions.
func listed(t *testing.T, base, workspace string) (titles []string) {
	t.Helper()
	d := New(Config{Env: []string{"CLAUDE_CONFIG_DIR=" + base}}, nil, slog.New(slog.DiscardHandler))
	list, err := d.Sessions(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		titles = append(titles, s.Title)
	}
	return titles
}

func TestSessionsOfAVeryLongPathAreListed(t *testing.T) {
	t.Parallel()
	base, root := t.TempDir(), t.TempDir()
	deep := filepath.Join(root, strings.Repeat("a", 120), strings.Repeat("b", 120))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	name := notInName.ReplaceAllString(deep, "-")[:longestName]
	if got := listed(t, base, deep); len(got) > 0 {
		t.Errorf("nothing is there, and %q is listed", got)
	}
	told(t, base, name+"-1x9k3z", deep, "mine")
	told(t, base, name+"-7q2m", deep+"/other", "of a neighbour whose path begins alike")
	told(t, base, "-short", deep, "elsewhere")
	if got := listed(t, base, deep); len(got) != 1 || got[0] != "mine" {
		t.Errorf("listed %q", got)
	}
}

func TestSessionsOfALinkedWorkspaceAreThoseOfWhatItLinksTo(t *testing.T) {
	t.Parallel()
	base, root := t.TempDir(), t.TempDir()
	folder, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	told(t, base, notInName.ReplaceAllString(folder, "-"), folder, "mine")
	for _, workspace := range []string{folder, link} {
		if got := listed(t, base, workspace); len(got) != 1 || got[0] != "mine" {
			t.Errorf("%s: listed %q", workspace, got)
		}
	}
}

func TestTwoPathsThatShareAFolderAreKeptApart(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	told(t, base, "-srv-a-b", "/srv/a.b", "of a.b")
	told(t, base, "-srv-a-b", "/srv/a-b", "of a-b")
	if got := listed(t, base, "/srv/a-b"); len(got) != 1 || got[0] != "of a-b" {
		t.Errorf("listed %q", got)
	}
}
