package rules

import (
	"fmt"
	"os"
	"strings"
)

// cmdline is how a process was started; empty when it is gone.
func cmdline(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(raw), "\x00", " ")
}
