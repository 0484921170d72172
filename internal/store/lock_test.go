package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// held locks a file as a process that was forked off a daemon holds it.
func held(t *testing.T, path string, owner int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strconv.Itoa(owner) + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLockOfADeadDaemonIsWaitedFor(t *testing.T) {
	t.Parallel()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cligate.lock")
	f := held(t, path, dead.Process.Pid)
	got := make(chan error)
	go func() {
		l, err := takeLock(path)
		if err == nil {
			err = l.release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("not waited: %v", err)
	default:
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A process that is being started has a copy of every open file for a moment.
func TestReleasedLockIsFreeWhoeverStillHasTheFileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cligate.lock")
	l, err := takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := unix.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(copied) }()
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	again, err := takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.release(); err != nil {
		t.Error(err)
	}
}

func TestLockOfALivingDaemonIsRespectedAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cligate.lock")
	f := held(t, path, os.Getpid())
	defer f.Close()
	if _, err := takeLock(path); err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("got %v", err)
	}
}
