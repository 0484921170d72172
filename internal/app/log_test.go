package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cligate/internal/config"
)

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Telegram.Token = "123456:canary-canary-canary-1"
	cfg.Log.Level = "debug"
	for _, format := range []string{"text", "json"} {
		cfg.Log.Format = format
		var buf bytes.Buffer
		log := NewLog(&buf, cfg)
		err := fmt.Errorf("get https://h/bot%s/x: %w", cfg.Telegram.Token, errors.New("refused"))
		log.With("url", cfg.Telegram.Token).WithGroup("g").Error("a "+cfg.Telegram.Token, "err", err, "n", 3, //nolint:sloglint // the message has the secret, too
			slog.Group("deep", "token", cfg.Telegram.Token))
		if out := buf.String(); strings.Contains(out, "canary") || !strings.Contains(out, "refused") || !strings.Contains(out, "[redacted]") {
			t.Errorf("%s: %s", format, out)
		}
	}
}
