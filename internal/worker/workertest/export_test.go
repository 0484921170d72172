package workertest

import "testing"

// RunRule runs one rule as Run does.
func RunRule(t *testing.T, k Kit, name string) {
	t.Helper()
	for _, r := range rules {
		if r.name != name {
			continue
		}
		if why, _, _ := k.look(t).try(t, r); why != "" {
			t.Logf("not shown: %s", why)
		}
	}
}

// Unnamed are the acts of which a kit says nothing.
func (k Kit) Unnamed() []Act { return k.unnamed() }
