package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"cligate/internal/chat"
)

// dir is the data directory. Only its owner may look into it.
type dir string

func (d dir) file() string     { return filepath.Join(string(d), "cligate.db") }
func (d dir) log() string      { return d.file() + "-wal" }
func (d dir) lockFile() string { return filepath.Join(string(d), "cligate.lock") }
func (d dir) ballast() string  { return filepath.Join(string(d), "ballast") }

// prepare makes the directory, or closes it to others.
func (d dir) prepare(log *slog.Logger) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return diskError("create the data directory "+string(d), err)
	}
	fi, err := os.Stat(string(d))
	if err != nil {
		return diskError("look at the data directory "+string(d), err)
	}
	if fi.Mode()&fs.ModeSticky != 0 {
		return sentence("the data directory %s is shared by all users; choose one of its own", string(d))
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(string(d), 0o700); err != nil { //nolint:gosec // a directory needs the x bit
			return sentence("other users can read the data directory %s, and it cannot be closed to them (%v); run: chmod 700 %s",
				string(d), errors.Unwrap(err), string(d))
		}
		log.Warn("data directory was open to other users; closed it", "dir", string(d))
	}
	return d.checkDisk(log)
}

// checkDisk refuses disks on which SQLite's locks and shared memory do not
// work.
func (d dir) checkDisk(log *slog.Logger) error {
	switch kind := diskKind(string(d)); kind {
	case "":
		return nil
	case "9p":
		log.Warn("the data directory is on a 9p disk; a local disk is safer", "dir", string(d))
		return nil
	default:
		return sentence("the data directory %s is on a network disk (%s), where a database can be damaged; choose a local one", string(d), kind)
	}
}

// prepareFile makes an empty database file before SQLite does, because its
// side files take over the mode of the file.
func (d dir) prepareFile() error {
	f, err := os.OpenFile(d.file(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return diskError("open the database "+d.file(), err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return diskError("close the database to other users: "+d.file(), err)
	}
	for _, side := range []string{d.file() + "-wal", d.file() + "-shm"} {
		if err := os.Chmod(side, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diskError("close "+side+" to other users", err)
		}
	}
	return nil
}

// sentence is an error that stops the start and says what to do.
func sentence(format string, args ...any) error {
	return chat.E(chat.Unavailable, fmt.Sprintf(format, args...), nil)
}
