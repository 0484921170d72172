package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cligate/internal/chat"
)

// Spool keeps the bodies of files between the end of a turn and their receipt,
// in a folder of the data directory that nobody else may read. Each has a name
// of its own. It may be used from many goroutines, and by one process at a time.
type Spool struct {
	dir  string
	root *os.Root
}

// OpenSpool makes the folder where it is not there yet. Close it.
func OpenSpool(dir string) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the spool: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return &Spool{dir: dir, root: root}, nil
}

// Close lets go of the folder.
func (s *Spool) Close() error { return s.root.Close() }

// Put stores what write writes, at most limit bytes, and returns when it is on
// the disk. chat.Full: there is more. What is stored and named by no row is
// removed by Remove, or by the Sweep of the next start.
func (s *Spool) Put(limit int64, write func(w io.Writer) error) (name string, size int64, err error) {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	name = hex.EncodeToString(id)
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, fmt.Errorf("spool a file: %w", err)
	}
	b := &bounded{to: f, left: limit}
	if err = write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.sync()
	}
	if err != nil {
		s.Remove(name)
		return "", 0, fmt.Errorf("spool a file: %w", err)
	}
	return name, limit - b.left, nil
}

// bounded is a file that grows no larger.
type bounded struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		return 0, chat.E(chat.Full, "", nil)
	}
	n, err := b.to.Write(p)
	b.left -= int64(n)
	return n, err
}

// sync makes the names durable.
func (s *Spool) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements platform.Files.
func (s *Spool) Open(name string) (*os.File, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open a file of the spool: %w", err)
	}
	return f, nil
}

// Remove removes a file; one that is not there is none.
func (s *Spool) Remove(name string) {
	if name != "" && name == filepath.Base(name) {
		_ = s.root.Remove(name) // what stays is swept
	}
}

// Sweep removes what is not to be kept and is older than that: what an earlier
// life stored without a row, or did not come to remove.
func (s *Spool) Sweep(keep []string, older time.Duration) (removed int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("sweep the spool: %w", err)
	}
	kept := slices.Clone(keep)
	slices.Sort(kept)
	for _, e := range entries {
		if _, found := slices.BinarySearch(kept, e.Name()); found {
			continue
		}
		if i, err := e.Info(); err != nil || time.Since(i.ModTime()) < older {
			continue
		}
		if s.root.Remove(e.Name()) == nil {
			removed++
		}
	}
	return removed, nil
}
