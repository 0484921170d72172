package app

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceAfterWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		released := 0
		m.release = func() { released++ }
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { m.run(ctx) })
		want := func(n int, when string) {
			t.Helper()
			synctest.Wait()
			if released != n {
				t.Errorf("%s: given back %d times, want %d", when, released, n)
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
