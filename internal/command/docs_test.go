package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// theirs are commands of BotFather, and others that pages speak of.
var theirs = []string{"newbot", "setprivacy", "setjoingroups", "setdescription", "setabouttext", "setuserpic", "setcommands", "revoke", "token", "pair"}

// TestThePagesAboutServicesKnowEveryCommandAndNoOther keeps the pages about chat
// services true. The one about Telegram has the list.
func TestThePagesAboutServicesKnowEveryCommandAndNoOther(t *testing.T) {
	t.Parallel()
	s := &Set{table: table()}
	for _, name := range []string{"telegram.md", "feishu.md"} {
		body, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		page := string(body)
		for _, p := range s.table {
			if name == "telegram.md" && !p.quiet && !strings.Contains(page, "`/"+p.name) {
				t.Errorf("docs/%s does not mention `/%s`", name, p.name)
			}
		}
		for _, m := range regexp.MustCompile("`/([a-z]+)[ @`]").FindAllStringSubmatch(page, -1) {
			if !s.Has(m[1]) && !slices.Contains(theirs, m[1]) {
				t.Errorf("docs/%s mentions /%s, which is no command", name, m[1])
			}
		}
	}
}
