package telegram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
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
	Rich        bool          // answers may be rich messages where a conversation does not say
	Unpaced     bool          // the server has no limits of its own, so that we need no budget

	// Webhook makes Telegram deliver; the zero one means that we poll.
	Webhook Webhook
	// RemoveWebhook allows to remove a webhook that somebody else set for this
	// bot, when we poll. One that we set ourselves is removed in any case.
	RemoveWebhook bool

	// Menus returns the command menus that the bot is to have now, the narrower
	// scopes after the wider ones. nil leaves those that the bot has.
	Menus func(context.Context) ([]Menu, error)
	// Files opens the files that rows only name. May be nil: then rows carry
	// theirs.
	Files platform.Files
	// Alarm is told, once per cause, about trouble that only the operator can
	// end: a second program on the same token, a webhook, a revoked token. It
	// must not block. speaks says that the bot can still send. May be nil.
	Alarm func(detail string, speaks bool)
	Lang  string // of the operator, for Alarm and the health; empty = English
}

// Command is one entry of the command menu.
type Command struct {
	Name        string // without the slash
	Description string
}

var secretShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

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
	if err := uplink.CheckURL(c.APIURL, "http", "https"); err != nil {
		errs = append(errs, fmt.Errorf("api_url: %w", err))
	}
	if err := uplink.CheckURL(c.Proxy, uplink.ProxySchemes()...); err != nil {
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
	errs = append(errs, c.Webhook.problems(c.APIURL)...)
	return errors.Join(errs...)
}

// problems reports what is wrong with a webhook at the Bot API server api.
func (w Webhook) problems(api string) []error {
	if !w.on() {
		return nil
	}
	var errs []error
	u, err := url.Parse(w.URL)
	cloud := api == "" || strings.TrimRight(api, "/") == DefaultAPIURL
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && (cloud || u.Scheme != "http"):
		errs = append(errs, errors.New("webhook_url: not an https address that Telegram can call"))
	case cloud && !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		errs = append(errs, errors.New("webhook_url: Telegram calls the ports 443, 80, 88 and 8443 only"))
	}
	if _, _, err := net.SplitHostPort(w.Addr); err != nil {
		errs = append(errs, errors.New("webhook_addr: not host:port"))
	}
	if w.Path != "" && !strings.HasPrefix(w.Path, "/") {
		errs = append(errs, errors.New("webhook_path: does not begin with /"))
	}
	if !secretShape.MatchString(w.Secret) {
		errs = append(errs, errors.New("webhook_secret: needed, 1 to 256 of A-Z a-z 0-9 _ -; without it anybody could speak as Telegram"))
	}
	return errs
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
	if c.Webhook.on() && c.Webhook.Path == "" {
		c.Webhook.Path = "/"
		if u, err := url.Parse(c.Webhook.URL); err == nil && u.Path != "" {
			c.Webhook.Path = u.Path
		}
	}
	return c
}
