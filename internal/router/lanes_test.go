package router

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

// heap is a queue of turns in memory.
type heap struct {
	mu    sync.Mutex
	turns map[int64][]chat.Turn
	next  int64
	looks atomic.Int64
	err   error
}

func (q *heap) put(session int64) chat.Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	t := chat.Turn{ID: q.next, Session: session, Conversation: session}
	q.turns[session] = append(q.turns[session], t)
	return t
}

func (q *heap) drop(t chat.Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns[t.Session] = slices.DeleteFunc(q.turns[t.Session], func(o chat.Turn) bool { return o.ID == t.ID })
}

func (q *heap) NextTurn(_ context.Context, session int64) (chat.Turn, error) {
	q.looks.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return chat.Turn{}, q.err
	}
	if len(q.turns[session]) == 0 {
		return chat.Turn{}, chat.E(chat.Missing, "", nil)
	}
	return q.turns[session][0], nil
}

func (q *heap) WaitingSessions(context.Context) ([]int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []int64
	for id, ts := range q.turns {
		if len(ts) > 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// hand runs turns by a function.
type hand func(ctx context.Context, t chat.Turn)

func (h hand) Run(ctx context.Context, t chat.Turn) { h(ctx, t) }
func (h hand) Stop(int64, chat.Code) bool           { return false }

func (h hand) Steer(context.Context, int64, chat.Input) error { return nil }

func (h hand) Replace(context.Context, int64, chat.Input) error { return nil }

func lanesFor(t *testing.T, q *heap, run hand) *Lanes {
	t.Helper()
	return newLanes(t.Context(), q, run, func(chat.Turn) {}, slog.New(slog.DiscardHandler))
}

func TestNoWakeUpIsLost(t *testing.T) {
	t.Parallel()
	const sessions, each = 8, 400
	q := &heap{turns: map[int64][]chat.Turn{}}
	var left sync.WaitGroup
	left.Add(sessions * each)
	var mu sync.Mutex
	running, last := map[int64]bool{}, map[int64]int64{}
	l := lanesFor(t, q, func(_ context.Context, turn chat.Turn) {
		mu.Lock()
		if running[turn.Session] {
			t.Errorf("two turns of session %d at once", turn.Session)
		}
		if turn.ID <= last[turn.Session] {
			t.Errorf("turn %d after %d", turn.ID, last[turn.Session])
		}
		running[turn.Session], last[turn.Session] = true, turn.ID
		mu.Unlock()
		q.drop(turn)
		mu.Lock()
		running[turn.Session] = false
		mu.Unlock()
		left.Done()
	})
	var writers sync.WaitGroup
	for s := range int64(sessions) {
		writers.Go(func() {
			for range each {
				q.put(s)
				l.Wake(s)
				if rand.N(4) == 0 {
					time.Sleep(time.Duration(rand.N(50)) * time.Microsecond) // let lanes leave between
				}
			}
		})
	}
	writers.Wait()
	done := make(chan struct{})
	go func() { left.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("turns were left in the queue")
	}
	l.Drain(0)
	if n := len(l.lanes); n != 0 {
		t.Errorf("%d lanes are left", n)
	}
}

// late is a queue that a turn is put into just when nothing was found.
type late struct {
	*heap
	l    *Lanes
	once sync.Once
}

func (q *late) NextTurn(ctx context.Context, session int64) (chat.Turn, error) {
	t, err := q.heap.NextTurn(ctx, session)
	if err != nil {
		q.once.Do(func() {
			q.put(session)
			q.l.Wake(session)
		})
	}
	return t, err
}

func TestWakeUpBetweenLookingAndLeavingIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &late{heap: &heap{turns: map[int64][]chat.Turn{}}}
		var ran atomic.Int64
		q.l = newLanes(t.Context(), q, hand(func(_ context.Context, turn chat.Turn) { q.drop(turn); ran.Add(1) }),
			func(chat.Turn) {}, slog.New(slog.DiscardHandler))
		q.l.Wake(1)
		synctest.Wait()
		if ran.Load() != 1 {
			t.Error("the turn was left in the queue")
		}
		q.l.Drain(0)
	})
}

func TestTurnThatIsNotClaimedIsNotTriedInALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &heap{turns: map[int64][]chat.Turn{}}
		turn := q.put(1)
		var tries atomic.Int64
		l := lanesFor(t, q, func(context.Context, chat.Turn) {
			if tries.Add(1) == 20 {
				q.drop(turn)
			}
		})
		l.Wake(1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := tries.Load(); n > 12 {
			t.Errorf("tried %d times in 10 s", n)
		}
		l.Wake(1) // somebody knows better: at once
		synctest.Wait()
		before := tries.Load()
		l.Wake(1)
		synctest.Wait()
		if tries.Load() != before+1 {
			t.Errorf("a wake-up did not end the pause")
		}
		time.Sleep(time.Minute)
		l.Drain(0)
	})
}

func TestUnreadableQueueIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &heap{turns: map[int64][]chat.Turn{}, err: errors.New("disk")}
		turn := q.put(1)
		var ran atomic.Bool
		l := lanesFor(t, q, func(context.Context, chat.Turn) { ran.Store(true); q.drop(turn) })
		l.Wake(1)
		time.Sleep(10 * time.Second)
		if n := q.looks.Load(); n > 12 {
			t.Errorf("looked %d times in 10 s", n)
		}
		q.mu.Lock()
		q.err = nil
		q.mu.Unlock()
		time.Sleep(10 * time.Second)
		if !ran.Load() {
			t.Error("the turn did not run")
		}
		l.Drain(0)
	})
}

func TestPanicEndsOneTurnOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &heap{turns: map[int64][]chat.Turn{}}
		q.put(1)
		q.put(1)
		var ran []int64
		l := lanesFor(t, q, func(_ context.Context, turn chat.Turn) {
			q.drop(turn)
			ran = append(ran, turn.ID)
			if turn.ID == 1 {
				panic("a defect")
			}
		})
		l.Wake(1)
		synctest.Wait()
		if !slices.Equal(ran, []int64{1, 2}) {
			t.Errorf("ran %v", ran)
		}
		l.Drain(0)
	})
}

func TestStopSaysWhyAndStopsOnlyWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &heap{turns: map[int64][]chat.Turn{}}
		q.put(1)
		q.put(2)
		causes := make(chan error, 2)
		l := lanesFor(t, q, func(ctx context.Context, turn chat.Turn) {
			q.drop(turn)
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
		l.Wake(1)
		l.Wake(2)
		synctest.Wait()
		if l.Stop(3, chat.Stopped) {
			t.Error("stopped a session without turns")
		}
		for range 2 {
			if !l.Stop(1, chat.Stopped) {
				t.Error("did not stop")
			}
		}
		if got := chat.CodeOf(<-causes); got != chat.Stopped {
			t.Errorf("cause = %s", got)
		}
		synctest.Wait()
		if l.Stop(1, chat.Stopped) {
			t.Error("stopped a turn that was over")
		}
		l.Drain(time.Second)
		if got := chat.CodeOf(<-causes); got != chat.Shutdown {
			t.Errorf("cause = %s", got)
		}
		l.Wake(1)
		if n := len(l.lanes); n != 0 {
			t.Errorf("%d lanes after draining", n)
		}
	})
}

func TestStopWhileLookingKeepsTheTurnFromStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowQueue{heap: &heap{turns: map[int64][]chat.Turn{}}}
		turn := slow.put(1)
		var ran atomic.Bool
		l := newLanes(t.Context(), slow, hand(func(context.Context, chat.Turn) { ran.Store(true); slow.drop(turn) }),
			func(chat.Turn) {}, slog.New(slog.DiscardHandler))
		l.Wake(1)
		time.Sleep(500 * time.Millisecond) // it looks
		slow.drop(turn)                    // held meanwhile
		if l.Stop(1, chat.Stopped) {
			t.Error("nothing ran yet")
		}
		time.Sleep(time.Minute)
		if ran.Load() {
			t.Error("the turn was started after the stop")
		}
		l.Drain(0)
	})
}

// slowQueue answers with what was true a second ago.
type slowQueue struct{ *heap }

func (q *slowQueue) NextTurn(ctx context.Context, session int64) (chat.Turn, error) {
	t, err := q.heap.NextTurn(ctx, session)
	time.Sleep(time.Second)
	return t, err
}
