package opencode

import (
	"context"
	"errors"
	"sync"
	"time"

	"cligate/internal/chat"
)

// run sees a turn through: it takes events, looks whether the turn is over, and
// ends it when it is told to. All of it happens in one goroutine.
type run struct {
	*Worker
	*turn
	order  order
	posted chan error // how the request ended
	tasks  sync.WaitGroup

	accepted bool      // the request was taken
	stopping time.Time // when the turn was told to end; zero = it was not
	result   error     // of a turn that was told to end
	strikes  int       // looks that found a resting session and no answer
	resting  time.Time // since when
}

// until runs the turn to its end and returns how it ended.
func (r *run) until(ctx context.Context) error {
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	abort := time.NewTicker(abortEvery)
	defer abort.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case h := <-r.events:
			r.take(h)
			r.drain()
			if r.giveUp != nil && r.stopping.IsZero() {
				r.stop(ctx, r.giveUp)
			}
		case err := <-r.posted:
			if over, err := r.answered(ctx, err); over {
				return err
			}
		case <-look.C:
			r.check = true
		case <-cancelled:
			cancelled = nil
			r.quiet = true
			r.stop(ctx, context.Cause(ctx))
		case <-abort.C:
			if r.stopping.IsZero() {
				continue
			}
			if time.Since(r.stopping) > r.driver.cfg.Grace {
				r.abandon(ctx)
				return r.result
			}
			r.abortNow(ctx)
			r.check = true
		case <-r.gone:
			r.drain() // its last words
			if !r.stopping.IsZero() {
				return r.result
			}
			return r.crash()
		}
		if !r.check {
			continue
		}
		r.check = false
		over, err := r.settle(ctx)
		if over {
			return r.ending(err)
		}
		next := lookEvery
		if r.strikes > 0 {
			next = lookAgain
		}
		look.Reset(next)
	}
}

// ending is the result of a turn that is over.
func (r *run) ending(err error) error {
	if !r.stopping.IsZero() {
		return r.result
	}
	return err
}

// drain takes what has come meanwhile, so that one look serves for all.
func (r *run) drain() {
	for {
		select {
		case h := <-r.events:
			r.take(h)
		default:
			return
		}
	}
}

// answered takes the answer to the request.
func (r *run) answered(ctx context.Context, err error) (over bool, _ error) {
	no := (*refusalError)(nil)
	switch {
	case err == nil:
		r.accepted = true
		r.wasSent()
		r.check = r.order.whole
		return false, nil
	case errors.As(err, &no) && no.unknown():
		return true, r.ending(chat.E(chat.NoSession, "", err))
	case errors.As(err, &no) && r.order.whole:
		// The turn may have begun all the same: its own end tells more.
		r.accepted, r.check = true, true
		if r.stash == nil {
			r.stash = &no.failure
		}
		return false, nil
	case errors.As(err, &no):
		return true, r.ending(no.asError(no))
	}
	// The connection broke. Whether the request was taken, the session tells.
	r.Worker.log.WarnContext(ctx, "request not answered", "err", err)
	r.accepted, r.check = true, true
	return false, nil
}

// stop begins to end the turn, whose result is then err.
func (r *run) stop(ctx context.Context, err error) {
	r.stopping, r.result = time.Now(), err
	r.strikes, r.resting = 0, time.Time{}
	r.steered.stop()
	r.abortNow(ctx)
}

// abortNow tells the server to end the turn. One that has not begun yet cannot
// be ended, so this is done again until it is over.
func (r *run) abortNow(ctx context.Context) {
	if !r.accepted && !r.sent { // the request is on its way
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	if err := r.api.abort(ctx, r.id); err != nil && !isClosed(r.lease.server.life.Done()) {
		r.Worker.log.WarnContext(ctx, "turn not ended", "err", err)
	}
}

// abandon leaves a turn that does not end.
func (r *run) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	r.forsake(ctx)
}
