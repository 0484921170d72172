package turn

import (
	"context"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// lookTime is how long an agent's own list of sessions is waited for.
const lookTime = 5 * time.Second

// takeBack is the first turn of a session since it was handed over to a
// terminal: it tells whether the session went on there. It looks before the
// agent is opened, which may touch what it looks at.
func (n *run) takeBack() error {
	if n.session.ParkedAt.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, lookTime)
	moved, err := n.sessions.Moved(ctx, n.session)
	cancel()
	switch {
	case n.ctx.Err() != nil:
		return context.Cause(n.ctx)
	case err != nil:
		n.cfg.Log.DebugContext(n.ctx, "not known whether the session moved", "session", n.session.ID, "err", err)
		_ = n.say("back", n.words.notice(i18n.T(n.words.lang, "turn.back", "agent", n.words.agent)))
	case moved:
		_ = n.say("back", n.words.notice(i18n.T(n.words.lang, "turn.moved")))
	}
	return n.insist(n.ctx, n.turn.ID, "return of the session", func(ctx context.Context) error {
		return n.books.Threads.Park(ctx, n.session.ID, time.Time{})
	})
}

// lasts reports whether the cause of a failure stays until a person does
// something, or the clock.
func (e ending) lasts() bool {
	return slices.Contains([]chat.Code{
		chat.NoSession, chat.LoggedOut, chat.NotInstalled, chat.TooOld, chat.Unasked, chat.Quota, chat.OverBudget,
	}, e.reason)
}

// stuck holds what waits behind a turn whose end says that the next one would
// end alike, and returns how many wait.
func (n *run) stuck(ctx context.Context, e ending) int {
	if n.books.Queue == nil || e.state != chat.TurnFailed || !e.lasts() && e.times < sameAgain {
		return 0
	}
	held, err := n.books.Queue.Hold(ctx, n.session.ID)
	if err != nil { // they will fail one after the other, visibly
		n.cfg.Log.WarnContext(ctx, "queue not held", "session", n.session.ID, "err", err)
		return 0
	}
	return held
}
