package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/session"
)

func TestRecycledWorkersAreClosedWhenNobodyUsesThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		idle, busy := b.session(), b.session()
		b.say(idle, "remember the word plum")
		b.say(busy, "remember the word pear")
		b.acquire(busy)
		b.Recycle("another")
		synctest.Wait()
		if _, live := b.Live(idle.ID); !live {
			t.Error("another agent's worker was closed")
		}
		b.Recycle("fake")
		synctest.Wait()
		if _, live := b.Live(idle.ID); live {
			t.Error("the idle worker lives on")
		}
		if all, _ := b.Count(); all != 1 {
			t.Errorf("%d workers live, the busy one was to stay", all)
		}
		b.Release(busy.ID)
		synctest.Wait()
		if all, _ := b.Count(); all != 0 {
			t.Error("what was busy lives on")
		}
		if got := b.say(idle, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
		if got := b.say(busy, "what was the word?"); got != "the word was pear" {
			t.Errorf("got %q", got)
		}
		if n := len(b.agent.Opens()); n != 4 {
			t.Errorf("%d processes were started, want 4", n)
		}
	})
}

func TestProcessThatAloneKnowsItsSessionIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		b := setup(t, session.Config{WorkerIdle: time.Minute, MaxWorkers: 2, Agents: session.Agents{
			Forgets: func(string) bool { opened++; return opened == 1 },
		}})
		only, other, third := b.session(), b.session(), b.session()
		b.say(only, "remember the word plum")
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, live := b.Live(only.ID); !live {
			t.Fatal("closed for idleness")
		}
		b.say(other, "hello")
		b.say(third, "hello") // there is room for two
		if _, live := b.Live(only.ID); !live {
			t.Error("it made room, although another could")
		}
		b.Recycle("fake")
		synctest.Wait()
		if _, live := b.Live(only.ID); !live {
			t.Error("recycled")
		}
		b.acquire(third)
		b.say(other, "hello") // nobody else can make room
		if _, live := b.Live(only.ID); live {
			t.Error("it stays although others wait")
		}
		b.Release(third.ID)
	})
}
