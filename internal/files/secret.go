package files

import (
	"bytes"
	_ "embed" // the list below
	"path"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed secrets.txt
var secretNames string

// secretPatterns are the lines of the list.
var secretPatterns = sync.OnceValue(func() []string {
	var out []string
	for line := range strings.Lines(secretNames) {
		if line = strings.ToLower(strings.TrimSpace(line)); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
})

// secretName reports whether a relative path names what must not leave: at
// every level, not only at the end.
func secretName(p string) bool {
	for name := range strings.SplitSeq(filepath.ToSlash(p), "/") {
		secret := false
		for _, pattern := range secretPatterns() {
			pattern, not := strings.CutPrefix(pattern, "!")
			if ok, err := path.Match(pattern, strings.ToLower(name)); ok && err == nil {
				secret = !not
			}
		}
		if secret {
			return true
		}
	}
	return false
}

// sniffed is how much of a file is looked at.
const sniffed = 4096

// secretBody reports whether a file begins with a private key, whatever its
// name is.
func secretBody(head []byte) bool {
	return bytes.Contains(head, []byte("PRIVATE KEY-----")) || bytes.Contains(head, []byte("PRIVATE KEY BLOCK-----")) ||
		bytes.HasPrefix(head, []byte("PuTTY-User-Key-File"))
}
