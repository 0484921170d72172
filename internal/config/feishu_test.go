package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loaded reads a configuration from text.
func loaded(t *testing.T, text string) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cligate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

func TestEveryMistakeAboutAnAppIsNamed(t *testing.T) {
	t.Parallel()
	const app = "  app_id: cli_a\n  app_secret: s\n"
	for name, c := range map[string]struct{ text, want string }{
		"no secret":        {"feishu:\n  app_id: cli_a\n", "feishu.app_secret: missing"},
		"no id":            {"feishu:\n  app_secret: s\n", "feishu.app_id: missing"},
		"another mode":     {"feishu:\n" + app + "  mode: polling\n", "feishu.mode"},
		"no address":       {"feishu:\n" + app + "  base_url: open.feishu.cn\n", "feishu.base_url"},
		"a bad proxy":      {"feishu:\n" + app + "  proxy: \"ftp://user:hush@p\"\n", "feishu.proxy: not a proxy"},
		"no key":           {"feishu:\n" + app + "  mode: webhook\n", "feishu.encrypt_key: missing"},
		"another's id":     {"feishu:\n" + app + "  owners: [on_union]\n", "begins with ou_"},
		"a misplaced key":  {"feishu:\n" + app + "  listen: all\n", "feishu.listen: unknown key (did you mean groups.listen?)"},
		"a foreign key":    {"feishu:\n" + app + "  require_mention: false\n", "did you mean groups.listen?"},
		"two of an app":    {"feishu:\n" + app + "feishu_apps:\n- name: second\n  app_id: cli_a\n  app_secret: s\n", "feishu_apps[0].app_id: is that of another app here"},
		"two of a name":    {"feishu:\n" + app + "feishu_apps:\n- name: feishu\n  app_id: cli_b\n  app_secret: s\n", "\"feishu\" is taken"},
		"two on a path":    {"feishu:\n" + app + "  mode: webhook\n  encrypt_key: k\nfeishu_apps:\n- name: second\n  app_id: cli_b\n  app_secret: s\n  mode: webhook\n  encrypt_key: k\n", "feishu_apps[0].webhook_path: /feishu at 127.0.0.1:8767 is that of feishu"},
		"beside the chat":  {"web:\n  addr: 127.0.0.1:8767\nfeishu:\n" + app + "  mode: webhook\n  encrypt_key: k\n", "is that of the web chat"},
		"beside a bot":     {"telegram:\n  token: 123456:abcdefghijklmnopqrstuvwxyz\n  mode: webhook\n  webhook_url: https://x.example/feishu\n  webhook_addr: 127.0.0.1:8767\n  webhook_secret: s\nfeishu:\n" + app + "  mode: webhook\n  encrypt_key: k\n", "feishu.webhook_path: /feishu at 127.0.0.1:8767 is that of telegram"},
		"a relative path":  {"feishu:\n" + app + "  mode: webhook\n  encrypt_key: k\n  webhook_path: feishu\n", "does not begin with /"},
		"nothing to bind":  {"feishu:\n" + app + "  mode: webhook\n  encrypt_key: k\n  webhook_addr: nowhere\n", "is not host:port"},
		"an absent secret": {"feishu:\n  app_id: cli_a\n  app_secret_file: /does/not/exist\n", "feishu.app_secret_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := loaded(t, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("%v tells a password", err)
			}
		})
	}
}

func TestAnAppCanBeSetByTheEnvironmentAlone(t *testing.T) {
	secret := func(text string) string {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for k, v := range map[string]string{
		"APP_ID": "cli_a", "APP_SECRET_FILE": secret("hush"), "BASE_URL": "https://open.larksuite.com", "OWNERS": "ou_a, ou_b",
		"MODE": "webhook", "WEBHOOK_ADDR": "127.0.0.1:9999", "WEBHOOK_PATH": "/lark", "ENCRYPT_KEY_FILE": secret("key"),
		"VERIFICATION_TOKEN_FILE": secret("token"), "PROXY_FILE": secret("socks5://u:p@proxy.example:1080"),
	} {
		t.Setenv("CLIGATE_FEISHU_"+k, v)
	}
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	f := c.Feishu
	if f.AppID != "cli_a" || f.AppSecret != "hush" || f.BaseURL != "https://open.larksuite.com" || strings.Join(f.Owners, " ") != "ou_a ou_b" ||
		!f.Webhooks() || f.WebhookAddr != "127.0.0.1:9999" || f.WebhookPath != "/lark" || f.EncryptKey != "key" || f.VerificationToken != "token" ||
		f.Proxy != "socks5://u:p@proxy.example:1080" {
		t.Errorf("%+v", f)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("remarks: %q", c.Warnings)
	}
	t.Setenv("CLIGATE_FEISHU_REQUIRE_MENTION", "false")
	if c, err = Load(""); err != nil || !strings.Contains(strings.Join(c.Warnings, "\n"), "CLIGATE_FEISHU_REQUIRE_MENTION: not a setting") {
		t.Errorf("%v, %q", err, c.Warnings)
	}
	if f := defaultFeishu(); f.Mode != "websocket" || f.BaseURL != "https://open.feishu.cn" {
		t.Errorf("defaults: %+v", f)
	}
}
