package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// exposed finds files with secrets that other users of the machine can read,
// or change. These are remarks: container platforms mount secrets with modes
// of their own, so files that hold nothing but a secret are remarked upon only
// when somebody else could exchange it.
func (c Config) exposed() []string {
	var out []string
	for _, file := range c.secretFiles() {
		if mode, open := openTo(file, 0o022); open {
			out = append(out, fmt.Sprintf("%s holds a secret and can be changed by others (mode %04o): chmod 600 %s", file, mode, file))
		}
	}
	if c.File == "" {
		return out
	}
	mode, open := openTo(c.File, 0o077)
	body, err := os.ReadFile(filepath.Clean(c.File))
	if !open || err != nil { // what cannot be read was complained of before
		return out
	}
	for _, s := range c.Secrets() {
		if !strings.Contains(s, "://") || strings.Contains(s, "@") { // a proxy without a password is no secret
			if bytes.Contains(body, []byte(s)) {
				return append(out, fmt.Sprintf("%s holds secrets and is open to others (mode %04o): chmod 600 %s", c.File, mode, c.File))
			}
		}
	}
	return out
}

func (c Config) secretFiles() []string {
	all := []string{c.Telegram.TokenFile, c.Telegram.ProxyFile, c.Telegram.WebhookSecretFile, c.Speech.KeyFile}
	for _, b := range c.TelegramBots {
		all = append(all, b.TokenFile, b.ProxyFile, b.WebhookSecretFile)
	}
	for _, f := range append([]NamedFeishu{{Feishu: c.Feishu}}, c.FeishuApps...) {
		all = append(all, f.secretFiles()...)
	}
	var out []string
	for _, f := range all {
		if f != "" {
			out = append(out, home(f))
		}
	}
	return out
}

func openTo(file string, bits os.FileMode) (mode os.FileMode, open bool) {
	st, err := os.Stat(file)
	if err != nil {
		return 0, false
	}
	return st.Mode().Perm(), st.Mode().Perm()&bits != 0
}
