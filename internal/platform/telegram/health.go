package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// trouble is why the account does not receive. The empty one means that all is
// well.
type trouble string

const (
	troubleNone        trouble = ""
	troubleStarting    trouble = "starting"
	troubleNetwork     trouble = "network"
	troubleForeign     trouble = "foreign" // somebody else's page instead of an answer
	troubleServer      trouble = "server"
	troubleBusy        trouble = "busy"     // told to wait
	troublePoller      trouble = "poller"   // a second program polls
	troubleWebhook     trouble = "webhook"  // a webhook takes the updates
	troubleRejected    trouble = "rejected" // the token is not accepted
	troubleStorage     trouble = "storage"  // what arrives cannot be stored
	troubleUnreadable  trouble = "unreadable"
	troubleTaken       trouble = "taken"       // another program has set a webhook of its own
	troubleUndelivered trouble = "undelivered" // the service cannot reach our webhook
)

// says puts t into words for the operator, in the operator's language.
func (t trouble) says(lang string) string {
	if t == troubleNone {
		return i18n.T(lang, "telegram.receiving")
	}
	return i18n.T(lang, "telegram."+string(t))
}

// tells reports whether t is what only the operator can end, so that it is said
// aloud, and whether the bot can still speak meanwhile.
func (t trouble) tells() (aloud, speaks bool) {
	switch t {
	case troublePoller, troubleWebhook, troubleTaken, troubleUndelivered:
		return true, true
	case troubleRejected:
		return true, false
	case troubleNone, troubleStarting, troubleNetwork, troubleForeign, troubleServer, troubleBusy, troubleStorage, troubleUnreadable:
	}
	return false, false
}

// link knows how the connection is. Each change is logged once.
type link struct {
	log   *slog.Logger
	lang  string // of the operator
	alarm func(detail string, speaks bool)
	now   func() time.Time

	mu     sync.Mutex
	state  trouble
	since  time.Time
	lastOK time.Time
	cause  string // what the service says of an undelivered update
	told   map[trouble]time.Time
	name   string // of the bot, once it is known
	// readAll says that the bot's privacy mode is off.
	readAll bool
}

// set changes the state. err is the cause, logged with the change.
func (l *link) set(ctx context.Context, t trouble, err error) {
	l.mu.Lock()
	before, since := l.state, l.since
	if t == troubleNone || t == troubleStorage {
		l.lastOK = l.now()
	}
	if t == before {
		l.mu.Unlock()
		return
	}
	l.state, l.since, l.cause = t, l.now(), ""
	if t == troubleUndelivered && err != nil {
		l.cause = err.Error()
	}
	detail := l.detail()
	l.mu.Unlock()

	switch {
	case t == troubleNone && before == troubleStarting:
		l.log.InfoContext(ctx, "receiving")
	case t == troubleNone:
		l.log.InfoContext(ctx, "receiving again", "after", l.now().Sub(since).Round(time.Second), "trouble", string(before))
	default:
		l.log.WarnContext(ctx, "not receiving", "trouble", string(t), "detail", detail, "err", err)
	}
	if aloud, speaks := t.tells(); aloud && l.alarm != nil && l.untold(t) {
		l.alarm(detail, speaks)
	}
}

// tellAgain is the least time between two words to the operator about the same
// trouble. A second program that takes turns with us would make it many.
const tellAgain = time.Hour

// untold reports whether the operator was not told of t lately, and notes that
// it is told now.
func (l *link) untold(t trouble) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.told[t]; ok && l.now().Sub(last) < tellAgain {
		return false
	}
	if l.told == nil {
		l.told = map[trouble]time.Time{}
	}
	l.told[t] = l.now()
	return true
}

// detail is the state in words. The lock is held.
func (l *link) detail() string {
	s := l.state.says(l.lang)
	if l.cause != "" {
		s = i18n.T(l.lang, "telegram.because", "trouble", s, "text", l.cause)
	}
	return s
}

// unproven reports whether it is open if the connection works. A second poller
// shows in long polls only, so that trouble is left to them.
func (l *link) unproven() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != troubleNone && l.state != troublePoller && l.state != troubleWebhook
}

func (l *link) health() platform.Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := platform.Health{Connected: l.state == troubleNone, Detail: l.detail(), LastOK: l.lastOK}
	return h
}

// called notes who the bot is.
func (l *link) called(me user) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name, l.readAll = me.Username, me.ReadAll
}

// overhears reports whether the bot is given what does not concern it.
func (l *link) overhears() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readAll
}

func (l *link) bot() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// rejected is the error of a token that is not accepted.
func (l *link) rejected(err error) error {
	return &chat.Error{Code: chat.Denied, Detail: troubleRejected.says(l.lang), Err: err}
}
