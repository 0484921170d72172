package reply

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// channel is the state of one chat while there is something to send to it.
type channel struct {
	sender  *sender
	name    string
	account string
	poke    chan struct{}
	hurry   atomic.Bool // the account works again: do not wait for the next retry
	edits   []*Live     // guarded by sender.mu

	waits time.Time // it does nothing until then; guarded by sender.mu

	// The rest belongs to the channel's goroutine.
	fails   int       // in a row
	retryAt time.Time // not before, after a failure
	doubt   doubt     // about the row that may have arrived
}

// doubt counts how often the outcome of a row was looked into.
type doubt struct {
	row   int64
	tries int
}

func (c *channel) wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// work sends until nothing is left.
func (c *channel) work() {
	for c.sender.ctx.Err() == nil {
		select {
		case <-c.poke: // what woke us is seen now
		default:
		}
		wait, idle := c.step()
		switch {
		case idle:
			if c.sender.leave(c) {
				return
			}
		case wait > 0:
			c.rest(wait)
		}
	}
	c.sender.mu.Lock()
	defer c.sender.mu.Unlock()
	delete(c.sender.busy, c.name)
}

// rest waits, but not beyond a wake-up.
func (c *channel) rest(wait time.Duration) {
	c.sender.mu.Lock()
	c.waits = time.Now().Add(wait)
	c.sender.mu.Unlock()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.poke:
	case <-c.sender.ctx.Done():
	}
	c.sender.mu.Lock()
	c.waits = time.Time{}
	c.sender.mu.Unlock()
}

// step does the next thing for a channel, or says how long to wait for it;
// idle means that there is nothing.
func (c *channel) step() (wait time.Duration, idle bool) {
	if c.hurry.Swap(false) {
		c.retryAt = time.Time{}
	}
	if wait := time.Until(c.retryAt); wait > 0 {
		return wait, false
	}
	o, err := c.sender.ledger.NextOut(c.sender.ctx, c.name)
	switch {
	case err == nil:
		return c.row(o), false
	case chat.CodeOf(err) == chat.Missing:
		return c.edit()
	case c.sender.ctx.Err() != nil:
		return 0, false
	}
	return c.fail("outbox not read", err), false
}

// row sends the channel's next row, or says how long it has to wait.
func (c *channel) row(o chat.Out) time.Duration {
	a, ok := c.sender.adapters[o.Place.Account]
	if !ok {
		return c.fail("messages for an account that is not configured wait", nil)
	}
	traits := a.Traits()
	if o.Class == chat.OutProgress {
		if wait := time.Until(o.DueAt); wait > 0 && !traits.Local {
			c.sender.pace.pause(c.name, wait) // what the chat has to wait outlives this row
		}
		if wait, gone := c.cosmetic(&o); gone {
			return wait
		}
	}
	if err := c.aim(&o); err != nil {
		return c.fail("outbox not read", err)
	}
	if !traits.Local {
		if wait := c.due(o); wait > 0 {
			return wait
		}
		if wait := c.sender.pace.take(fareOf(c, o.Place, traits, false)); wait > 0 {
			return wait
		}
	}
	d := delivery{channel: c, adapter: a, out: o}
	return d.deliver()
}

// caution is how long, after the start, nobody touches a row whose send an
// earlier process did not bring to an end: it may have been told to wait.
const caution = 2 * time.Second

// due returns how long a row has to wait. A pause that an edit ran into is
// stored with the row, so that a restart does not cut it short.
func (c *channel) due(o chat.Out) time.Duration {
	if o.State == chat.OutSending {
		if wait := caution - time.Since(c.sender.pace.began); wait > 0 {
			return wait
		}
	}
	pause := c.sender.pace.paused(c.name)
	if time.Until(pause) > 0 && pause.Sub(o.DueAt) > time.Second {
		wait := c.store(func(ctx context.Context) error {
			return c.sender.ledger.Later(ctx, o.ID, pause, o.State == chat.OutPending, string(chat.Wait))
		})
		return max(wait, time.Until(pause))
	}
	return max(time.Until(pause), time.Until(o.DueAt))
}

func fareOf(c *channel, p chat.Place, t platform.Traits, cosmetic bool) fare {
	f := fare{channel: c.name, account: c.account, perChat: t.PerGroup, perAcct: t.PerAccount, cosmetic: cosmetic}
	if p.Direct {
		f.perChat = t.PerChat
	}
	return f
}

// store writes to the ledger, also while we end. It returns how long to wait
// before the next step.
func (c *channel) store(write func(context.Context) error) time.Duration {
	err := write(context.WithoutCancel(c.sender.ctx))
	switch chat.CodeOf(err) {
	case chat.CodeNone, chat.Conflict, chat.Missing: // somebody else settled the row
		return 0
	default:
		return c.fail("outbox not written", err)
	}
}

// fail notes that a channel does not get on, and returns how long to wait. One
// line of the log tells when it begins, another when it is over.
func (c *channel) fail(what string, err error) time.Duration {
	c.fails++
	if c.fails == 1 && c.sender.ctx.Err() == nil {
		c.sender.cfg.Log.WarnContext(c.sender.ctx, "nothing is delivered for now", "channel", c.name, "why", what, "err", err)
	}
	wait := min(firstRetry<<min(c.fails-1, 10), lastRetry)
	wait = wait*3/4 + rand.N(wait/2+1) //nolint:gosec // jitter
	c.retryAt = time.Now().Add(wait)
	return wait
}

// works notes that a channel gets on. Where an account was out of reach, its
// other channels need not wait for their next try.
func (c *channel) works() {
	if c.fails == 0 {
		return
	}
	c.sender.cfg.Log.InfoContext(c.sender.ctx, "messages are delivered again", "channel", c.name, "failures", c.fails)
	c.fails, c.retryAt = 0, time.Time{}
	c.sender.hurry(c.account)
}
