package store

import (
	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that this process may still write to the disk of
// path; -1 when the system does not say.
func freeSpace(path string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the types differ between systems
}
