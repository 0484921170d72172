package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// posted is where one account would be delivered to.
type posted struct{ at, addr, path string }

// posts lists the accounts that are delivered to.
func (c *Config) posts() (out []posted) {
	telegram := func(at string, t Telegram) {
		if !t.Webhooks() || t.Token == "" {
			return
		}
		path := t.WebhookPath
		if u, err := url.Parse(t.WebhookURL); path == "" && err == nil {
			path = u.Path
		}
		if path == "" {
			path = "/"
		}
		out = append(out, posted{at, t.WebhookAddr, path})
	}
	feishu := func(at string, f Feishu) {
		if f.Webhooks() && f.Configured() {
			out = append(out, posted{at, f.WebhookAddr, f.WebhookPath})
		}
	}
	telegram("telegram.", c.Telegram)
	for i, b := range c.TelegramBots {
		telegram(fmt.Sprintf("telegram_bots[%d].", i), b.Telegram)
	}
	feishu("feishu.", c.Feishu)
	for i, a := range c.FeishuApps {
		feishu(fmt.Sprintf("feishu_apps[%d].", i), a.Feishu)
	}
	return out
}

// checkHooks finds accounts that would be delivered to the same path, and
// addresses that the web chat has.
func (c *Config) checkHooks() (bad []string) {
	var before []posted
	for _, p := range c.posts() {
		if clash(p.addr, c.Web.Addr) {
			bad = append(bad, fmt.Sprintf("%swebhook_addr: %s is that of the web chat (web.addr)", p.at, p.addr))
		}
		for _, o := range before {
			other := strings.TrimSuffix(o.at, ".")
			switch {
			case o.addr == p.addr && o.path == p.path:
				bad = append(bad, fmt.Sprintf("%swebhook_path: %s at %s is that of %s", p.at, p.path, p.addr, other))
			case o.addr != p.addr && clash(o.addr, p.addr):
				bad = append(bad, fmt.Sprintf("%swebhook_addr: %s cannot be bound beside %s of %s; give both the same", p.at, p.addr, o.addr, other))
			}
		}
		before = append(before, p)
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func hostPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	n, no := strconv.ParseUint(port, 10, 16)
	return err == nil && no == nil && n > 0
}

// clash reports whether two addresses cannot both be listened at.
func clash(a, b string) bool {
	ha, pa, erra := net.SplitHostPort(a)
	hb, pb, errb := net.SplitHostPort(b)
	if erra != nil || errb != nil || pa != pb || pa == "0" {
		return false
	}
	wild := func(h string) bool { return h == "" || h == "0.0.0.0" || h == "::" }
	return ha == hb || wild(ha) || wild(hb)
}
