package config

import (
	"strings"
	"testing"
)

const hookBot = "CLIGATE_TELEGRAM_TOKEN=123456:abcdefghijklmnopqrstuvwxyz"

func TestAWebhookIsNotStartedWithoutASecret(t *testing.T) {
	good := []string{hookBot, "CLIGATE_TELEGRAM_MODE=webhook", "CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org/in"}
	_, err := load(t, "", good...)
	wantProblem(t, err, "telegram.webhook_secret", "missing")
	if _, err := load(t, "", append(good, "CLIGATE_TELEGRAM_WEBHOOK_SECRET=abc-DEF_1")...); err != nil {
		t.Errorf("a whole one: %v", err)
	}
	for secret, part := range map[string]string{"a b": "1 to 256", strings.Repeat("x", 257): "1 to 256"} {
		_, err := load(t, "", append(good, "CLIGATE_TELEGRAM_WEBHOOK_SECRET="+secret)...)
		wantProblem(t, err, "telegram.webhook_secret", part)
	}
}

func TestAWebhookNeedsWhatTelegramAcceptsAndItsOwnAddress(t *testing.T) {
	base := []string{hookBot, "CLIGATE_TELEGRAM_MODE=webhook", "CLIGATE_TELEGRAM_WEBHOOK_SECRET=abc"}
	for name, c := range map[string]struct {
		env  []string
		want []string
	}{
		"no address":       {nil, []string{"telegram.webhook_url", "missing"}},
		"plain http":       {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=http://bot.example.org/"}, []string{"telegram.webhook_url", "https"}},
		"odd port":         {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org:9000/"}, []string{"telegram.webhook_url", "8443"}},
		"the token in it":  {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org/123456:abcdefghijklmnopqrstuvwxyz"}, []string{"telegram.webhook_url", "token"}},
		"odd listener":     {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org/", "CLIGATE_TELEGRAM_WEBHOOK_ADDR=x"}, []string{"telegram.webhook_addr"}},
		"the web chat's":   {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org/", "CLIGATE_TELEGRAM_WEBHOOK_ADDR=0.0.0.0:8765"}, []string{"telegram.webhook_addr", "web.addr"}},
		"path without /":   {[]string{"CLIGATE_TELEGRAM_WEBHOOK_URL=https://bot.example.org/", "CLIGATE_TELEGRAM_WEBHOOK_PATH=in"}, []string{"telegram.webhook_path"}},
		"no such mode":     {[]string{"CLIGATE_TELEGRAM_MODE=push"}, []string{"telegram.mode", "push"}},
		"no such proxy":    {[]string{"CLIGATE_TELEGRAM_PROXY=ftp://h:1"}, []string{"telegram.proxy"}},
		"proxy of no host": {[]string{"CLIGATE_TELEGRAM_PROXY=socks5://"}, []string{"telegram.proxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, "", append(base, c.env...)...)
			wantProblem(t, err, c.want...)
		})
	}
	own := append(base, "CLIGATE_TELEGRAM_API_URL=http://127.0.0.1:8081", "CLIGATE_TELEGRAM_WEBHOOK_URL=http://127.0.0.1:9000/in")
	if _, err := load(t, "", own...); err != nil {
		t.Errorf("a Bot API server of one's own: %v", err)
	}
}

func TestBotsThatGetInEachOthersWayAreNamed(t *testing.T) {
	_, err := load(t, `
telegram: {token: "123456:abcdefghijklmnopqrstuvwxyz", mode: webhook, webhook_url: "https://bot.example.org/in", webhook_secret: a}
telegram_bots:
  - {name: two, token: "222222:abcdefghijklmnopqrstuvwxyz", mode: webhook, webhook_url: "https://bot.example.org/in", webhook_secret: b}
  - {name: three, token: "333333:abcdefghijklmnopqrstuvwxyz", mode: webhook, webhook_url: "https://bot.example.org/3", webhook_secret: c, webhook_addr: "0.0.0.0:8766"}
  - {name: four, token: "333333:abcdefghijklmnopqrstuvwxyz"}
  - {name: two, token: "555555:abcdefghijklmnopqrstuvwxyz"}
`)
	wantProblem(t, err, "telegram_bots[0].webhook_path", "/in", "telegram")
	wantProblem(t, err, "telegram_bots[1].webhook_addr", "cannot be bound beside")
	wantProblem(t, err, "telegram_bots[2].token", "used by another bot")
	wantProblem(t, err, "telegram_bots[3].name", "taken")
	c, err := load(t, `
telegram: {token: "123456:abcdefghijklmnopqrstuvwxyz", mode: webhook, webhook_url: "https://bot.example.org/1", webhook_secret: canary-one, webhook_addr: "127.0.0.1:9001"}
telegram_bots:
  - {name: two, token: "222222:abcdefghijklmnopqrstuvwxyz", mode: webhook, webhook_url: "https://bot.example.org/2", webhook_secret: canary-two}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.TelegramBots[0].WebhookAddr; got != "127.0.0.1:9001" {
		t.Errorf("a further bot listens at %s", got)
	}
	out, err := c.Print()
	if err != nil || strings.Contains(out, "canary") {
		t.Errorf("printed: %v\n%s", err, out)
	}
	if n := len(c.Secrets()); n != 4 {
		t.Errorf("%d secrets known", n)
	}
}
