package telegram

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// DefaultAPIURL is Telegram's own Bot API server.
const DefaultAPIURL = "https://api.telegram.org"

// maxPoll is the longest wait that the server grants a poll.
const maxPoll = 50 * time.Second

// Config is one bot account. Zero values of the knobs mean the default.
type Config struct {
	Account string // key of this bot in the configuration
	Token   string // from BotFather; a secret
	APIURL  string // the Bot API server; default DefaultAPIURL
	Proxy   string // http, https or socks5 URL; empty = the proxy variables of the environment

	PollTimeout time.Duration // how long the server holds a poll open; default and most 50 s
	PollGrace   time.Duration // how much longer we wait before the connection counts as dead; default 15 s
	SendTimeout time.Duration // one call that is no poll, without the time for a file; default 30 s
	SettleBound int           // message ids looked at to settle a doubtful send; default 20
	Unpaced     bool          // the server has no limits of its own, so that we need no budget

	// Menu is the command menu, by language; "" is the one for every other
	// language. nil leaves the menu that the bot has.
	Menu map[string][]Command
	// Alarm is told, once per cause, about trouble that only the operator can
	// end: a second program on the same token, a webhook, a revoked token. It
	// must not block. May be nil.
	Alarm func(detail string)
}

// Command is one entry of the command menu.
type Command struct {
	Name        string // without the slash
	Description string
}

var tokenShape = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`)

// Validate reports everything that is wrong with c. It never shows the token.
func (c Config) Validate() error {
	var errs []error
	if c.Account == "" {
		errs = append(errs, errors.New("account: empty"))
	}
	if !tokenShape.MatchString(c.Token) {
		errs = append(errs, errors.New("token: not of the form 123456:ABC-DEF as BotFather gives it"))
	}
	if err := checkURL(c.APIURL, "http", "https"); err != nil {
		errs = append(errs, fmt.Errorf("api_url: %w", err))
	}
	if err := checkURL(c.Proxy, "http", "https", "socks5", "socks5h"); err != nil {
		errs = append(errs, fmt.Errorf("proxy: %w", err))
	}
	if c.PollTimeout < 0 || c.PollTimeout > maxPoll {
		errs = append(errs, fmt.Errorf("poll_timeout: not between 0 and %v", maxPoll))
	}
	if c.PollGrace < 0 || c.SendTimeout < 0 {
		errs = append(errs, errors.New("a timeout is negative"))
	}
	if c.SettleBound < 0 || c.SettleBound > 200 {
		errs = append(errs, errors.New("settle_bound: not between 0 and 200"))
	}
	return errors.Join(errs...)
}

// checkURL accepts an empty string. It does not repeat the URL, which may hold
// a password.
func checkURL(s string, schemes ...string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("not a URL")
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme && u.Host != "" && u.RawQuery == "" && u.Fragment == "" {
			return nil
		}
	}
	return fmt.Errorf("not a plain URL with one of the schemes %s", strings.Join(schemes, ", "))
}

func (c Config) withDefaults() Config {
	if c.APIURL == "" {
		c.APIURL = DefaultAPIURL
	}
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	if c.PollTimeout == 0 {
		c.PollTimeout = maxPoll
	}
	if c.PollGrace == 0 {
		c.PollGrace = 15 * time.Second
	}
	if c.SendTimeout == 0 {
		c.SendTimeout = 30 * time.Second
	}
	if c.SettleBound == 0 {
		c.SettleBound = 20
	}
	return c
}
