package rules

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the driver
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// What the binary does at a terminal, as scripts: each begins in an empty
// directory with nothing configured.
func TestTheBinaryAtATerminal(t *testing.T) {
	t.Parallel()
	bin := rig.Build(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			srv, err := telegram.New()
			if err != nil {
				return err
			}
			srv.AddBot(rig.Token, rig.Bot, false)
			e.Defer(srv.Close)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("PATH", filepath.Dir(bin.Daemon)+":/usr/local/bin:/usr/bin:/bin")
			e.Setenv("CLIGATE_AGENTS_CLAUDE_COMMAND", "no-claude-here")
			e.Setenv("CLIGATE_WEB_ADDR", "off")
			e.Setenv("TELEGRAM", srv.URL)
			e.Setenv("TOKEN", rig.Token)
			return apps(e)
		},
		Condition: func(name string) (bool, error) {
			if name == "disk" {
				return ownDisk(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"up": up, "until": until, "sentence": sentence, "newer": newer, "port": port, "disk": disk, "unchanged": unchanged,
		},
	})
}

// apps opens a Feishu with an app that is set up and one that is so by half.
func apps(e *testscript.Env) error {
	srv, err := feishu.New()
	if err != nil {
		return err
	}
	e.Defer(srv.Close)
	e.Setenv("FEISHU", srv.URL)
	srv.AddApp("cli_whole", "a-secret-of-the-app", "Whole")
	srv.AddApp("cli_half", "a-secret-of-the-app", "Half")
	srv.Configure("cli_half", feishu.Setup{Without: []string{"im.message.receive_v1", "card.action.trigger"}})
	srv.Withdraw("cli_half", "im:message", "im:message:send_as_bot", "im:message.group_msg", "contact:user.base:readonly")
	return nil
}

// until repeats a command until it prints what is waited for: until pattern
// program [arg…].
func until(ts *testscript.TestScript, _ bool, args []string) {
	var r waiter
	said := regexp.MustCompile(args[0])
	if !r.within(func() bool {
		_ = ts.Exec(args[1], args[2:]...) // what it prints is what counts
		return said.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("%s never prints %s", args[1], args[0])
	}
}

// up waits until the daemon serves: up [name], with the name of what must be
// running meanwhile.
func up(ts *testscript.TestScript, _ bool, _ []string) {
	var r waiter
	if !r.within(func() bool { return ts.Exec("cligate", "health") == nil }) {
		ts.Fatalf("the daemon does not get ready")
	}
}

var complaint = regexp.MustCompile(`(?m)^cligate: .+$`)

// sentence checks that the last command complained once, in one sentence or in
// one line for each problem, and in these words.
func sentence(ts *testscript.TestScript, neg bool, args []string) {
	said := ts.ReadFile("stderr")
	got := complaint.FindAllStringIndex(said, -1)
	if neg || len(args) != 1 || len(got) != 1 {
		ts.Fatalf("%d complaints in %q", len(got), said)
	}
	about := said[got[0][0]:]
	for line := range strings.Lines(about) {
		if !strings.HasPrefix(line, "cligate: ") && !strings.HasPrefix(line, "  ") {
			ts.Fatalf("%q follows the sentence", line)
		}
	}
	if !regexp.MustCompile(args[0]).MatchString(about) {
		ts.Fatalf("%q does not say %q", about, args[0])
	}
	if strings.Contains(said, "goroutine ") || strings.Contains(said, "Usage:") {
		ts.Fatalf("noise: %q", said)
	}
}

// newer makes a database look as if a later version had written it.
func newer(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite3", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("PRAGMA user_version = 999")
	ts.Check(err)
}

// port puts the number of a free port into a variable.
func port(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	ts.Check(l.Close())
}

// ownDisk reports whether we may mount one.
func ownDisk() bool {
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m") != nil {
		return false
	}
	return unix.Unmount(dir, unix.MNT_DETACH) == nil
}

// disk makes a directory a disk of its own, or makes that disk read-only:
// disk rw dir, disk ro dir.
func disk(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[1])
	if args[0] == "ro" {
		ts.Check(unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		return
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,mode=0700"))
	ts.Defer(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// unchanged compares a file with its copy, byte for byte.
func unchanged(ts *testscript.TestScript, _ bool, args []string) {
	if ts.ReadFile(args[0]) != ts.ReadFile(args[1]) {
		ts.Fatalf("%s was changed", args[0])
	}
}
