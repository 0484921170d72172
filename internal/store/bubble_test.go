package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

func TestLedgerLivesInAFakeClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
		must(t, err)
		l := &ledger{DB: db, t: t}
		m := l.say(1)[0]
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		l.say(2)
		ls := ok[[]chat.Line](t)(l.History().Lines(t.Context(), m.Conversation, time.Time{}, 10))
		if len(ls) != 2 || ls[1].At.Sub(ls[0].At) != 24*time.Hour {
			t.Errorf("lines %+v", ls)
		}
		must(t, db.Close())
	})
}

func TestLogIsEmptiedEveryHour(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
		must(t, err)
		l := &ledger{DB: db, t: t}
		for i := range 20 {
			l.say(i)
		}
		size := func() int { // what is used of it
			b := ok[[]byte](t)(os.ReadFile(filepath.Join(dir, "cligate.db-wal")))
			return len(bytes.TrimRight(b, "\x00"))
		}
		if size() == 0 {
			t.Error("nothing is in the log")
		}
		time.Sleep(houseKeeping + time.Second)
		synctest.Wait()
		// The house keeping is a write before this one.
		if got := ok[string](t)(l.Books().Meta(t.Context(), "x")); got != "" {
			t.Error(got)
		}
		must(t, l.Books().SetMeta(t.Context(), "x", "y"))
		if n := size(); n > 64<<10 {
			t.Errorf("%d bytes are in the log", n)
		}
		must(t, db.Close())
	})
	if _, err := os.Stat(filepath.Join(dir, "cligate.db")); err != nil {
		t.Error(err)
	}
}
