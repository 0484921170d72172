package command

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Commands that the pages about chat services write of are ours, unless they
// are BotFather's.
func TestThePagesAboutServicesMentionOnlyCommandsThatExist(t *testing.T) {
	t.Parallel()
	s := Set{table: table()}
	botFather := map[string]bool{"newbot": true, "setprivacy": true, "setjoingroups": true, "setdescription": true, "setabouttext": true,
		"setuserpic": true, "setcommands": true, "revoke": true, "token": true}
	for _, page := range []string{"telegram.md", "feishu.md"} {
		body, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`/([a-z]+)(?: [^`]*)?`").FindAllStringSubmatch(string(body), -1) {
			if !s.Has(m[1]) && !botFather[m[1]] && m[1] != "pair" && m[1] != "path" {
				t.Errorf("docs/%s mentions /%s, which is no command", page, m[1])
			}
		}
	}
}
