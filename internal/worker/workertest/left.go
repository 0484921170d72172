package workertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"cligate/internal/worker/proc/runner"
)

// Left returns a function for Kit.Left: it lists the processes that carry a
// starter's token, except runners (one is always kept spare) and this process.
func Left(token string) func() []string {
	return func() (left []string) {
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range dirs {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			env, _ := os.ReadFile(dir + "/environ")
			cmd, _ := os.ReadFile(dir + "/cmdline")
			if pid == os.Getpid() || bytes.HasPrefix(cmd, []byte(runner.Name+"\x00")) {
				continue
			}
			if bytes.Contains(append([]byte{0}, env...), []byte("\x00"+runner.TokenName+"="+token+"\x00")) {
				left = append(left, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmd, []byte{0}, []byte{' '})))
			}
		}
		return left
	}
}
