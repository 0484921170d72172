package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Feishu is one custom app on Feishu or Lark.
type Feishu struct {
	AppID         string   `mapstructure:"app_id"`
	AppSecret     string   `mapstructure:"app_secret" secret:"true"`
	AppSecretFile string   `mapstructure:"app_secret_file"`
	BaseURL       string   `mapstructure:"base_url"`            // https://open.feishu.cn, https://open.larksuite.com
	Owners        []string `mapstructure:"owners"`              // open_ids
	Mode          string   `mapstructure:"mode"`                // websocket, webhook
	Proxy         string   `mapstructure:"proxy" secret:"true"` // may carry a password
	ProxyFile     string   `mapstructure:"proxy_file"`
	// Silence is how long the long connection may bring no event before it is
	// renewed: some answer pings and bring nothing any more.
	Silence time.Duration `mapstructure:"silence"`

	WebhookAddr           string `mapstructure:"webhook_addr"` // host:port that is listened on
	WebhookPath           string `mapstructure:"webhook_path"`
	EncryptKey            string `mapstructure:"encrypt_key" secret:"true"`
	EncryptKeyFile        string `mapstructure:"encrypt_key_file"`
	VerificationToken     string `mapstructure:"verification_token" secret:"true"`
	VerificationTokenFile string `mapstructure:"verification_token_file"`
}

// NamedFeishu is a further app.
type NamedFeishu struct {
	Name   string `mapstructure:"name"`
	Feishu `mapstructure:",squash"`
}

var openIDRule = regexp.MustCompile(`^ou_[A-Za-z0-9_]+$`)

// modeSocket is the mode without an address of our own.
const modeSocket = "websocket"

// defaultFeishu is an app without any key set.
func defaultFeishu() Feishu {
	return Feishu{BaseURL: "https://open.feishu.cn", Mode: modeSocket, WebhookAddr: "127.0.0.1:8767", WebhookPath: "/feishu", Silence: 30 * time.Minute}
}

// Configured reports whether there is an app.
func (f Feishu) Configured() bool { return f.AppID != "" }

// Webhooks reports whether the service delivers to an address of ours.
func (f Feishu) Webhooks() bool { return f.Mode == modeWebhook }

// fill gives a further app what it leaves out.
func (f *Feishu) fill(from Feishu) {
	for _, s := range []struct {
		to  *string
		def string
	}{{&f.BaseURL, from.BaseURL}, {&f.Mode, defaultFeishu().Mode}, {&f.WebhookAddr, from.WebhookAddr}, {&f.WebhookPath, from.WebhookPath}} {
		if *s.to == "" {
			*s.to = s.def
		}
	}
	if f.Silence == 0 {
		f.Silence = from.Silence
	}
}

// secrets are the values to be hidden.
func (f *Feishu) secrets() []*string {
	return []*string{&f.AppSecret, &f.Proxy, &f.EncryptKey, &f.VerificationToken}
}

// secretFiles are where they may stand.
func (f Feishu) secretFiles() []string {
	return []string{f.AppSecretFile, f.ProxyFile, f.EncryptKeyFile, f.VerificationTokenFile}
}

// checkFeishu returns every problem of the apps.
func (c *Config) checkFeishu() []string {
	bad := c.Feishu.check("feishu.")
	seen := map[string]bool{c.Feishu.AppID: c.Feishu.AppID != ""}
	names := map[string]bool{}
	for _, b := range c.TelegramBots {
		names[b.Name] = true
	}
	for i, a := range c.FeishuApps {
		at := fmt.Sprintf("feishu_apps[%d].", i)
		bad = append(bad, a.check(at)...)
		switch {
		case !nameRule.MatchString(a.Name):
			bad = append(bad, fmt.Sprintf("%sname: %q is not a name (a-z, 0-9, _ and -, at most 32)", at, a.Name))
		case names[a.Name], a.Name == "feishu", a.Name == "telegram", a.Name == "web":
			bad = append(bad, fmt.Sprintf("%sname: %q is taken", at, a.Name))
		}
		names[a.Name] = true
		switch {
		case a.AppID == "":
			bad = append(bad, at+"app_id: missing")
		case seen[a.AppID]:
			bad = append(bad, at+"app_id: is that of another app here")
		}
		seen[a.AppID] = true
	}
	return bad
}

func (f Feishu) check(at string) (bad []string) {
	if f.Mode != modeSocket && f.Mode != modeWebhook {
		bad = append(bad, fmt.Sprintf("%smode: %q is not websocket or webhook", at, f.Mode))
	}
	if u, err := url.Parse(f.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		bad = append(bad, fmt.Sprintf("%sbase_url: %q is not an http address", at, f.BaseURL))
	}
	bad = append(bad, checkProxy(at, f.Proxy)...)
	if f.Silence < time.Second {
		bad = append(bad, fmt.Sprintf("%ssilence: %s is less than 1s", at, f.Silence))
	}
	for _, o := range f.Owners {
		if !openIDRule.MatchString(o) {
			bad = append(bad, fmt.Sprintf("%sowners: %q is not an open_id of this app, which begins with ou_ (/whoami or a first message shows it)", at, o))
		}
	}
	switch {
	case !f.Configured() && f.AppSecret != "":
		bad = append(bad, at+"app_id: missing; it stands beside the secret in the developer console")
	case f.Configured() && f.AppSecret == "":
		bad = append(bad, at+"app_secret: missing; it is in the developer console, under Credentials")
	}
	if !f.Configured() || !f.Webhooks() {
		return bad
	}
	if !hostPort(f.WebhookAddr) {
		bad = append(bad, fmt.Sprintf("%swebhook_addr: %q is not host:port", at, f.WebhookAddr))
	}
	if !strings.HasPrefix(f.WebhookPath, "/") {
		bad = append(bad, fmt.Sprintf("%swebhook_path: %q does not begin with /", at, f.WebhookPath))
	}
	if f.EncryptKey == "" {
		bad = append(bad, at+"encrypt_key: missing; without it anybody could post events. Set one in the developer console, under Events and Callbacks")
	}
	return bad
}
