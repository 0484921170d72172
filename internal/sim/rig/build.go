package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Binaries are the programs under test.
type Binaries struct {
	Daemon string // cligate, with fault points
	Claude string // the stand-in for the claude CLI
}

// built builds once a process. The go command's own cache makes the next
// process cheap.
var built = sync.OnceValues(func() (Binaries, error) {
	dir, err := os.MkdirTemp("", "cligate-rig-")
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Daemon: filepath.Join(dir, "cligate"), Claude: filepath.Join(dir, "claude")}
	for out, pkg := range map[string]string{b.Daemon: "cmd/cligate", b.Claude: "internal/sim/claude/cmd/fake-claude"} {
		args := []string{"build", "-tags", "faults sqlite_omit_load_extension", "-o", out}
		if os.Getenv("CLIGATE_RIG_RACE") != "" { // slow, but sees races in the daemon
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, "./"+pkg)...)
		cmd.Dir = root()
		if said, err := cmd.CombinedOutput(); err != nil {
			return Binaries{}, fmt.Errorf("build %s: %w\n%s", pkg, err, said)
		}
	}
	return b, nil
})

// Build returns the programs, built from the present sources.
func Build(tb testing.TB) Binaries {
	tb.Helper()
	b, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Clean removes what Build made; for the end of TestMain.
func Clean() {
	if b, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(b.Daemon))
	}
}

// root is the module's directory.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}
