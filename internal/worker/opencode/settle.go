package opencode

import (
	"context"
	"errors"
	"time"

	"cligate/internal/chat"
)

// How many messages are asked for, and how long a resting session is waited
// for.
const (
	fewMessages  = 4
	manyMessages = 100 // when events were missed

	restUntold     = time.Second      // the answer is finished, and the stream has not said so
	restAfterError = time.Second      // an error was told, and nothing came of it
	restAfterStop  = 2 * time.Second  // the turn may not have begun when it was stopped
	restAtMost     = 30 * time.Second // the server may still be getting ready
)

// settle asks the server whether the turn is over, and shows what was missed.
// The end is what the server says, never a single event: some come twice, and
// late.
func (r *run) settle(ctx context.Context) (over bool, _ error) {
	ctx = context.WithoutCancel(ctx)
	all, err := r.api.statuses(ctx)
	if err != nil {
		r.Worker.log.DebugContext(ctx, "status not told", "err", err)
		return false, nil
	}
	if s, ok := all[r.id]; ok && s.Type != statusIdle {
		r.busy, r.strikes, r.resting = true, 0, time.Time{}
		if r.missed {
			r.asks.review(ctx, r.turn, r.Worker)
		}
		return false, nil
	}
	n := fewMessages
	if r.missed || r.steered.some() {
		n = manyMessages
	}
	ms, err := r.api.messages(ctx, r.id, n)
	if no := (*refusalError)(nil); errors.As(err, &no) && no.unknown() {
		return true, chat.E(chat.NoSession, "", err)
	}
	if err != nil {
		r.Worker.log.DebugContext(ctx, "messages not told", "err", err)
		return false, nil
	}
	r.missed = false
	r.drain()
	last := r.review(ms)
	if last.done() && (r.idled || r.rested() > restUntold) {
		over, err = true, r.outcome(last)
	} else {
		over, err = r.rest(last)
	}
	if over && r.holdOn(ctx) {
		return false, nil
	}
	return over, err
}

// review takes messages as they now are, and returns the turn's last one.
func (r *run) review(ms []message) (last info) {
	for _, m := range ms {
		r.note(m.Info)
		if m.Info.ID <= r.mark {
			continue
		}
		r.message(m.Info, false)
		if m.Info.Role != roleAssistant {
			for _, p := range m.Parts {
				r.steered.found(p.ID, m.Info.ID)
			}
			if !r.steered.holds(m.Info.ID) {
				last = m.Info
			}
			continue
		}
		last = m.Info
		for _, p := range m.Parts {
			r.part(p)
			if shown := r.parts[p.ID]; shown != nil {
				shown.holed = true // what the stream still has of it is known
			}
		}
	}
	return last
}

// outcome is how an answer ended.
func (r *run) outcome(last info) error {
	if last.Error == nil {
		return nil
	}
	return last.Error.asError(errFailed)
}

// errFailed says that the agent itself reported the failure.
var errFailed = errors.New("the agent reported a failure")

// rested is for how long the session has been seen to rest.
func (r *run) rested() time.Duration {
	if r.resting.IsZero() {
		return 0
	}
	return time.Since(r.resting)
}

// strike notes a look that found a resting session.
func (r *run) strike() {
	r.strikes++
	if r.resting.IsZero() {
		r.resting = time.Now()
	}
}

// rest decides about a session that rests although no answer is finished, or
// although the stream has not told the end of it.
func (r *run) rest(last info) (over bool, _ error) {
	r.strike()
	rested := r.rested()
	if !r.accepted {
		return false, nil
	}
	switch {
	case r.strikes < 2, last.done():
	case !r.stopping.IsZero():
		return r.busy || rested > restAfterStop, nil
	case r.stash != nil && rested > restAfterError:
		return true, r.stash.asError(errFailed)
	case rested > restAtMost:
		return true, chat.E(chat.Protocol, "", errors.New("the session rests and has no answer"))
	}
	return false, nil
}
