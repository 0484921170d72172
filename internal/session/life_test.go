package session_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/session"
	"cligate/internal/worker"
)

func writeFile(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestIdleWorkerIsClosedAndNobodyNotices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{WorkerIdle: 10 * time.Minute})
		s := b.session()
		b.say(s, "remember the word plum")
		time.Sleep(9 * time.Minute)
		b.say(s, "hello") // counts as use
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if _, live := b.Live(s.ID); !live {
			t.Fatal("closed too early")
		}
		w := b.acquire(s) // a running turn is no idle time
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, live := b.Live(s.ID); !live || w == nil {
			t.Fatal("closed while in use")
		}
		b.Release(s.ID)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if all, _ := b.Count(); all != 0 {
			t.Fatal("the idle worker lives on")
		}
		if got := b.say(s, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
	})
}

func TestIdleWorkersStayWhenClosingIsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		s := b.session()
		b.say(s, "hello")
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if _, live := b.Live(s.ID); !live {
			t.Error("the worker was closed")
		}
	})
}

func TestCapClosesTheWorkerThatWasIdleLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{MaxWorkers: 2})
		one, two, three := b.session(), b.session(), b.session()
		b.say(one, "remember the word plum")
		time.Sleep(time.Second)
		b.say(two, "hello")
		time.Sleep(time.Second)
		b.say(three, "hello")
		if _, live := b.Live(one.ID); live {
			t.Error("the oldest lives on")
		}
		if _, live := b.Live(two.ID); !live {
			t.Error("the younger one was closed")
		}
		if got := b.say(one, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
		if _, most := b.agent.Live(); most != 2 {
			t.Errorf("%d processes at once, want 2", most)
		}
	})
}

func TestWhenAllAreBusyAcquireWaitsVisiblyAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{MaxWorkers: 1})
		busy, first, second := b.session(), b.session(), b.session()
		b.acquire(busy)
		order := make(chan int64, 2)
		for _, s := range []chat.Session{first, second} {
			go func() {
				b.acquire(s)
				order <- s.ID
				b.Release(s.ID)
			}()
			synctest.Wait()
			select {
			case id := <-b.waiting:
				if id != s.ID {
					t.Errorf("session %d is said to wait, want %d", id, s.ID)
				}
			default:
				t.Error("nobody was told that a session waits")
			}
			if all, used := b.Count(); all != 1 || used != 1 {
				t.Errorf("%d processes are counted, %d busy, while one may be", all, used)
			}
		}
		// The busy session does not keep its place by asking again.
		b.Release(busy.ID)
		b.acquire(busy)
		if a, z := <-order, <-order; a != first.ID || z != second.ID {
			t.Errorf("served %d, then %d; want %d, %d", a, z, first.ID, second.ID)
		}
		b.Release(busy.ID)
		if _, most := b.agent.Live(); most != 1 {
			t.Errorf("%d processes at once, want 1", most)
		}
	})
}

func TestWaitingForASlotCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{MaxWorkers: 1})
		busy, other := b.session(), b.session()
		b.acquire(busy)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			cancel(chat.E(chat.Stopped, "", nil))
		}()
		_, err := b.Acquire(ctx, other)
		wantCode(t, err, chat.Stopped)
		b.Release(busy.ID)
		b.say(other, "hello")
	})
}

func TestSessionNeverHasTwoProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{WorkerIdle: time.Minute})
		s := b.session()
		b.say(s, "hello")
		slow := make(chan struct{})
		b.agent.HoldCloses(slow)
		time.Sleep(2 * time.Minute) // it is on its way out, slowly
		got := make(chan worker.Worker)
		go func() { got <- b.acquire(s) }()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("opened while the old process lives")
		default:
		}
		b.agent.HoldCloses(nil)
		close(slow)
		<-got
		b.Release(s.ID)
		b.wantOpens(2)
	})
}

func TestManyWhoWantOneSessionOpenItOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			b.acquire(s)
			b.Release(s.ID)
		})
	}
	wg.Wait()
	b.wantOpens(1)
}

func TestStoppedOpeningLeavesTheSessionUsable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		s := b.session()
		hang := make(chan struct{})
		b.agent.HoldOpens(hang)
		ctx, cancel := context.WithCancelCause(t.Context())
		other := make(chan error, 1)
		go func() {
			synctest.Wait()
			go func() {
				_, err := b.Acquire(t.Context(), s)
				other <- err
			}()
			synctest.Wait()
			b.agent.HoldOpens(nil)
			cancel(chat.E(chat.Stopped, "", nil))
		}()
		_, err := b.Acquire(ctx, s)
		wantCode(t, err, chat.Stopped)
		if err := <-other; err != nil { // somebody else's stop is not ours
			t.Error(err)
		}
		b.Release(s.ID)
		b.say(s, "hello")
	})
}

func TestForgetEndsTheProcessWhateverItDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{MaxWorkers: 1})
		s := b.session()
		b.Forget(s.ID) // nothing to do

		b.say(s, "remember the word plum")
		b.Forget(s.ID) // idle
		if now, _ := b.agent.Live(); now != 0 {
			t.Fatal("the idle worker lives on")
		}

		b.acquire(s)
		b.Forget(s.ID) // busy
		if now, _ := b.agent.Live(); now != 0 {
			t.Fatal("the busy worker lives on")
		}
		waits := make(chan struct{})
		go func() {
			b.acquire(s)
			close(waits)
		}()
		synctest.Wait()
		select {
		case <-waits:
			t.Fatal("the session was given out twice")
		default:
		}
		b.Release(s.ID)
		<-waits
		b.Release(s.ID)
		b.Forget(s.ID)

		b.agent.HoldOpens(make(chan struct{}))
		got := make(chan error)
		go func() {
			_, err := b.Acquire(t.Context(), s)
			got <- err
		}()
		synctest.Wait()
		b.Forget(s.ID) // opening
		wantCode(t, <-got, chat.Stopped)
		b.agent.HoldOpens(nil)
		if got := b.say(s, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCloseEndsEverythingAtOnceAndForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{WorkerIdle: time.Hour})
		idle, busy, opening := b.session(), b.session(), b.session()
		b.say(idle, "hello")
		b.acquire(busy)
		b.agent.HoldOpens(make(chan struct{}))
		got := make(chan error, 1)
		go func() {
			_, err := b.Acquire(t.Context(), opening)
			got <- err
		}()
		synctest.Wait()
		b.Close()
		if now, _ := b.agent.Live(); now != 0 {
			t.Errorf("%d processes are left", now)
		}
		wantCode(t, <-got, chat.Shutdown)
		_, err := b.Acquire(t.Context(), idle)
		wantCode(t, err, chat.Shutdown)
		b.Warm(t.Context(), idle)
		b.Release(busy.ID)
		b.Close() // twice does no harm
	})
}

func TestWorkerIsOpenedAheadOfItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{MaxWorkers: 1})
		s, other := b.session(), b.session()
		b.Warm(t.Context(), s)
		b.Warm(t.Context(), s)
		synctest.Wait()
		if _, live := b.Live(s.ID); !live {
			t.Fatal("not opened")
		}
		b.acquire(s)
		b.Warm(t.Context(), other) // no room: no harm
		synctest.Wait()
		b.wantOpens(1)
		b.Release(s.ID)
		b.Warm(t.Context(), other) // an idle one makes room
		synctest.Wait()
		if _, live := b.Live(other.ID); !live {
			t.Error("not opened although a worker was idle")
		}
		if _, most := b.agent.Live(); most != 1 {
			t.Errorf("%d processes at once, want 1", most)
		}
	})
}

func TestTurnSharesTheFateOfAnOpeningAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		s := b.session()
		b.agent.HoldOpens(make(chan struct{}))
		start := time.Now()
		b.Warm(t.Context(), s)
		synctest.Wait()
		_, err := b.Acquire(t.Context(), s)
		wantCode(t, err, chat.StartTimeout)
		if d := time.Since(start); d > 31*time.Second {
			t.Errorf("waited %v: twice for the same thing", d)
		}
	})
}

// TestManagerUnderFire lets everything happen at once; the strict agent counts
// breaches, and the cap holds.
func TestManagerUnderFire(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{MaxWorkers: 3, WorkerIdle: time.Millisecond})
	var all []chat.Session
	for range 8 {
		all = append(all, b.session())
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 40 {
				s := all[rnd.IntN(len(all))]
				switch rnd.IntN(8) {
				case 0:
					b.Forget(s.ID)
				case 1:
					b.Warm(t.Context(), s)
				case 2:
					if w := b.agent.Worker(s.ID); w != nil {
						w.Kill()
					}
				case 3:
					_, _ = b.Set(t.Context(), s.ID, chat.SettingModel, "m")
				default:
					if _, err := b.Acquire(t.Context(), s); err == nil {
						b.Release(s.ID)
					} else if code := chat.CodeOf(err); code != chat.Stopped {
						t.Errorf("acquire: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	if _, most := b.agent.Live(); most > 3 {
		t.Errorf("%d processes at once, the cap is 3", most)
	}
	b.Close()
	if all, busy := b.Count(); all != 0 || busy != 0 {
		t.Errorf("%d workers are counted after Close, %d of them busy", all, busy)
	}
}
