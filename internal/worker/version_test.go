package worker

import (
	"strings"
	"testing"

	"cligate/internal/chat"
)

func TestOnlyAVersionThatIsKnownToBeOlderIsTooOld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, needed string
		old           bool
	}{
		{"2.1.332", "2.1", false},
		{"2.1", "2.1.0", false},
		{"2.10.0", "2.9", false},
		{"2.0.99", "2.1", true},
		{"v1.9.3", "1.10", true},
		{"0.170.0-alpha.1", "0.171", true},
		{" 0.9 (Claude Code)", "1", true},
		{"", "1", false},
		{"unknown", "1", false},
		{"1.2.3", "", false},
		{"99999999999999999999", "1", false},
	} {
		err := Recent(c.found, c.needed)
		if (err != nil) != c.old {
			t.Errorf("%q where %q is needed: %v", c.found, c.needed, err)
		}
		if err != nil && (chat.CodeOf(err) != chat.TooOld || !strings.Contains(chat.DetailOf(err), c.needed)) {
			t.Errorf("%q: %v", c.found, err)
		}
	}
}
