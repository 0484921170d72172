package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePageAboutTelegramKnowsEveryKeyAndNoOther keeps docs/telegram.md true.
func TestThePageAboutTelegramKnowsEveryKeyAndNoOther(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("..", "..", "docs", "telegram.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(body)
	known, sections := map[string]bool{}, map[string]bool{}
	for _, f := range keys() {
		known[f.path] = true
		section, leaf, cut := strings.Cut(f.path, ".")
		sections[section] = sections[section] || cut
		if section == "telegram" && !strings.Contains(page, "`telegram."+leaf) {
			t.Errorf("docs/telegram.md does not mention `telegram.%s`", leaf)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z_]+)\\.([a-z_]+)(?:: [^`]*)?`").FindAllStringSubmatch(page, -1) {
		if sections[m[1]] && !known[m[1]+"."+m[2]] {
			t.Errorf("docs/telegram.md mentions %s.%s, which is no key", m[1], m[2])
		}
	}
	for _, m := range regexp.MustCompile(`CLIGATE_[A-Z_]+`).FindAllString(page, -1) {
		ok := false
		for _, f := range keys() {
			ok = ok || f.env() == m
		}
		if !ok {
			t.Errorf("docs/telegram.md mentions %s, which is no variable", m)
		}
	}
}
