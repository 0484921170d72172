package feishu

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"cligate/internal/platform/uplink"
)

// The open platforms: Feishu in mainland China, Lark elsewhere.
const (
	FeishuURL = "https://open.feishu.cn"
	LarkURL   = "https://open.larksuite.com"
)

// Mode is how events come.
type Mode string

// Modes.
const (
	WebSocket Mode = "websocket" // a long connection of ours; no address of our own is needed
	Webhook   Mode = "webhook"   // the service posts to an address of ours
)

// Config is one custom app. Zero values of the knobs mean the default.
type Config struct {
	Account   string // key of this app in the configuration
	AppID     string
	AppSecret string // a secret
	BaseURL   string // default FeishuURL
	Mode      Mode   // default WebSocket
	Proxy     string // http, https or socks5 URL; empty = the proxy variables of the environment

	EncryptKey        string // a secret; needed in webhook mode
	VerificationToken string // a secret; compared when set
	WebhookAddr       string // host:port that is listened on; default 127.0.0.1:8767
	WebhookPath       string // default /feishu

	ListenAll   bool          // groups are to be listened to altogether, which takes a scope
	CallTimeout time.Duration // one call, without the time for a file; default 30 s
	PingEvery   time.Duration // the most time between two pings; default 30 s, or what the service says if that is less
	Silence     time.Duration // a connection that brought no event for so long is renewed; default 30 min
	Lang        string        // of the operator
	Alarm       func(detail string, speaks bool)
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = FeishuURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.WebhookAddr == "" {
		c.WebhookAddr = "127.0.0.1:8767"
	}
	if c.WebhookPath == "" {
		c.WebhookPath = "/feishu"
	}
	if c.Mode == "" {
		c.Mode = WebSocket
	}
	for _, d := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&c.CallTimeout, 30 * time.Second}, {&c.PingEvery, 30 * time.Second}, {&c.Silence, 30 * time.Minute}} {
		if *d.to <= 0 {
			*d.to = d.def
		}
	}
	return c
}

// Validate reports everything that is wrong with c. No text contains a secret.
func (c Config) Validate() error {
	var bad []error
	if c.Account == "" {
		bad = append(bad, errors.New("the account has no name"))
	}
	if c.AppID == "" {
		bad = append(bad, errors.New("app_id is empty: it is in the developer console, under Credentials"))
	}
	if c.AppSecret == "" {
		bad = append(bad, errors.New("app_secret is empty: it is in the developer console, under Credentials"))
	}
	if c.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			bad = append(bad, fmt.Errorf("base_url is no http address; it is %s or %s", FeishuURL, LarkURL))
		}
	}
	if err := uplink.CheckURL(c.Proxy, uplink.ProxySchemes()...); err != nil {
		bad = append(bad, fmt.Errorf("proxy: %w", err))
	}
	switch c.Mode {
	case "", WebSocket:
	case Webhook:
		if c.EncryptKey == "" {
			bad = append(bad, errors.New("webhook mode needs the Encrypt Key: without it anybody could post events; set one in the developer console, under Events and Callbacks"))
		}
	default:
		bad = append(bad, fmt.Errorf("mode %q is neither %s nor %s", c.Mode, WebSocket, Webhook))
	}
	return errors.Join(bad...)
}
