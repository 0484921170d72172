package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mattn/go-sqlite3"

	"cligate/internal/chat"
)

func TestConcurrentProducersShareCommits(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	const producers, each = 16, 20
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				m := message(p*each + i)
				rec, err := l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{m})
				if err != nil || !rec[0].Fresh {
					t.Errorf("record: %+v, %v", rec, err)
					return
				}
				// What was acknowledged is seen by every reader at once.
				if _, err := l.WebChats().FateOf(t.Context(), "bot", "c1", m.Ref.ID); err != nil {
					t.Errorf("acknowledged but not there: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if c := ok[Counts](t)(l.Books().Counts(t.Context())); c.New != producers*each {
		t.Errorf("%d messages", c.New)
	}
}

func TestRefusedWriteTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	// One batch for sure: the writer is busy while the requests queue up.
	hold := make(chan struct{})
	held := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		must(t, l.write(t.Context(), func(context.Context, *tx) error {
			once.Do(func() { close(held) })
			<-hold
			return nil
		}))
	})
	<-held
	refused := errors.New("refused")
	var good, bad atomic.Int32
	for i := range 20 {
		wg.Go(func() {
			err := l.write(t.Context(), func(ctx context.Context, t *tx) error {
				if _, err := t.exec(ctx, putMeta, fmt.Sprint("k", i), "v"); err != nil {
					return err
				}
				switch i % 4 {
				case 0:
					return refused
				case 1: // a statement that fails
					_, err := t.exec(ctx, `INSERT INTO turn_input (inbound, turn) VALUES (1, 1)`)
					return err
				}
				if i == 2 { // an error after which SQLite gives the transaction up
					return sqlite3.Error{Code: sqlite3.ErrIoErr}
				}
				return nil
			})
			if err == nil {
				good.Add(1)
			} else {
				bad.Add(1)
			}
		})
	}
	for len(l.w.queue) < 20 {
		select {
		case <-t.Context().Done():
			t.Fatal("the requests did not queue up")
		default:
		}
	}
	close(hold)
	wg.Wait()
	if good.Load() != 9 || bad.Load() != 11 {
		t.Errorf("%d good, %d bad", good.Load(), bad.Load())
	}
	for i := range 20 {
		want := "v"
		if i%4 < 2 || i == 2 {
			want = ""
		}
		if got := ok[string](t)(l.Books().Meta(t.Context(), fmt.Sprint("k", i))); got != want {
			t.Errorf("k%d is %q", i, got)
		}
	}
}

func TestGivenUpWriteIsNotDone(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	hold, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		must(t, l.write(t.Context(), func(context.Context, *tx) error {
			close(held)
			<-hold
			return nil
		}))
	})
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	cause := make(chan error, 1)
	wg.Go(func() { cause <- l.Books().SetMeta(ctx, "late", "v") })
	for len(l.w.queue) == 0 { //nolint:revive // until it is queued
	}
	cancel()
	if err := <-cause; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(hold)
	wg.Wait()
	must(t, l.Books().SetMeta(t.Context(), "after", "v"))
	if got := ok[string](t)(l.Books().Meta(t.Context(), "late")); got != "" {
		t.Error("a write that was given up was done")
	}
}

func TestClosedLedgerRefuses(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	var wg sync.WaitGroup
	var stored atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				_, err := l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{message(i*100000 + n)})
				if err != nil {
					if chat.CodeOf(err) != chat.Unavailable {
						t.Errorf("got %v", err)
					}
					return
				}
				stored.Add(1)
			}
		})
	}
	for stored.Load() < 20 { //nolint:revive // until work is under way
	}
	must(t, l.Close())
	wg.Wait()
	must(t, l.Close())
	_, err := l.Inbox().Unrouted(t.Context(), 1)
	wantCode(t, err, chat.Unavailable)
	again := openIn(t, l.cfg)
	if c := ok[Counts](t)(again.Books().Counts(t.Context())); c.New != int(stored.Load()) {
		t.Errorf("%d messages are there, %d were acknowledged", c.New, stored.Load())
	}
}

// Eight connections that write at once, as other programs would: the settings
// keep them from failing each other.
func TestWritersOfOneFileDoNotFailEachOther(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	file := filepath.Join(l.cfg.Dir, "cligate.db")
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			db := sqlOpen(file)
			defer func() { must(t, db.Close()) }()
			for i := range 10 {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Errorf("begin: %v", err)
					return
				}
				_, err = tx.ExecContext(t.Context(), putMeta, fmt.Sprint(p, "-", i), "v")
				if err := errors.Join(err, tx.Commit()); err != nil {
					t.Errorf("write: %v", err)
				}
				must(t, l.Books().SetMeta(t.Context(), fmt.Sprint("own-", p, "-", i), "v"))
			}
		})
	}
	wg.Wait()
}

func BenchmarkRecord(b *testing.B) {
	for _, producers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(producers), func(b *testing.B) {
			db, err := Open(b.Context(), Config{Dir: b.TempDir(), Ballast: -1})
			if err != nil {
				b.Fatal(err)
			}
			var n atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range producers {
				wg.Go(func() {
					for {
						i := int(n.Add(1))
						if i > b.N {
							return
						}
						if _, err := db.Inbox().Record(b.Context(), "bot", "c", []chat.Inbound{message(i)}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
