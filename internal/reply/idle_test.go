package reply

import (
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

func TestThePacerForgetsWhatDoesNotMatterAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer()
		time.Sleep(time.Minute)
		f := fare{channel: "a/1", account: "a", perChat: platform.Rate{Every: time.Second, Burst: 2}, perAcct: platform.Rate{Every: time.Second, Burst: 30}}
		for range 2 {
			if w := p.take(f); w != 0 {
				t.Errorf("waits %v", w)
			}
		}
		if w := p.take(f); w != time.Second {
			t.Errorf("waits %v", w)
		}
		p.pause("a/2", time.Minute)
		time.Sleep(time.Hour)
		f.channel = "a/3"
		p.take(f)
		if len(p.full) != 2 || len(p.pauses) != 0 {
			t.Errorf("keeps %v and %v", p.full, p.pauses)
		}
	})
}

func TestWhatIsIdleCostsNothing(t *testing.T) {
	t.Parallel()
	s := newSender(nil, nil, Config{}.withDefaults())
	s.wake("a/1")
	c := s.busy["a/1"]
	<-c.poke
	if !s.leave(c) || len(s.busy) != 0 {
		t.Errorf("busy: %v", s.busy)
	}
	l := newLive(chat.Turn{ID: 7}, chat.Look{Lang: "en", Agent: "demo"})
	s.over = true // no goroutine here
	s.attach(l, platform.Traits{}, nil)
	if len(s.lives) != 0 {
		t.Error("keeps a live message that nobody will end")
	}
	s.lives[7] = l
	if s.release(7) != l || len(s.lives) != 0 {
		t.Errorf("lives: %v", s.lives)
	}
}
