package reply

import (
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// pacer holds the budgets of posts and edits, per chat and per account. A
// budget is one instant: the time at which it is full again.
type pacer struct {
	mu     sync.Mutex
	full   map[string]time.Time // by channel, or account
	paused map[string]time.Time // a told wait, by channel
	swept  time.Time
}

func newPacer() *pacer {
	return &pacer{full: map[string]time.Time{}, paused: map[string]time.Time{}}
}

// budget is a rate with its key.
type budget struct {
	key  string
	rate platform.Rate
}

func budgets(p chat.Place, t platform.Traits) []budget {
	per := t.PerGroup
	if p.Direct {
		per = t.PerChat
	}
	return []budget{{p.Channel(), per}, {p.Account, t.PerAccount}}
}

// take uses one unit of every budget, or says how long to wait for it and uses
// nothing. A cosmetic call leaves one unit for what matters.
func (p *pacer) take(place chat.Place, t platform.Traits, cosmetic bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait := p.paused[place.Channel()].Sub(now)
	bs := budgets(place, t)
	for _, b := range bs {
		if b.rate.Every <= 0 {
			continue
		}
		burst := max(1, b.rate.Burst)
		if cosmetic && burst > 1 {
			burst--
		}
		room := time.Duration(burst) * b.rate.Every
		used := max(0, p.full[b.key].Sub(now)) + b.rate.Every
		wait = max(wait, used-room)
	}
	if wait > 0 {
		return wait
	}
	for _, b := range bs {
		if b.rate.Every > 0 {
			p.full[b.key] = later(p.full[b.key], now).Add(b.rate.Every)
		}
	}
	p.sweep(now)
	return 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pause obeys a told wait.
func (p *pacer) pause(channel string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused[channel] = later(p.paused[channel], until)
}

// sweep forgets budgets that are full: an idle chat costs nothing.
func (p *pacer) sweep(now time.Time) {
	if now.Sub(p.swept) < time.Minute {
		return
	}
	p.swept = now
	for _, m := range []map[string]time.Time{p.full, p.paused} {
		for k, t := range m {
			if t.Before(now) {
				delete(m, k)
			}
		}
	}
}
