package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	tokenRule  = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]{20,}$`)
	ownerRule  = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
	secretRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

	proxySchemes = []string{"http", "https", "socks5", "socks5h"}
	hookPorts    = []string{"", "443", "80", "88", "8443"} // those that Telegram calls
)

// checkTelegram returns every problem of the bots, each by itself and with the
// others.
func (c *Config) checkTelegram() []string {
	bad := c.Telegram.check("telegram.")
	seen := map[string]bool{"telegram": true, "web": true}
	tokens := map[string]bool{c.Telegram.Token: c.Telegram.Token != ""}
	for i, b := range c.TelegramBots {
		at := fmt.Sprintf("telegram_bots[%d].", i)
		if !nameRule.MatchString(b.Name) || seen[b.Name] {
			bad = append(bad, fmt.Sprintf("%sname: %q is empty, taken or not a plain lower-case name", at, b.Name))
		}
		seen[b.Name] = true
		switch {
		case b.Token == "":
			bad = append(bad, at+"token: missing")
		case tokens[b.Token]:
			bad = append(bad, at+"token: used by another bot")
		}
		tokens[b.Token] = true
		bad = append(bad, b.check(at)...)
	}
	return bad
}

// check returns every problem of one bot.
func (t Telegram) check(at string) (bad []string) {
	if t.Token != "" && !tokenRule.MatchString(t.Token) {
		bad = append(bad, at+"token: not a bot token (BotFather's tokens look like 123456:ABC…)")
	}
	if u, err := url.Parse(t.APIURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		bad = append(bad, fmt.Sprintf("%sapi_url: %q is not an http(s) address", at, t.APIURL))
	}
	bad = append(bad, checkProxy(at, t.Proxy)...)
	for _, o := range t.Owners {
		if !ownerRule.MatchString(o) {
			bad = append(bad, fmt.Sprintf("%sowners: %q is not a numeric user id (names can change hands; /whoami or a first message shows the id)", at, o))
		}
	}
	if t.PollTimeout < 0 || t.PollTimeout > 50*time.Second {
		bad = append(bad, at+"poll_timeout: between 0 and 50s")
	}
	if !slices.Contains([]string{modePolling, modeWebhook}, t.Mode) {
		bad = append(bad, fmt.Sprintf("%smode: %q is not polling or webhook", at, t.Mode))
	}
	if t.Webhooks() && t.Token != "" {
		bad = append(bad, t.checkWebhook(at)...)
	}
	return bad
}

// checkProxy does not repeat the address, which may hold a password.
func checkProxy(at, proxy string) []string {
	u, err := url.Parse(proxy)
	if proxy == "" || err == nil && u.Host != "" && slices.Contains(proxySchemes, u.Scheme) {
		return nil
	}
	return []string{at + "proxy: not a proxy address (http://, https:// or socks5://)"}
}

// checkWebhook returns every problem of a bot that is delivered to.
func (t Telegram) checkWebhook(at string) (bad []string) {
	u, err := url.Parse(t.WebhookURL)
	cloud := strings.TrimRight(t.APIURL, "/") == Default().Telegram.APIURL
	switch {
	case t.WebhookURL == "":
		bad = append(bad, at+"webhook_url: missing; Telegram has to know where to deliver")
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && (cloud || u.Scheme != "http"):
		bad = append(bad, at+"webhook_url: not an https address")
	case cloud && !slices.Contains(hookPorts, u.Port()):
		bad = append(bad, at+"webhook_url: Telegram calls the ports 443, 80, 88 and 8443 only")
	case t.Token != "" && strings.Contains(t.WebhookURL+t.WebhookPath, t.Token):
		bad = append(bad, at+"webhook_url: holds the bot token, which would stand in every log on the way; webhook_secret is what keeps others out")
	}
	if !hostPort(t.WebhookAddr) {
		bad = append(bad, fmt.Sprintf("%swebhook_addr: %q is not host:port, with a port from 1 to 65535", at, t.WebhookAddr))
	}
	if t.WebhookPath != "" && !strings.HasPrefix(t.WebhookPath, "/") {
		bad = append(bad, at+"webhook_path: does not begin with /")
	}
	switch {
	case t.WebhookSecret == "":
		bad = append(bad, at+"webhook_secret: missing; without it anybody could speak as Telegram. `openssl rand -hex 32` makes one")
	case !secretRule.MatchString(t.WebhookSecret):
		bad = append(bad, at+"webhook_secret: 1 to 256 of A-Z a-z 0-9 _ -")
	}
	return bad
}
