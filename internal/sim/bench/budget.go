package main

import (
	"slices"
	"time"
)

// budget models the service's limits for posts and edits: 1 a second in a chat
// after a burst of 3, 30 a second over all.
type budget struct {
	chats map[int64]*bucket
	all   bucket
}

type bucket struct {
	level float64 // tokens used
	at    time.Time
}

const (
	chatBurst = 3
	allBurst  = 30
)

func newBudget() *budget { return &budget{chats: map[int64]*bucket{}} }

// take reports whether one more call is allowed.
func (b *budget) take(chat int64, now time.Time) bool {
	c := b.chats[chat]
	if c == nil {
		c = &bucket{}
		b.chats[chat] = c
	}
	c.drain(now, 1)
	b.all.drain(now, allBurst)
	if c.level > chatBurst-1 || b.all.level > allBurst-1 {
		return false
	}
	c.level++
	b.all.level++
	return true
}

func (b *bucket) drain(now time.Time, perSecond float64) {
	b.level = max(0, b.level-now.Sub(b.at).Seconds()*perSecond)
	b.at = now
}

// busiest is the most calls in any window of that length.
func busiest(at []int64, window time.Duration) int {
	at = slices.Sorted(slices.Values(at))
	most, from := 0, 0
	for i := range at {
		for at[i]-at[from] >= int64(window) {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
