package turn

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
)

// sentDelay is how long "the prompt was written" may wait to be stored. The
// intent is durable already and means the same at recovery, so the row of a
// quick turn is written once, with its end.
const sentDelay = 100 * time.Millisecond

// clerk is the one goroutine beside a turn: it writes what the stream of
// events must not wait for, and watches the clocks. What it writes happens
// before the turn's end is written, or not at all.
type clerk struct {
	run  *run
	kick chan struct{}
	quit chan struct{}
	done sync.WaitGroup

	last  atomic.Int64 // time of the last sign of life, since run.started
	holds atomic.Int64 // running tools and open asks: silence means nothing
	wrote atomic.Bool  // the prompt was written

	mu     sync.Mutex
	jobs   []func(context.Context) error
	runner string
}

func newClerk(n *run) *clerk {
	c := &clerk{run: n, kick: make(chan struct{}, 1), quit: make(chan struct{})}
	c.done.Go(c.work)
	return c
}

// close ends the clerk. Jobs that were given before are done.
func (c *clerk) close() {
	close(c.quit)
	c.done.Wait()
	c.tidy()
}

// do has f done soon, in order.
func (c *clerk) do(f func(context.Context) error) {
	c.mu.Lock()
	c.jobs = append(c.jobs, f)
	c.mu.Unlock()
	c.wake()
}

// serves notes which process the turn runs in.
func (c *clerk) serves(process string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runner = process
}

// alive notes a sign of life.
func (c *clerk) alive() { c.last.Store(int64(time.Since(c.run.result.started))) }

// hold stops the clock of silence until release.
func (c *clerk) hold() { c.holds.Add(1) }

func (c *clerk) release() {
	c.alive()
	c.holds.Add(-1)
}

// sent has it stored that the prompt was written, unless the turn ends first.
func (c *clerk) sent() {
	c.wrote.Store(true)
	c.wake()
}

func (c *clerk) wake() {
	select {
	case c.kick <- struct{}{}:
	default: // it is awake already
	}
}

func (c *clerk) noteSent(ctx context.Context) error {
	c.mu.Lock()
	process := c.runner
	c.mu.Unlock()
	return c.run.books.Ledger.Advance(ctx, c.run.attempt.ID, chat.AttemptSent, process)
}

func (c *clerk) work() {
	cfg := c.run.cfg
	deadline := alarm(cfg.TurnTimeout)
	stall := alarm(c.first())
	var sent <-chan time.Time
	var told int64 = -1
	for {
		select {
		case <-c.quit:
			return
		case <-c.kick:
			c.tidy()
			if c.wrote.Swap(false) {
				sent = alarm(sentDelay)
			}
		case <-sent:
			c.do(c.noteSent)
		case <-deadline:
			c.run.stop(chat.E(chat.TimedOut, "", nil))
		case <-stall:
			var next time.Duration
			next, told = c.silence(told)
			stall = alarm(next)
		}
	}
}

// alarm fires once after d; 0 = never.
func alarm(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// first is the earliest time at which silence matters.
func (c *clerk) first() time.Duration {
	cfg := c.run.cfg
	if cfg.StallNotice > 0 && (cfg.StallStop <= 0 || cfg.StallNotice < cfg.StallStop) {
		return cfg.StallNotice
	}
	return cfg.StallStop
}

// silence looks at how long the agent has been silent and returns when to look
// again. told is the last sign of life that somebody was told about.
func (c *clerk) silence(told int64) (time.Duration, int64) {
	cfg := c.run.cfg
	if c.holds.Load() > 0 {
		return c.first(), told
	}
	last := c.last.Load()
	quiet := time.Since(c.run.result.started) - time.Duration(last)
	switch {
	case cfg.StallStop > 0 && quiet >= cfg.StallStop:
		c.run.stop(chat.E(chat.Stalled, "", nil))
		return 0, told
	case cfg.StallNotice > 0 && quiet >= cfg.StallNotice && told != last:
		c.run.cfg.Log.InfoContext(c.run.ctx, "agent is silent", "turn", c.run.turn.ID, "quiet", quiet)
		_ = c.run.say("stall/"+strconv.FormatInt(last, 10), c.run.words.stalling(quiet))
		told = last
	}
	if told != last {
		return c.first() - quiet, told
	}
	next := c.first() // early enough for a silence that follows this one
	if cfg.StallStop > 0 {
		next = min(next, cfg.StallStop-quiet)
	}
	return next, told
}

// tidy does the jobs.
func (c *clerk) tidy() {
	for {
		c.mu.Lock()
		if len(c.jobs) == 0 {
			c.mu.Unlock()
			return
		}
		job := c.jobs[0]
		c.jobs = c.jobs[1:]
		c.mu.Unlock()
		if err := job(context.WithoutCancel(c.run.ctx)); err != nil {
			c.run.cfg.Log.WarnContext(c.run.ctx, "note about the turn not stored", "turn", c.run.turn.ID, "err", err)
		}
	}
}
