package turn

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Uninvited is the way in for turns that the session's agent starts by itself
// (worker.Spec.Uninvited). Such a turn takes the session's lane like any other
// and answers where the session's last turn did. While a turn of the session
// runs already, what the agent says belongs to that.
func (r *Runner) Uninvited(session int64) func(ctx context.Context) (worker.Host, func(error)) {
	return func(ctx context.Context) (worker.Host, func(error)) {
		for ctx.Err() == nil && r.seats.unlessClosed(func() {}) {
			n := r.seats.current(session)
			if n == nil {
				if host, end, ok := r.welcome(ctx, session); ok {
					return host, end
				}
				continue
			}
			if n.takes(ctx) {
				return n.host, func(error) {}
			}
		}
		return nil, func(error) {}
	}
}

// takes reports whether n takes events; if it does not, it is over by then.
func (n *run) takes(ctx context.Context) bool {
	select {
	case <-n.ready:
		if !n.host.isClosed() {
			return true
		}
	case <-n.over:
		return false
	case <-ctx.Done():
		return false
	}
	select {
	case <-n.over:
	case <-ctx.Done():
	}
	return false
}

// welcome opens a turn for the agent. ok is false when another turn was faster;
// without an error to blame, a nil host means that there is nobody to tell.
func (r *Runner) welcome(ctx context.Context, session int64) (h worker.Host, end func(error), ok bool) {
	nobody := func(error) {}
	last, err := r.books.History.LastTurn(ctx, session)
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "output of an agent dropped", "session", session, "err", err)
		return nil, nobody, true
	}
	last = chat.Turn{
		Conversation: last.Conversation, Session: session, Place: last.Place, Origin: chat.OriginAgent, By: last.By,
	}
	n, err := r.prepare(context.WithoutCancel(ctx), last)
	if err != nil {
		return nil, nobody, true
	}
	if !r.seats.take(n, session) {
		n.stop(nil)
		return nil, nil, false
	}
	t, a, err := r.books.Ledger.Uninvited(context.WithoutCancel(ctx), session, last.Place.ID)
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "turn of an agent not opened", "session", session, "err", err)
		r.seats.leave(n)
		return nil, nobody, true
	}
	t.By = last.By // may decide what the agent asks
	r.seats.update(func() { n.turn, n.attempt, n.words.turn = t, a, t })
	n.begin()
	over := make(chan error, 1)
	r.spawn(func() { n.alone(over) })
	return n.host, func(err error) {
		select {
		case over <- err:
		default: // it ended before
		}
	}, true
}

// alone waits for the end of a turn that the agent runs. A stop ends the
// agent's process, for nothing else is sure to end what nobody asked for.
func (n *run) alone(over <-chan error) {
	parcel{n}.box(chat.Input{})
	if err := n.afford(); err != nil {
		n.stop(err)
	}
	var err error
	select {
	case err = <-over:
	case <-n.ctx.Done():
		err = context.Cause(n.ctx)
		if chat.CodeOf(err) != chat.Shutdown {
			n.sessions.Forget(n.session.ID)
		}
	}
	_, live := n.sessions.Live(n.session.ID)
	n.result.died = !live
	n.end(err)
}
