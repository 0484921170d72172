package feishu

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cligate/internal/chat"
)

// grown is what a live card shows of an answer that has come to md.
func grown(md string) string {
	parts := form{}.render(chat.Reply{Kind: chat.ReplyProgress, Markdown: md, Footer: "working", Grows: true})
	var f format
	if len(parts) != 1 || json.Unmarshal(parts[0].Format, &f) != nil {
		return "?"
	}
	return f.Markdown
}

func TestTheTextOfALiveCardOnlyGrows(t *testing.T) {
	t.Parallel()
	for name, md := range map[string]string{
		"words":      "Some words, and 3 * 4 = 12, and a snake_case_name; then (more).\n\nAnother paragraph.",
		"styles":     "This is **bold text**, *italic*, ***both***, ~~gone~~ and __strong__ words.\nA second line with **more of it** here.",
		"code":       "Call `main.go` or ``a ` b`` first.\n\n```go\nfunc main() {\n\tprintln(\"*x*\")\n}\n```\n\nThen go on.",
		"headings":   "# One\n\nText.\n\n## Two\n\n### Three *four*\n\nEnd",
		"lists":      "Things:\n\n- one\n- two **bold**\n  - inner `x`\n- three\n\n1. first\n2. second\n10. tenth\n\n- [ ] open\n- [x] done\n\nEnd",
		"links":      "See [the docs](https://example.com/a_b) and https://example.com/x?y=1 or <https://example.com>, a@b.example too.",
		"tables":     "Results:\n\n| name | n |\n| --- | ---: |\n| a | 1 |\n| b *c* | 2 |\n\nDone.",
		"quotes":     "> quoted **words**\n> go on\n\nAnswer & more; &amp; a <tag> and \\*no\\* markup!",
		"CJK":        "你好，**世界**。这是一个 `函数`：\n\n- 第一项\n- 第二项\n\n| 名 | 值 |\n|---|---|\n| 一 | 二 |\n",
		"brackets":   "an array a[0] and b[i][j], f(x)[y] and ![picture](https://example.com/x.png) done",
		"unclosed":   "a ** b and c * d with ` alone\n\nnext",
		"rules":      "above\n\n---\n\nbelow\n\n***\n\nend",
		"long fence": "````md\n```go\nx\n```\n````\n\nafter",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, from, longest := "", "", 0
			for i := range len(md) + 1 {
				if i < len(md) && !utf8.RuneStart(md[i]) {
					continue
				}
				now := grown(md[:i])
				if !strings.HasPrefix(now, before) {
					t.Fatalf("%q shows %q, and %q %q", from, before, md[:i], now)
				}
				if now == before {
					longest++
				} else {
					longest = 0
				}
				if longest > 80 {
					t.Fatalf("nothing is shown any more of %q", md[:i])
				}
				before, from = now, md[:i]
			}
			whole := form{}.render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
			if end := contents(whole[0]).Markdown; !strings.HasPrefix(end, before) {
				t.Errorf("the answer is %q, and the card had come to %q", end, before)
			}
		})
	}
}
