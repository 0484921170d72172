package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// files are the messages of the chat that carry a file and show want.
func (u user) files(want string) (found []rig.Message) {
	for _, m := range u.Shown() {
		if m.File && strings.Contains(m.Text, want) {
			found = append(found, m)
		}
	}
	return found
}

// spool is how many files wait in the data directory.
func (u user) spool() int {
	u.t.Helper()
	es, err := os.ReadDir(filepath.Join(u.r.DataDir(), "spool"))
	if err != nil {
		u.t.Fatal(err)
	}
	return len(es)
}

// git runs git in a folder.
func (u user) git(dir string, args ...string) {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		u.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestFilesOfAnAgentArriveAfterItsAnswer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]rig.Options{"telegram": {Agent: rig.Demo}, "web": {Agent: rig.Demo, NoTelegram: true},
		"feishu": {Agent: rig.Demo, NoTelegram: true, Feishu: rig.Socket}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := house(t, o)
			u.Tell("photos 1 pic", "pic", "pic-1", "pic-2")
			u.Await("pic-2")
			u.Tell("files 3 doc", "doc", "doc-1", "doc-2", "doc-3", "doc-4")
			u.Await("doc-4")
			u.r.Rest()
			if n := len(u.files("doc-")); n != 3 {
				t.Errorf("%d files", n)
			}
			if left := u.spool(); name == "telegram" && left > 0 || name == "web" && left != 4 {
				t.Errorf("%d files are left in the spool", left)
			}
			if strings.Contains(u.Text(), "Note of the chat") {
				t.Error("people see what the agent is told")
			}
			u.r.Judge()
		})
	}
}

func TestFilesArriveOnceThoughTheDaemonDiesBeforeTheUpload(t *testing.T) {
	t.Parallel()
	// The turn's end and its files are durable; nothing, some or all is sent.
	for _, at := range []string{"turn-finished:1", "send-intended:1", "send-intended:2", "send-done:2", "send-done:3"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Agent: rig.Demo})
			r.Start("CLIGATE_FAULT=" + at)
			u := user{r.Chat(rig.Owner), t, r}
			u.Tell("files 3 doc", "doc", "doc-1", "doc-2", "doc-3", "doc-4")
			r.Until("the point is reached", func() bool { return !r.Alive() })
			if !r.Killed() {
				t.Fatalf("not by the fault\n%s", r.Tail())
			}
			r.Start()
			u.Await("doc-1", "doc-2", "doc-3", "doc-4")
			r.Rest()
			if left := u.spool(); left > 0 {
				t.Errorf("%d files are left in the spool", left)
			}
			r.Judge()
		})
	}
}

func TestLateFileOfAStoppedTurnIsNotSentWithTheNextAnswer(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true})
	u.ask("echo hello", "hello")
	u.ask("latefile 1 tardy", "tardy-1")
	u.ask("/stop", "stopped")
	late := func() bool {
		all, _ := filepath.Glob(filepath.Join(u.r.Dir, "work", ".cligate", "out", "*", "*", "tardy.txt"))
		return len(all) == 1
	}
	u.r.Until("the late file is written", late)
	u.ask("files 1 prompt", "prompt-2")
	u.r.Rest()
	if got := u.files("tardy"); len(got) > 0 {
		t.Errorf("sent: %q", got[0].Text)
	}
}

func TestMembersFetchFilesOfTheWorkspaceAndNoSecrets(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]rig.Options{"telegram": {}, "web": {NoTelegram: true}, "feishu": {NoTelegram: true, Feishu: rig.Socket}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := house(t, o)
			work := filepath.Join(u.r.Dir, "work")
			for file, body := range map[string]string{"notes/plan.txt": "the plan", ".env": "KEY=canary", "build/out.js": "canary", "seen.txt": "x"} {
				path := filepath.Join(work, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			u.git(work, "init", "-q")
			if err := os.WriteFile(filepath.Join(work, ".gitignore"), []byte("build/\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			u.ask("/file get notes/plan.txt", "the plan") // no agent was ever started
			u.ask("/file get build/out.js", "git ignores")
			u.ask("/file get .env", "looks like a secret")
			u.ask("/file get ../data/cligate.db", "not inside the workspace")
			u.ask("/file ls", "seen.txt")
			if strings.Contains(u.Text(), "build/`") || strings.Contains(u.Text(), "`.env`:") {
				t.Errorf("listed: %s", u.Text())
			}
			known := u.known()
			u.Press("file:ls notes")
			u.news(known, "plan.txt")
			u.Press("file:get notes/plan.txt")
			u.r.Until("it is there again", func() bool { return len(u.files("the plan")) == 2 })
			u.r.Rest()
			if strings.Contains(u.Text(), "canary") {
				t.Errorf("leaked: %s", u.Text())
			}
			if n := u.r.Count("SELECT count(*) FROM session"); n != 0 {
				t.Errorf("%d sessions were made", n)
			}
		})
	}
}

func TestFilesAreOffWhereTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true, Env: []string{"CLIGATE_FILES_OUT=false", "CLIGATE_FILES_GET=false"}})
	u.ask("files 1 doc", "nobody told where files go")
	u.ask("/file get x", "files.get")
	if _, err := os.Stat(filepath.Join(u.r.Dir, "work", ".cligate")); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}
