package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cligate/internal/chat"
)

// pages limits the size of the file, which is the same error as a full disk.
func (l *ledger) pages(format string, args ...any) {
	l.t.Helper()
	must(l.t, l.write(l.t.Context(), func(ctx context.Context, t *tx) error {
		_, err := t.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = "+format, args...))
		return err
	}))
}

// fillUp records messages until one is refused, and returns how many there are.
func (l *ledger) fillUp(from int) int {
	l.t.Helper()
	for i := from; ; i++ {
		m := message(i)
		m.Text = strings.Repeat("x", 4000)
		if _, err := l.Inbox().Record(l.t.Context(), "bot", "", []chat.Inbound{m}); err != nil {
			wantCode(l.t, err, chat.Unavailable)
			if chat.DetailOf(err) != "the disk is full" {
				l.t.Errorf("detail %q", chat.DetailOf(err))
			}
			return i
		}
		if i > 100_000 {
			l.t.Fatal("the disk does not fill up")
		}
	}
}

func (l *ledger) wantAll(n int) {
	l.t.Helper()
	if c := ok[Counts](l.t)(l.Books().Counts(l.t.Context())); c.New != n {
		l.t.Errorf("%d messages are there, %d were acknowledged", c.New, n)
	}
	if c := ok[[]chat.Inbound](l.t)(l.Inbox().Unrouted(l.t.Context(), n+10)); len(c) != n {
		l.t.Errorf("%d messages can be read, %d were acknowledged", len(c), n)
	}
}

func wantHealth(t *testing.T, states <-chan Health, good bool) {
	t.Helper()
	select {
	case h := <-states:
		if h.OK != good || good != (h.Detail == "") {
			t.Fatalf("health %+v", h)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("nobody was told that OK is %v", good)
	}
}

func TestFullDiskLosesNothingAndEndsByItself(t *testing.T) {
	t.Parallel()
	states := make(chan Health, 64)
	l := openIn(t, Config{
		Dir: t.TempDir(), Ballast: -1, Recheck: time.Millisecond, OnHealth: func(h Health) { states <- h },
	})
	m := l.say(0)[0]
	count := ok[int](t)(first(t.Context(), l.readers, value[int], "PRAGMA page_count"))
	l.pages("%d", count+40)
	n := l.fillUp(1)
	if n < 20 {
		t.Fatalf("full after %d messages", n)
	}
	wantHealth(t, states, false)
	l.wantAll(n)
	if h := l.Health(); h.OK || h.Since.IsZero() {
		t.Errorf("health %+v", h)
	}
	_, err := l.People().Stranger(t.Context(), m.Message, time.Now(), time.Hour)
	wantCode(t, err, chat.Unavailable)
	l.wantStillFull()
	l.pages("%d", 1_000_000)
	wantHealth(t, states, true)
	if again := l.fillUpTo(n, n+5); again != n+5 {
		t.Errorf("stopped at %d", again)
	}
	l.wantAll(n + 5)
}

// wantStillFull looks for as long as many rechecks take.
func (l *ledger) wantStillFull() {
	l.t.Helper()
	for start := time.Now(); time.Since(start) < 60*time.Millisecond; {
		if h := l.Health(); h.OK {
			l.t.Fatalf("health %+v while there is no room", h)
		}
	}
}

func (l *ledger) fillUpTo(from, to int) int {
	l.t.Helper()
	for i := from; i < to; i++ {
		l.say(i)
	}
	return to
}

// One write that is too big for the room that is left does not fail those that
// fit.
func TestSmallWritesFitBesideABigOne(t *testing.T) {
	t.Parallel()
	l := openIn(t, Config{Dir: t.TempDir(), Ballast: -1, Recheck: time.Hour})
	m := l.say(0)[0]
	count := ok[int](t)(first(t.Context(), l.readers, value[int], "PRAGMA page_count"))
	l.pages("%d", count+10)
	big := []chat.Out{{Key: "big", Place: m.Place, Part: chat.Part{Text: strings.Repeat("x", 1<<20)}}}
	wantCode(t, l.Outbox().Enqueue(t.Context(), big), chat.Unavailable)
	must(t, l.Outbox().Enqueue(t.Context(), []chat.Out{{Key: "small", Place: m.Place}}))
	_, err := l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{message(1)})
	wantCode(t, err, chat.Unavailable)
}

// On a real disk: what was accepted is brought to its end on the ballast's
// room, and told, before nothing goes any more.
func TestBallastPaysForTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=6m,mode=0700"); err != nil {
		t.Logf("no disk of our own (%v); the page limit stands in for it in the other tests", err)
		return
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	states := make(chan Health, 64)
	l := openIn(t, Config{Dir: dir, Ballast: 1 << 20, Recheck: 2 * time.Millisecond, OnHealth: func(h Health) { states <- h }})
	m := l.say(0)[0]
	other := filepath.Join(dir, "other") // somebody else fills the disk
	must(t, fillFile(other, freeSpace(dir)-200<<10))
	// The write that finds the disk full is not lost, nor are those after it
	// that bring something to its end; what is new is refused.
	must(t, l.Outbox().Enqueue(t.Context(), []chat.Out{{Key: "full", Place: m.Place, Part: chat.Part{Text: strings.Repeat("z", 400_000)}}}))
	wantHealth(t, states, false)
	n := l.fillUp(1)
	if n != 1 {
		t.Errorf("%d new messages were taken after the disk was full", n-1)
	}
	if _, err := os.Stat(filepath.Join(dir, "ballast")); !os.IsNotExist(err) {
		t.Errorf("the ballast is still there: %v", err)
	}
	s := l.session(m)
	q := l.turn(s, m)
	a := ok[chat.Attempt](t)(l.Runs().Claim(t.Context(), q.ID, chat.AttemptSent))
	must(t, l.Runs().Finish(t.Context(), chat.Ending{
		Turn: q.ID, Attempt: a.ID, State: chat.TurnSucceeded,
		Outs: []chat.Out{{Key: "f", Place: q.Place, Turn: q.ID, Class: chat.OutFinal, Part: chat.Part{Text: strings.Repeat("y", 100_000)}}},
	}))
	l.wantAll(n - 1)
	// Room for the ballast alone is not enough: the next message would take it
	// away again.
	must(t, os.Truncate(other, fileSize(t, other)-max(0, 1500<<10-freeSpace(dir))))
	l.wantStillFull()
	must(t, os.Remove(other))
	wantHealth(t, states, true)
	if fi, err := os.Stat(filepath.Join(dir, "ballast")); err != nil || fi.Size() != 1<<20 {
		t.Errorf("ballast %v, %v", fi, err)
	}
	l.say(n)
	l.wantAll(n)
	must(t, l.Close())
	must(t, fillFile(other, freeSpace(dir))) // a start without any room
	again := openIn(t, l.cfg)
	again.wantAll(n)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	must(t, err)
	return fi.Size()
}

func fillFile(path string, n int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := fill(f, n); err != nil {
		return err
	}
	return f.Close()
}

func TestReadOnlyDiskIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		t.Logf("no disk of our own: %v", err)
		wantSentence(t, diskError("write x", unix.EROFS), "read-only")
		return
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	must(t, openIn(t, Config{Dir: dir, Ballast: -1}).Close())
	must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
	wantSentence(t, err, "read-only")
}
