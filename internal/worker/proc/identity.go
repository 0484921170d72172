package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cligate/internal/worker/proc/runner"
)

// TokenFor returns the token of a data directory, which must exist. It stays
// the same from start to start and differs between directories.
func TokenFor(dataDir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dataDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("token of the data directory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", fmt.Errorf("token of the data directory: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", dir, st.Dev, st.Ino))
	return hex.EncodeToString(sum[:8]), nil
}

// identityOf names a process for ever: pid, start time and boot.
func identityOf(pid int) string {
	e, ok := runner.Inspect(pid)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%d.%s", pid, e.Start, bootID())
}

// ParseIdentity returns the process that identity names; not ok when that
// process cannot live any more or there never was one.
func ParseIdentity(identity string) (pid int, start uint64, ok bool) {
	f := strings.Split(identity, ".")
	if len(f) != 3 || f[2] != bootID() {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(f[0])
	start, err2 := strconv.ParseUint(f[1], 10, 64)
	return pid, start, errors.Join(err1, err2) == nil && pid > 1
}

// bootID tells this boot of the machine from others.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) < 8 {
		return "0"
	}
	return string(b[:8])
}
