package store

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// logSize is what SQLite's write-ahead log reaches before it begins anew: the
// 1,000 pages of wal_autocheckpoint, with their headers, and some more.
const logSize = 1100 * (4096 + 24)

// reserveLog gives the write-ahead log its full size in written blocks. A sync
// of a file that does not grow costs a third of one of a file that does. What
// SQLite wrote is not touched; it takes the zeros behind it for the end of the
// log. It is called by the writer, between two transactions, when nothing else
// can write.
func reserveLog(file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it comes with the first write
	}
	if err != nil {
		return fmt.Errorf("reserve the log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	had, err := f.Seek(0, io.SeekEnd)
	if err != nil || had >= logSize {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := had; at < logSize; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(logSize-at, int64(len(zeros)))], at); err != nil {
			// No room for it, perhaps; then there is none to take away either.
			return errors.Join(fmt.Errorf("reserve the log: %w", err), f.Truncate(had))
		}
	}
	return f.Sync()
}
