package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// botFather are commands of BotFather that the page speaks of.
var botFather = []string{"newbot", "setprivacy", "setjoingroups", "setdescription", "setabouttext", "setuserpic", "setcommands", "revoke", "token"}

// TestThePageAboutTelegramKnowsEveryCommandAndNoOther keeps docs/telegram.md
// true.
func TestThePageAboutTelegramKnowsEveryCommandAndNoOther(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("..", "..", "docs", "telegram.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(body)
	s := &Set{table: table()}
	for _, p := range s.table {
		if !p.quiet && !strings.Contains(page, "`/"+p.name) {
			t.Errorf("docs/telegram.md does not mention `/%s`", p.name)
		}
	}
	for _, m := range regexp.MustCompile("`/([a-z]+)[ @`]").FindAllStringSubmatch(page, -1) {
		if !s.Has(m[1]) && !slices.Contains(botFather, m[1]) {
			t.Errorf("docs/telegram.md mentions /%s, which is no command", m[1])
		}
	}
}
