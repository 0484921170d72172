package app

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceAfterWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var released atomic.Int64
		m.release = func() { released.Add(1) }
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { m.run(ctx) })
		want := func(n int64, when string) {
			t.Helper()
			synctest.Wait()
			if got := released.Load(); got != n {
				t.Errorf("%s: given back %d times, want %d", when, got, n)
			}
		}
		time.Sleep(2 * calmTime)
		want(1, "after the start")
		for range 20 {
			m.touch()
			m.touch()
			time.Sleep(calmTime / 2)
		}
		want(1, "in the middle of work")
		time.Sleep(calmTime)
		want(2, "after work")
		time.Sleep(100 * calmTime)
		want(2, "with nothing to do")
		cancel()
		wg.Wait()
	})
}
