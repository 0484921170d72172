package telegram

import (
	"log/slog"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform/uplink"
)

// Why the account does not receive.
const (
	troubleNone        = uplink.None
	troubleNetwork     = uplink.Network
	troubleRejected    = uplink.Rejected // the token is not accepted
	troubleStorage     = uplink.Storage
	troubleForeign     = uplink.Trouble("foreign") // somebody else's page instead of an answer
	troubleServer      = uplink.Trouble("server")
	troubleBusy        = uplink.Trouble("busy")    // told to wait
	troublePoller      = uplink.Trouble("poller")  // a second program polls
	troubleWebhook     = uplink.Trouble("webhook") // a webhook takes the updates
	troubleUnreadable  = uplink.Trouble("unreadable")
	troubleTaken       = uplink.Trouble("taken")       // another program has set a webhook of its own
	troubleUndelivered = uplink.Trouble("undelivered") // the service cannot reach our webhook
)

// says puts t into words for the operator.
func says(lang string, t uplink.Trouble) string {
	if t == troubleNone {
		return i18n.T(lang, "telegram.receiving")
	}
	return i18n.T(lang, "telegram."+string(t))
}

// tone is how the operator is told of t.
func tone(t uplink.Trouble) uplink.Tone {
	switch t {
	case troublePoller, troubleWebhook, troubleTaken, troubleUndelivered:
		return uplink.Tone{Aloud: true, Speaks: true}
	case troubleRejected:
		return uplink.Tone{Aloud: true}
	default:
		return uplink.Tone{}
	}
}

// link knows how the connection is, and what the service says about the bot.
type link struct {
	*uplink.State
	lang string // of the operator

	mu   sync.Mutex
	name string // of the bot, once it is known
	// readAll says that the bot's privacy mode is off.
	readAll bool
}

func newLink(cfg Config, log *slog.Logger) *link {
	return &link{lang: cfg.Lang, State: uplink.NewState(uplink.Voice{
		Lang: cfg.Lang, Tone: tone, Tell: cfg.Alarm, Says: func(t uplink.Trouble) string { return says(cfg.Lang, t) },
	}, log)}
}

// unproven reports whether it is open if the connection works. A second poller
// shows in long polls only, so that trouble is left to them.
func (l *link) unproven() bool {
	t := l.Trouble()
	return t != troubleNone && t != troublePoller && t != troubleWebhook
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
	return &chat.Error{Code: chat.Denied, Detail: says(l.lang, troubleRejected), Err: err}
}
