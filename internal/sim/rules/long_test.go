package rules

import (
	"slices"
	"strings"
	"testing"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
)

// What an agent writes is what people read on Feishu, however many tables there
// are and however long it is.
func TestEverythingOfAnAnswerIsReadableOnFeishu(t *testing.T) {
	t.Parallel()
	table := "| file | lines |\n|---|--:|\n| a.go | 12 |\n\n"
	for name, md := range map[string]string{
		"twelve tables":                    strings.Repeat("Some words.\n\n"+table, 12) + "```go\n\tx := 1 // *not* <at id=all>\n```\n\nThe end.",
		"twelve tables in sixty kilobytes": strings.Repeat(strings.Repeat("All of these words must arrive. ", 160)+"\n\n"+table, 12) + "The end.",
		"words that call people":           "Ping <at user_id=\"all\">everybody</at> and `<at id=all></at>`, :DONE: and ![x](https://example.com/x.png).\n\nThe end.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := house(t, rig.Options{Agent: rig.Demo, NoTelegram: true, Feishu: rig.Socket})
			u.ask("say hello", "demo")
			u.r.Rest()
			before := len(u.r.Feishu.Shown(rig.Direct(rig.Owner)))
			u.Say("echo " + md)
			u.Await("The end.")
			u.r.Rest()
			news := u.r.Feishu.Shown(rig.Direct(rig.Owner))[before:]
			news = slices.DeleteFunc(news, func(m feishu.Seen) bool { return !m.FromBot || m.Recalled })
			h, odd := feishu.Hold(news)
			if len(odd) > 0 {
				t.Errorf("made of words: %q", odd)
			}
			h.First = h.Words // a line about the work may stand above
			if what := h.Missing(md, func(s string) string { return s }); what != "" {
				t.Errorf("%s\n%s", what, u.Text())
			}
			if long := len(md) > 50_000; long != (h.File != nil) {
				t.Errorf("%d bytes, and a file of %d", len(md), len(h.File))
			}
			for _, m := range news {
				if m.Open {
					t.Errorf("still being written: %s", m.Text)
				}
			}
			for _, c := range u.r.Feishu.Calls() {
				if !c.OK {
					t.Errorf("refused: %+v", c)
				}
			}
			u.r.Judge()
		})
	}
}
