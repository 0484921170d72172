package telegram

import (
	"sync"
	"time"
)

// rates model the budgets: posts and edits together, one per second and chat
// after a short burst (at most 3 in any second, 5 in any 3 seconds), 20 per
// minute and group, 30 per second and bot. A
// caller that comes back before a told wait is over is counted.
type rates struct {
	mu         sync.Mutex
	chat       map[int64][]time.Time
	bot        []time.Time
	paused     map[int64]time.Time
	violations []Violation
	enforce    bool
}

// Violation is a call against the rates.
type Violation struct {
	At     time.Time // the Call's
	Chat   int64
	Method string
	Why    string
}

// BeyondRate is why a violation is one that no wait was told for.
const BeyondRate = "beyond the rate"

func newRates() *rates {
	return &rates{chat: map[int64][]time.Time{}, paused: map[int64]time.Time{}}
}

// EnforceRates makes the server refuse what is beyond the rates; without it
// they are only counted.
func (r *rates) EnforceRates(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enforce = on
}

// Violations returns the calls against the rates so far.
func (r *rates) Violations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Violation(nil), r.violations...)
}

// pause notes a told wait.
func (r *rates) pause(chat int64, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused[chat] = time.Now().Add(d)
}

const (
	chatSecond = 3 // in any second
	chatThree  = 5 // in any three seconds
	groupLimit = 20
	botLimit   = 30
	slack      = 20 * time.Millisecond // clocks of two processes
)

// admit counts one post or edit and says whether it is refused and for how
// long. The call came at at; how long it waited for its turn here is not the
// caller's doing.
func (r *rates) admit(chat int64, group bool, method string, at time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if until, ok := r.paused[chat]; ok && now.Before(until.Add(-slack)) {
		r.violations = append(r.violations, Violation{at, chat, method, "came back before the told wait was over"})
		return until.Sub(now), false
	}
	hist := keep(r.chat[chat], now.Add(-time.Minute))
	wait := time.Duration(0)
	if group {
		if n := len(hist); n >= groupLimit {
			wait = time.Minute - now.Sub(hist[n-groupLimit])
		}
	} else if within(hist, now.Add(slack-time.Second)) >= chatSecond || within(hist, now.Add(slack-3*time.Second)) >= chatThree {
		wait = time.Second
	}
	r.bot = keep(r.bot, now.Add(-time.Second))
	if len(r.bot) >= botLimit+2 {
		wait = max(wait, time.Second)
	}
	if wait > slack {
		r.violations = append(r.violations, Violation{at, chat, method, BeyondRate})
		if r.enforce {
			r.paused[chat] = now.Add(wait)
			return wait, false
		}
	}
	r.chat[chat] = append(hist, now)
	r.bot = append(r.bot, now)
	return 0, true
}

func keep(ts []time.Time, since time.Time) []time.Time {
	for len(ts) > 0 && ts[0].Before(since) {
		ts = ts[1:]
	}
	return ts
}

func within(ts []time.Time, since time.Time) int { return len(keep(ts, since)) }
