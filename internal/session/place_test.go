package session_test

import (
	"testing"

	"cligate/internal/session"
)

// Where a session works and what its agent calls it are the session's own: a
// caller with stale knowledge cannot bring them together with another's.
func TestWorkerIsOpenedWhereItsSessionBelongs(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	one, two := b.in(t.TempDir(), "fake"), b.in(t.TempDir(), "fake")
	b.say(one, "remember the word plum")
	b.say(two, "remember the word pear")
	b.Forget(one.ID)
	b.Forget(two.ID)
	mixed := one
	mixed.Workspace, mixed.NativeID, mixed.Seed = two.Workspace, b.row(two).NativeID, two.Seed
	if got := b.say(mixed, "what was the word?"); got != "the word was plum" {
		t.Errorf("got %q", got)
	}
	opens := b.wantOpens(3)
	if o := opens[2]; o.Workspace != one.Workspace || o.NativeID != b.row(one).NativeID {
		t.Errorf("opened with %+v", o)
	}
}
