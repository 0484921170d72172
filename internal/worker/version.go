package worker

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

var versionGrammar = regexp.MustCompile(`^v?(\d{1,9}(?:\.\d{1,9}){0,3})(?:[-+ ].*)?$`)

// Recent is an error with code chat.TooOld when an agent says that it is of an
// older version than the one that its driver needs. A version that cannot be
// read says nothing, and nor does an empty need.
func Recent(found, needed string) error {
	have, want := versionGrammar.FindStringSubmatch(strings.TrimSpace(found)), versionGrammar.FindStringSubmatch(needed)
	if have == nil || want == nil || !older(have[1], want[1]) {
		return nil
	}
	return chat.E(chat.TooOld, i18n.T(i18n.Default, "error.version", "found", have[1], "needed", needed), nil)
}

// older compares number by number; what is not there is 0.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := cmp.Compare(number(as, i), number(bs, i)); c != 0 {
			return c < 0
		}
	}
	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // the grammar lets digits through only
	return n
}
