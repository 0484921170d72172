package reply

import (
	"sync"
	"time"

	"cligate/internal/platform"
)

// pacer keeps us within the platforms' budgets: a bucket per chat and one per
// account, and the pauses that a platform asked for. What is forgotten is only
// what does not matter any more.
type pacer struct {
	mu      sync.Mutex
	full    map[string]time.Time // bucket → when it will be full again
	pauses  map[string]pause     // channel → what the platform asked for
	cleaned time.Time
	began   time.Time
}

type pause struct {
	until time.Time // nothing is sent before
	slow  time.Time // edits come at half the pace until then
}

const (
	slowFor    = 10 * time.Minute
	cleanEvery = time.Minute
)

func newPacer() *pacer {
	return &pacer{full: map[string]time.Time{}, pauses: map[string]pause{}, began: time.Now()}
}

// fare is what one call costs: a token of each of two buckets.
type fare struct {
	channel, account string
	perChat, perAcct platform.Rate
	cosmetic         bool // leaves a reserve for what matters
}

// take pays for a call, or returns how long to wait before asking again.
func (p *pacer) take(f fare) (wait time.Duration) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clean(now)
	if until := p.pauses[f.channel].until; until.After(now) {
		return until.Sub(now)
	}
	chatKey, acctKey := "chat "+f.channel, "account "+f.account
	wait = max(p.missing(chatKey, f.perChat, f.cosmetic, now), p.missing(acctKey, f.perAcct, f.cosmetic, now))
	if wait > 0 {
		return wait
	}
	p.pay(chatKey, f.perChat, now)
	p.pay(acctKey, f.perAcct, now)
	return 0
}

// missing returns how long it takes until the bucket has a token to spare.
func (p *pacer) missing(key string, r platform.Rate, cosmetic bool, now time.Time) time.Duration {
	if r.Every <= 0 {
		return 0
	}
	spare := max(r.Burst, 1) - 1
	if cosmetic {
		spare -= (spare + 1) / 3
	}
	return p.fullAt(key, r).Add(-time.Duration(spare) * r.Every).Sub(now)
}

// scarce is how slowly a bucket fills of which nothing is given away: a token
// more than there was, for each time that a process dies, would soon be one too
// many.
const scarce = 2 * time.Second

// fullAt is when a bucket will be full again. Nobody knows what an earlier
// process had just used up, so at first only one token is there, and none where
// they are scarce.
func (p *pacer) fullAt(key string, r platform.Rate) time.Time {
	at, known := p.full[key]
	lacks := max(r.Burst, 1) - 1
	if r.Every >= scarce {
		lacks++
	}
	if first := p.began.Add(time.Duration(lacks) * r.Every); !known && first.After(at) {
		return first
	}
	return at
}

func (p *pacer) pay(key string, r platform.Rate, now time.Time) {
	if r.Every <= 0 {
		return
	}
	at := p.fullAt(key, r)
	if at.Before(now) {
		at = now
	}
	p.full[key] = at.Add(r.Every)
}

// pause notes that the platform wants nothing from us in a channel for d.
func (p *pacer) pause(channel string, d time.Duration) (until time.Time) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.pauses[channel]
	if until = now.Add(d); until.After(w.until) {
		w.until = until
	}
	w.slow = w.until.Add(slowFor)
	p.pauses[channel] = w
	return w.until
}

// paused returns until when nothing may be sent to a channel.
func (p *pacer) paused(channel string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pauses[channel].until
}

// slow reports whether edits of a channel come at half the pace.
func (p *pacer) slow(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.pauses[channel].slow)
}

// clean forgets full buckets and pauses that are over.
func (p *pacer) clean(now time.Time) {
	if now.Sub(p.cleaned) < cleanEvery {
		return
	}
	p.cleaned = now
	for k, t := range p.full {
		if t.Before(now) {
			delete(p.full, k)
		}
	}
	for k, w := range p.pauses {
		if w.slow.Before(now) {
			delete(p.pauses, k)
		}
	}
}
