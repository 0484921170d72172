package api

import (
	"fmt"
	"os"
	"path/filepath"
)

// SocketName is the name of the unix socket in the data directory.
const SocketName = "cligate.sock"

// maxSocketPath is what a socket address holds on every system we run on.
const maxSocketPath = 100

// ShortPath calls f with a path of the socket that fits into a socket address,
// however deep the directory is. The path is good only while f runs.
func ShortPath(path string, f func(short string) error) error {
	if len(path) <= maxSocketPath {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open the directory of the socket: %w", err)
	}
	defer func() { _ = dir.Close() }() // only read; nothing to lose
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}
