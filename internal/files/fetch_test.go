package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a workspace with a little of everything.
func tree(t *testing.T, d *desk) {
	t.Helper()
	for name, body := range map[string]string{
		"README.md": "hi", "docs/plan v2.txt": "plan", "src/main.go": "package main", ".env": "KEY=1", "deploy/.ENV.prod": "KEY=2",
		".env.example": "KEY=", "keys/server.PEM": "x", "id_rsa": "x", "id_card.png": "x", ".ssh/config": "x", ".git/config": "x", ".git/HEAD": "x",
		"sub/.git/HEAD": "x", "sub/dist/app.js": "x", "dist/app.js": "x", "notes": "-----BEGIN RSA PRIVATE KEY-----", "empty": "",
		".cligate/out/1a/7/huge.bin": "x", ".cligate/other": "x", "token.json": "{}", "terraform.tfstate": "{}", ".npmrc": "x",
	} {
		d.write(filepath.Join(d.work, name), body)
	}
	for link, to := range map[string]string{
		"readme-link": "README.md", "out-link": "/etc/passwd", "env-link": ".env", "up": "..", "ssh-link": ".ssh",
	} {
		if err := os.Symlink(to, filepath.Join(d.work, link)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileOfTheWorkspaceIsFetched(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ignorer{"dist": true, "huge.bin": true})
	tree(t, d)
	for asked, body := range map[string]string{
		"README.md": "hi", "./src/../src/main.go": "package main", "docs/plan v2.txt": "plan", "`README.md`": "hi", `"docs/plan v2.txt"`: "plan",
		"readme-link": "hi", ".env.example": "KEY=", d.work + "/README.md": "hi", "id_card.png": "x", ".cligate/out/1a/7/huge.bin": "x",
	} {
		for range 2 { // it may be asked for again
			r, err := d.box.Fetch(t.Context(), d.work, asked, "en", 0)
			if err != nil || r.File == nil {
				t.Errorf("%s: %+v, %v", asked, r, err)
				continue
			}
			if got := d.body(r); got != body || strings.Contains(r.File.Name, "/") {
				t.Errorf("%s: %q as %q", asked, got, r.File.Name)
			}
		}
	}
}

func TestSecretsIgnoredAndForeignFilesAreRefusedWithWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ignorer{"dist": true, "other": true, "app.js": true})
	tree(t, d)
	for asked, why := range map[string]string{
		".env": "secret", "./.env": "secret", "deploy/.ENV.prod": "secret", "keys/server.PEM": "secret", "id_rsa": "secret",
		".ssh/config": "secret", "./.git/config": "secret", "sub/.git/HEAD": "secret", "env-link": "secret", "ssh-link/config": "secret",
		"notes": "secret", "token.json": "secret", "terraform.tfstate": "secret", ".npmrc": "secret",
		"src/../.env": "secret", ".ssh/nothing-here": "secret", d.work + "/.env": "secret",
		"../other": "not inside", "/etc/passwd": "not inside", "out-link": "not inside", "up/x": "no `", "src/../../x": "not inside",
		"dist/app.js": "git ignores", "sub/dist/app.js": "git ignores", ".cligate/other": "git ignores",
		"empty": "it is empty", "src": "is a folder", "missing.txt": "There is no `missing.txt`", "a\x00b": "There is no", "": "is a folder",
	} {
		r, err := d.box.Fetch(t.Context(), d.work, asked, "en", 0)
		if err != nil || r.File != nil || !strings.Contains(r.Markdown, why) {
			t.Errorf("%q: %q (%v, %v), want %q", asked, r.Markdown, r.File, err, why)
		}
	}
	if left, _ := os.ReadDir(d.dir); len(left) > 0 {
		t.Errorf("%d files were spooled", len(left))
	}
}

func TestMissingFileIsAnsweredWithItsLikesAndNeverWithAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	tree(t, d)
	for asked, near := range map[string]string{"readme.txt": "README.md", "docs/plan.txt": "docs/plan v2.txt", "src/main.rs": "src/main.go"} {
		r, err := d.box.Fetch(t.Context(), d.work, asked, "en", 0)
		if err != nil || r.File != nil || !strings.Contains(r.Markdown, "`"+near+"`") {
			t.Errorf("%s: %+v, %v", asked, r, err)
		}
	}
	// What is secret is not offered either.
	if r, _ := d.box.Fetch(t.Context(), d.work, "id_rsa2.txt", "en", 0); strings.Contains(r.Markdown, "`id_rsa`") {
		t.Errorf("offered %q", r.Markdown)
	}
}

func TestACopyEndsWithTheOneWhoWantsIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	tree(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := d.box.Fetch(ctx, d.work, "README.md", "en", 0); !errors.Is(err, context.Canceled) || r.File != nil {
		t.Errorf("fetched %+v, %v", r, err)
	}
	if left, _ := os.ReadDir(d.dir); len(left) > 0 {
		t.Errorf("%d files were spooled", len(left))
	}
}

func TestWithoutAnAnswerOfGitNothingIsTakenForSafe(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ignorer{"broken": true})
	tree(t, d)
	if r, err := d.box.Fetch(t.Context(), d.work, "README.md", "en", 0); err != nil || r.File != nil || !strings.Contains(r.Markdown, "git could not be asked") {
		t.Errorf("fetched %+v, %v", r, err)
	}
	if l := d.box.List(t.Context(), d.work, ".", "en"); len(l.Entries) > 0 || !strings.Contains(l.Text, "git could not be asked") {
		t.Errorf("listed %+v", l)
	}
	if err := os.RemoveAll(d.work + "/.git"); err != nil {
		t.Fatal(err)
	}
	if r, err := d.box.Fetch(t.Context(), d.work, "README.md", "en", 0); err != nil || r.File == nil {
		t.Errorf("without a repository: %+v, %v", r, err)
	}
}

func TestARepositoryThatIgnoresTheWholeWorkspaceDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ignored string
		sent    bool
	}{{"workspace", true}, {"hello.txt", false}} {
		d := newDesk(t, ignorer{c.ignored: true})
		around := t.TempDir()
		d.write(around+"/.git/HEAD", "ref: refs/heads/main")
		d.write(around+"/data/workspace/hello.txt", "hi")
		r, err := d.box.Fetch(t.Context(), around+"/data/workspace", "hello.txt", "en", 0)
		if err != nil || (r.File != nil) != c.sent {
			t.Errorf("where git ignores %s: %+v, %v", c.ignored, r, err)
		}
	}
}

func TestDataOfTheGatewayIsNoFileOfAWorkspaceAroundIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	around := filepath.Dir(d.dir) // of the spool
	d.box = newDesk(t, nil, d.dir).box
	d.write(d.dir+"/cligate.db", "x")
	if r, err := d.box.Fetch(t.Context(), around, "spool/cligate.db", "en", 0); err != nil || r.File != nil {
		t.Errorf("fetched %+v, %v", r, err)
	}
	if l := d.box.List(t.Context(), around, "", "en"); len(l.Entries) > 0 {
		t.Errorf("listed %+v", l)
	}
	d.write(d.dir+"/workspace/a.txt", "x") // the other way round it is the usual case
	if r, err := d.box.Fetch(t.Context(), d.dir+"/workspace", "a.txt", "en", 0); err != nil || r.File == nil {
		t.Errorf("a workspace inside: %+v, %v", r, err)
	}
}

func TestListShowsWhatCanBeFetched(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ignorer{"dist": true})
	tree(t, d)
	l := d.box.List(t.Context(), d.work, "", "en")
	for _, e := range l.Entries {
		if e.Dir {
			continue
		}
		if r, err := d.box.Fetch(t.Context(), d.work, e.Path, "en", 0); (err != nil || r.File == nil) && e.Path != "notes" && e.Path != "empty" {
			t.Errorf("listed and not fetched: %s: %+v, %v", e.Path, r, err)
		}
	}
	for _, never := range []string{".env`", ".ssh", ".git/", "dist", "id_rsa", "link"} {
		if strings.Contains(l.Text, never) {
			t.Errorf("%s is listed:\n%s", never, l.Text)
		}
	}
	if !strings.Contains(l.Text, "- `README.md` · 2 B") || !strings.Contains(l.Text, "- `docs/`") {
		t.Errorf("listed:\n%s", l.Text)
	}
	if l := d.box.List(t.Context(), d.work, "docs", "en"); len(l.Entries) != 1 || l.Entries[0].Path != "docs/plan v2.txt" {
		t.Errorf("docs: %+v", l)
	}
	for dir, why := range map[string]string{"README.md": "not a folder", "..": "not inside", "nope": "There is no", ".ssh": "secret"} {
		if l := d.box.List(t.Context(), d.work, dir, "en"); len(l.Entries) > 0 || !strings.Contains(l.Text, why) {
			t.Errorf("%s: %+v", dir, l)
		}
	}
}
