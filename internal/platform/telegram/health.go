package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/platform"
)

// trouble is why the account does not receive. The empty one means that all is
// well.
type trouble string

const (
	troubleNone       trouble = ""
	troubleStarting   trouble = "starting"
	troubleNetwork    trouble = "network"
	troubleForeign    trouble = "foreign" // somebody else's page instead of an answer
	troubleServer     trouble = "server"
	troubleBusy       trouble = "busy"     // told to wait
	troublePoller     trouble = "poller"   // a second program polls
	troubleWebhook    trouble = "webhook"  // a webhook takes the updates
	troubleRejected   trouble = "rejected" // the token is not accepted
	troubleStorage    trouble = "storage"  // what arrives cannot be stored
	troubleUnreadable trouble = "unreadable"
)

// words are for the operator.
var words = map[trouble]string{
	troubleNone:       "receiving",
	troubleStarting:   "not connected yet",
	troubleNetwork:    "Telegram cannot be reached; trying again",
	troubleForeign:    "what answers at the API address is not a Bot API server (a proxy, a captive portal, a wrong api_url?); trying again",
	troubleServer:     "Telegram reports an internal error; trying again",
	troubleBusy:       "Telegram asked to wait; going on after that",
	troublePoller:     "another program receives with the same bot token; stop it, or give this one its own bot. Messages may go to either until then",
	troubleWebhook:    "a webhook is set for this bot, so nothing arrives here; remove it with deleteWebhook if no other program needs it",
	troubleRejected:   "Telegram does not accept the bot token; set telegram.token to the one that BotFather shows",
	troubleStorage:    "messages cannot be stored, so they are left at Telegram; trying again",
	troubleUnreadable: "Telegram sends updates without a number; trying again",
}

// link knows how the connection is. Each change is logged once.
type link struct {
	log   *slog.Logger
	alarm func(string)
	now   func() time.Time

	mu     sync.Mutex
	state  trouble
	since  time.Time
	lastOK time.Time
	note   string // something to tell that is no trouble
	name   string // of the bot, once it is known
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
	l.state, l.since = t, l.now()
	l.mu.Unlock()

	switch {
	case t == troubleNone && before == troubleStarting:
		l.log.InfoContext(ctx, "receiving")
	case t == troubleNone:
		l.log.InfoContext(ctx, "receiving again", "after", l.now().Sub(since).Round(time.Second), "trouble", string(before))
	default:
		l.log.WarnContext(ctx, "not receiving", "trouble", string(t), "detail", words[t], "err", err)
	}
	if l.alarm != nil && (t == troublePoller || t == troubleWebhook || t == troubleRejected) {
		l.alarm(words[t])
	}
}

// unproven reports whether it is open if the connection works. A second poller
// shows in long polls only, so that trouble is left to them.
func (l *link) unproven() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != troubleNone && l.state != troublePoller && l.state != troubleWebhook
}

func (l *link) remark(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = s
}

func (l *link) health() platform.Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := platform.Health{Connected: l.state == troubleNone, Detail: words[l.state], LastOK: l.lastOK}
	if l.note != "" {
		h.Detail += "; " + l.note
	}
	return h
}

// called notes the bot's name.
func (l *link) called(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

func (l *link) bot() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}
