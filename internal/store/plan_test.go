package store

import (
	"strings"
	"testing"
)

// A partial index is used only where the query repeats its condition.
func TestNothingThatIsAskedOfEachMessageReadsAWholeTable(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	for name, c := range map[string]struct {
		query string
		args  []any
	}{
		"a message under another id":    {findTwin, []any{"a", "t", "k"}},
		"the live message of a turn":    {findShown, []any{1}},
		"live messages without an end":  {findLoose, []any{"a"}},
		"a notice of a turn that waits": {noticeCols + waitsOf, []any{1}},
		"what is being sent to a chat":  {findSending, []any{"a/c"}},
	} {
		steps := ok[[]string](t)(list(t.Context(), l.readers, func(r row) (s string, err error) {
			var id, parent, none int
			return s, r.Scan(&id, &parent, &none, &s)
		}, "EXPLAIN QUERY PLAN "+c.query, c.args...))
		for _, s := range steps {
			turns := name == "live messages without an end" && strings.HasPrefix(s, "SCAN q") // once, at the start
			whole := strings.HasPrefix(s, "SCAN ") && s != "SCAN CONSTANT ROW" && !turns || strings.HasSuffix(s, "(account=?)") || strings.HasSuffix(s, "outbox_place (place=?)")
			if whole {
				t.Errorf("%s: %s\n%s", name, s, strings.Join(steps, "\n"))
			}
		}
		if len(steps) == 0 {
			t.Errorf("%s: no plan", name)
		}
	}
}
