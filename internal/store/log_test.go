package store

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"cligate/internal/chat"
)

// copyFile copies a file of a ledger that is open, as a power cut leaves it.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in := ok[*os.File](t)(os.Open(from))
	defer in.Close()
	out := ok[*os.File](t)(os.Create(to))
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

func TestARoomyLogLosesNothing(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	d := dir(l.cfg.Dir)
	record := func(i int) {
		t.Helper()
		ok[[]chat.Recorded](t)(l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{message(i)}))
	}
	record(1)
	must(t, reserveLog(d.log())) // nothing else writes now
	if fi := ok[os.FileInfo](t)(os.Stat(d.log())); fi.Size() != logSize {
		t.Fatalf("the log has %d bytes, want %d", fi.Size(), logSize)
	}
	record(2)
	must(t, reserveLog(d.log()))
	record(3)
	if fi := ok[os.FileInfo](t)(os.Stat(d.log())); fi.Size() != logSize {
		t.Fatalf("the log has %d bytes after more writes, want %d", fi.Size(), logSize)
	}

	cut := dir(t.TempDir())
	copyFile(t, d.file(), cut.file())
	copyFile(t, d.log(), cut.log())
	again := openIn(t, Config{Dir: string(cut), Ballast: -1})
	if rows := ok[[]chat.Inbound](t)(again.Inbox().Unrouted(t.Context(), 10)); len(rows) != 3 {
		t.Fatalf("%d messages after a cut, want 3", len(rows))
	}
	must(t, again.Close())
	if _, err := os.Stat(cut.log()); err == nil {
		t.Error("the log is left after a clean end")
	}
}

func TestALogThatIsNotThereNeedsNoRoom(t *testing.T) {
	t.Parallel()
	must(t, reserveLog(filepath.Join(t.TempDir(), "none")))
}
