package router

import (
	"slices"
	"time"

	"cligate/internal/chat"
)

const (
	// burstMost bounds how long a stream of companions can keep a turn from
	// starting.
	burstMost = 5 * time.Second
	// burstRows bounds how many messages one turn is made of.
	burstRows = 100
	// coarse is how exactly services say when a message was sent.
	coarse = time.Second
)

// author is whose messages may belong together: one person in one place.
type author struct {
	place  int64
	person string
}

func authorOf(in chat.Inbound) author { return author{in.Place.ID, in.Sender.ID} }

// burst is messages that will become one turn.
type burst struct {
	author author
	rows   []chat.Inbound
	to     thread  // what its first reply goes on with
	edits  []int64 // edits that are worked in already, to be settled with the turn
	bare   bool    // a command of the agent's own: nothing stands before it
	first  time.Time
	due    time.Time
}

// bursts holds the messages that wait for companions, in the order in which
// their authors began. It belongs to the router's goroutine.
type bursts struct {
	window time.Duration // after a message; 0 = off
	album  time.Duration // after an item of an album, or of what may be one; 0 = off
	open   []*burst
}

// wait is how long companions of in are waited for.
func (b *bursts) wait(in chat.Inbound) time.Duration {
	if in.Group != "" || in.Strewn {
		return b.album
	}
	return b.window
}

// add takes a message. It returns the burst that in completes: the earlier one
// of its author when in does not belong to it; in itself when nothing is to be
// waited for.
func (b *bursts) add(in chat.Inbound, to thread, now time.Time) (ready []*burst) {
	who := authorOf(in)
	cur := b.find(who)
	// A reply goes to the session of what it answers, with what follows it.
	if cur != nil && (!b.together(cur.rows[len(cur.rows)-1], in) || to.turn.ID != 0 && to.session != cur.to.session) {
		ready = append(ready, b.take(who))
		cur = nil
	}
	if cur == nil {
		cur = &burst{author: who, to: to, first: now}
		b.open = append(b.open, cur)
	}
	due := now.Add(b.wait(in))
	if in.Strewn || !slices.ContainsFunc(cur.rows, strewn) || due.After(cur.due) { // words do not end the wait for pictures
		cur.due = due
	}
	cur.rows = append(cur.rows, in)
	if last := cur.first.Add(burstMost); cur.due.After(last) {
		cur.due = last
	}
	if !cur.due.After(now) || len(cur.rows) >= burstRows {
		ready = append(ready, b.take(who))
	}
	return ready
}

// together reports whether two messages of one author were sent as one: items
// of one album, or within the window of each other. Messages that lay around
// together, because the daemon was down, were not.
func (b *bursts) together(a, in chat.Inbound) bool {
	if a.Group != "" && a.Group == in.Group {
		return true
	}
	return in.SentAt.Sub(a.SentAt).Abs() <= max(b.wait(a), b.wait(in))+coarse
}

func strewn(in chat.Inbound) bool { return in.Strewn }

func (b *bursts) find(who author) *burst {
	i := slices.IndexFunc(b.open, func(x *burst) bool { return x.author == who })
	if i < 0 {
		return nil
	}
	return b.open[i]
}

// take removes and returns the open burst of an author; nil when there is none.
func (b *bursts) take(who author) *burst {
	i := slices.IndexFunc(b.open, func(x *burst) bool { return x.author == who })
	if i < 0 {
		return nil
	}
	x := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	return x
}

// due removes and returns the bursts whose time has come. What a service brings
// out of order goes first: a burst of the same conversation that was begun
// later and sent earlier.
func (b *bursts) due(now time.Time) (ready []*burst) {
	var open []*burst
	for i, x := range b.open {
		ripe := !x.due.After(now) || slices.ContainsFunc(b.open[:i], func(y *burst) bool {
			return !y.due.After(now) && y.rows[0].Conversation == x.rows[0].Conversation && x.sent().Before(y.sent())
		})
		if ripe {
			ready = append(ready, x)
		} else {
			open = append(open, x)
		}
	}
	b.open = open
	slices.SortStableFunc(ready, func(x, y *burst) int { return x.sent().Compare(y.sent()) })
	return ready
}

// sent is when the first message of a burst was sent.
func (x *burst) sent() time.Time {
	return slices.MinFunc(x.rows, func(a, b chat.Inbound) int { return a.SentAt.Compare(b.SentAt) }).SentAt
}

// next is when the first burst is due; zero when none is open.
func (b *bursts) next() time.Time {
	var t time.Time
	for _, x := range b.open {
		if t.IsZero() || x.due.Before(t) {
			t = x.due
		}
	}
	return t
}

// holds reports whether a message waits here.
func (b *bursts) holds(inbound int64) bool {
	return slices.ContainsFunc(b.open, func(x *burst) bool {
		return slices.Contains(x.edits, inbound) ||
			slices.ContainsFunc(x.rows, func(in chat.Inbound) bool { return in.ID == inbound })
	})
}

// with returns the open burst and the row in it that a platform message of a
// place is; nil when there is none.
func (b *bursts) with(place int64, msg string) (*burst, int) {
	for _, x := range b.open {
		if x.author.place != place {
			continue
		}
		if i := slices.IndexFunc(x.rows, func(in chat.Inbound) bool { return in.Ref.ID == msg }); i >= 0 {
			return x, i
		}
	}
	return nil, 0
}

// sorted puts messages into the order in which they were sent; those that the
// service says were sent at the same time stay as they arrived.
func sorted(rows []chat.Inbound) []chat.Inbound {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b chat.Inbound) int { return a.SentAt.Compare(b.SentAt) })
	return rows
}
