package feishu

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// trouble is why the account does not receive. The empty one means that all is
// well.
type trouble string

const (
	troubleNone     trouble = ""
	troubleStarting trouble = "starting"
	troubleNetwork  trouble = "network"
	troubleCrowded  trouble = "crowded"  // too many programs are connected as this app
	troubleRejected trouble = "rejected" // the app or its secret is not accepted
	troubleStorage  trouble = "storage"  // what arrives cannot be stored
)

// says puts t into words for the operator, in the operator's language.
func (t trouble) says(lang string) string {
	if t == troubleNone {
		return i18n.T(lang, "feishu.receiving")
	}
	return i18n.T(lang, "feishu."+string(t))
}

// tells reports whether only the operator can end t, so that it is said aloud,
// and whether the bot can still speak meanwhile.
func (t trouble) tells() (aloud, speaks bool) {
	switch t {
	case troubleCrowded:
		return true, true
	case troubleRejected:
		return true, false
	case troubleNone, troubleStarting, troubleNetwork, troubleStorage:
	}
	return false, false
}

// link knows how the connection is. Each change is logged once.
type link struct {
	log   *slog.Logger
	lang  string
	alarm func(detail string, speaks bool)
	now   func() time.Time

	mu     sync.Mutex
	state  trouble
	since  time.Time
	lastOK time.Time
	told   map[string]time.Time
}

// tellAgain is the least time between two words to the operator about the same
// trouble.
const tellAgain = time.Hour

// set changes the state. err is the cause, logged with the change.
func (l *link) set(ctx context.Context, t trouble, err error) {
	l.mu.Lock()
	before, since := l.state, l.since
	if t == troubleNone {
		l.lastOK = l.now()
	}
	if t == before {
		l.mu.Unlock()
		return
	}
	l.state, l.since = t, l.now()
	l.mu.Unlock()
	switch {
	case t == troubleNone && before == troubleStarting:
		l.log.InfoContext(ctx, "receiving")
	case t == troubleNone:
		l.log.InfoContext(ctx, "receiving again", "after", l.now().Sub(since).Round(time.Second), "trouble", string(before))
	default:
		l.log.WarnContext(ctx, "not receiving", "trouble", string(t), "err", err)
	}
	if aloud, speaks := t.tells(); aloud {
		l.tell(string(t), t.says(l.lang), speaks)
	}
}

// tell says something to the operator, the same thing once in a while only.
func (l *link) tell(what, detail string, speaks bool) {
	l.mu.Lock()
	last, ok := l.told[what]
	again := ok && l.now().Sub(last) < tellAgain
	if !again {
		if l.told == nil {
			l.told = map[string]time.Time{}
		}
		l.told[what] = l.now()
	}
	l.mu.Unlock()
	if !again && l.alarm != nil {
		l.alarm(detail, speaks)
	}
}

// alive notes a sign of life.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastOK = l.now()
}

func (l *link) health() platform.Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	return platform.Health{Connected: l.state == troubleNone, Detail: l.state.says(l.lang), LastOK: l.lastOK}
}
