package web

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// limiter bounds how often a sender may fail. It is asked before anything of
// the request is parsed.
type limiter struct {
	burst float64
	every time.Duration // one more try per
	mu    sync.Mutex
	from  map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const maxBuckets = 1024

func newLimiter(burst int, every time.Duration) *limiter {
	return &limiter{burst: float64(burst), every: every, from: map[string]bucket{}}
}

// take uses up one try of a sender; false = there is none left.
func (l *limiter) take(who string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.from[who]
	switch {
	case !known && len(l.from) >= maxBuckets && !l.forgetFull(now):
		return false // more senders than can be told apart: all of them wait
	case !known:
		b = bucket{left: l.burst, at: now}
	}
	b = l.filled(b, now)
	ok := b.left >= 1
	if ok {
		b.left--
	}
	l.from[who] = b
	return ok
}

// give returns a try that was well used.
func (l *limiter) give(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, known := l.from[who]; known {
		b.left = min(l.burst, b.left+1)
		l.from[who] = b
	}
}

func (l *limiter) filled(b bucket, now time.Time) bucket {
	if gone := now.Sub(b.at); gone > 0 {
		b.left = min(l.burst, b.left+gone.Seconds()/l.every.Seconds())
		b.at = now
	}
	return b
}

// forgetFull drops the senders that have all their tries again.
func (l *limiter) forgetFull(now time.Time) bool {
	for who, b := range l.from {
		if l.filled(b, now).left >= l.burst {
			delete(l.from, who)
		}
	}
	return len(l.from) < maxBuckets
}

// sender is whom a limit counts for: the peer's address, an IPv6 one by its
// network.
func sender(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}
