// Package lab gives one test a real agent CLI to drive: installed at a pinned
// version by .ci/install-agents, with a HOME of its own, and pointed at a model
// server of its own on loopback (package model). The agent reaches nothing and
// nobody else, and costs nothing.
//
// A test is skipped when its CLI is not installed, or when the environment
// variable LAB_AGENTS names others only (make test-agents sets it).
package lab

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/model"
	"cligate/internal/worker/proc"
)

// Lab is one agent, ready to be started by a driver.
type Lab struct {
	// Server is the model that the agent talks to.
	Server *model.Server
	// Command is the path of the CLI.
	Command string
	// Env is for the driver's Config.Env: HOME, PATH, keys and addresses.
	Env []string
	// Home is the agent's HOME. It lies outside the system's folder for
	// temporary files: some sandboxes treat that one specially.
	Home string
	// Starter starts and ends the processes of this test; it is closed after
	// the test, and so must not be shared.
	Starter *proc.Starter
	// Log shows what happens when tests are run with -v.
	Log *slog.Logger

	name, mark string
}

// The models that every agent is told of. The first is what it starts with.
const (
	Large = "mock-large"
	Small = "mock-small"
)

// New prepares the agent of that name: claude, codex, gemini, opencode, pi,
// qwen, copilot, claude-agent-acp or codex-acp.
func New(t *testing.T, name string) *Lab {
	t.Helper()
	if chosen := os.Getenv("LAB_AGENTS"); chosen != "" && !slices.Contains(strings.Fields(chosen), name) {
		t.Skipf("%s is not among the agents to be tested: AGENTS=%s", name, name)
	}
	path := folders(t, name)
	command := find(path, name)
	if command == "" {
		t.Skipf("%s is not installed: .ci/install-agents %s", name, name)
	}
	l := &Lab{name: name, Command: command, Home: folder(t, "home"), mark: "LAB_MARK=" + uuid.NewString()}
	l.Log = slog.New(slog.NewTextHandler(logWriter(t), &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if l.Server, err = model.Open(context.WithoutCancel(t.Context()), l.Log); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, l.Server)
	l.Env = append(surroundings(l.Home), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"), l.mark)
	l.Env = append(l.Env, configure(t, name, l.Home, l.Server.URL())...)
	l.Starter, err = proc.New(proc.Config{Token: "lab-" + uuid.NewString(), Grace: time.Second, Log: l.Log})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, l.Starter) // before the server is: cleanups run backwards
	return l
}

// Workspace is a new empty folder to work in, outside the system's folder for
// temporary files.
func (*Lab) Workspace(t *testing.T) string {
	t.Helper()
	return folder(t, "work")
}

// Left returns the command lines of the processes that were started with this
// lab's environment and still live.
func (l *Lab) Left() []string {
	var left []string
	found, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, f := range found {
		env, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(env), l.mark) {
			continue
		}
		if args, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline")); err == nil && len(args) > 0 {
			left = append(left, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return left
}

// surroundings keep an agent inside its home.
func surroundings(home string) []string {
	return []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
	}
}

func closeAfter(t *testing.T, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// folders asks the installer where an agent and Node are.
func folders(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root(t), ".ci", "install-agents"), "--path", name).Output()
	if err != nil {
		t.Fatalf("where %s is: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// root is the top of the source tree.
func root(t *testing.T) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the source tree is not known")
	}
	return filepath.Join(filepath.Dir(here), "..", "..", "..", "..")
}

func find(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// folder makes one beside the installed agents. An agent that is on its way
// out may still write into it while it is removed; the next run of the
// installer clears away what is left.
func folder(t *testing.T, kind string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(cache, "cligate-agents", "labs")
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, kind+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("not removed: %v", err)
		}
	})
	return dir
}

func logWriter(t *testing.T) io.Writer {
	t.Helper()
	if testing.Verbose() {
		return t.Output()
	}
	return io.Discard
}
