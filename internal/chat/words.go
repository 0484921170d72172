package chat

import (
	"fmt"
	"strings"
)

// Escape returns s as Markdown that shows s: what the markup would act upon is
// made harmless. It is for one line of foreign words inside words of ours.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>#!|~&$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Fence returns s as a block of code that s cannot end.
func Fence(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "\n" + s + "\n" + fence
}

// Size is a number of bytes as people read it, in the units in which services
// tell their limits: a MB is 1,048,576 bytes.
func Size(n int64) string {
	const (
		unit = 1024
		most = 999.5 // what has no more than three digits when it is rounded
	)
	f := float64(n)
	if f < most {
		return fmt.Sprintf("%d B", n)
	}
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if f /= unit; f < most || u == "TB" {
			return fmt.Sprintf("%.3g %s", f, u)
		}
	}
	return ""
}
