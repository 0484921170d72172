package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lock keeps a second daemon out of the data directory. It belongs to the open
// file, so it ends with the process whatever kills it.
type lock struct{ f *os.File }

func takeLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, diskError("open the lock file "+path, err)
	}
	if err := holdLock(f); err != nil {
		holder := readPID(f)
		if cerr := f.Close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, sentence("another cligate (pid %s) uses this data directory; stop it first, or choose another directory", holder)
		}
		return nil, diskError("lock "+path, err)
	}
	l := &lock{f: f}
	if err := l.sign(); err != nil {
		return nil, errors.Join(diskError("write the lock file "+path, err), l.release())
	}
	return l, nil
}

const (
	// ghostLimit is how long the lock of a dead daemon is waited for.
	ghostLimit = 2 * time.Second
	ghostLook  = 10 * time.Millisecond
)

// holdLock takes the lock if nobody has it. A daemon that was killed while it
// started a process may leave its lock to that process until the new program
// runs in it; the daemon that comes right after it waits for that moment.
func holdLock(f *os.File) error {
	for end := time.Now().Add(ghostLimit); ; time.Sleep(ghostLook) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
		if pid, perr := strconv.Atoi(readPID(f)); perr != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return err // it lives
		}
	}
}

// sign writes our pid into the file. A full disk does not matter: the lock
// holds without it.
func (l *lock) sign() error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	if isNoSpace(err) {
		return nil
	}
	return err
}

func (l *lock) release() error {
	if l.f == nil {
		return nil
	}
	// Closing is not enough: a process that is being started right now still has
	// the file open, and with it the lock.
	err := errors.Join(unix.Flock(int(l.f.Fd()), unix.LOCK_UN), l.f.Close())
	l.f = nil
	return err
}

func readPID(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return "unknown"
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
		return strconv.Itoa(pid)
	}
	return "unknown"
}
