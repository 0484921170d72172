package answers

import (
	"math/rand/v2"
	"strings"
)

// scraps are pieces that have cost other bots an answer: markup that a service
// refuses, characters that are cut in half, blocks that are longer than a
// message, words that become commands.
func scraps() []string {
	rep := strings.Repeat
	return []string{
		"<a@b.c> **b *i** x* a_b_c __init__ <b>raw</b> &amp; &lt;x",
		"```go\nfunc main() {\n\tif x < y && y > z {\n\t\treturn\n\t}\n}", // never closed
		"[x](./a.go) [y](file:///z) [z](C:\\a) [j](javascript:alert(1)) [k](http://) [l](tg://x) [m]( ) [n](https://a.b/(c)_d)",
		rep("😀", 700), rep("👨\u200d👩\u200d👧\u200d👦", 200), rep("🇩🇪", 300), rep("e\u0301\u0323", 400), rep("你好，世界。", 200), rep("שלום עולם ", 150), "\u200fمرحبا\u200e \u202eabc\u202c",
		"```python\n" + rep("    x = compute(1, 2)\n", 160) + "```",
		"```\n" + rep("x", 5000) + "\n```",
		"```diff\n" + rep("-\told line\n+\tnew line\n \tcontext\n", 60) + "```",
		rep("`code` and ", 130), rep("**b** _i_ ~~s~~ ", 60), rep("[l](https://e.x/y) ", 110),
		"| a | b |\n|---|---|\n" + rep("| `x\\|y` | 中文😀 |\n", 60),
		"|h1|h2|h3|\n|-|:-:|-:|\n" + rep("|"+rep("wide ", 12)+"|[l](https://a.b)||\n", 12),
		"|a|b|\n|-|\n|1|2|3|\n|", rep("- ", 30) + "deep", rep("> ", 20) + "deep", "1. a\n   - b\n     ```sh\n     $HOME\n     ```\n   c\n99. d",
		"$HOME … $PATH, a || b, #1, @user, /etc/passwd, a.py, `x`, asyncio.run, C#, git@github.com:a/b",
		"$x_1^{*}$ and $$\\frac{a}{b}$$\n\n$$\n\\sum_{i} *x* \\\\\n+ y\n$$\n\n\\[ a^2 \\] \\(b\\)",
		"<details><summary>x</summary>\n\n- [ ] a\n- [x] b\n\n</details>", "# H1\n## H2\n### H3 `c` [l](https://a.b)\nSetext\n===\n---\n***",
		"\x00\x01\x1b[31mred\x1b[0m\ttab\r\ncrlf\rcr\u2028ls\u2029ps\u200bzw\ufeff\ufffd\xff\xfe bad utf8 \xed\xa0\x80",
		rep("one very long sentence without an end ", 140), rep("word", 1500), rep("line\n", 900), rep("para\n\n", 500),
		"~~~\ntilde\n~~~~\n````\n```\n````\n`````", "    indented\n\n\ttab\n  - x", "[^1]: foot\n\ntext[^1] ==mark== ||spoiler|| ^sup^ ~sub~",
		"***bold italic*** **_x_** *a **b** c* _a_b_ *** ** * __ _", "\\*\\_\\`\\#\\|\\\\ \\a \\", "![i](https://a.b/c.png) ![](x) [![b](https://a.b)](https://c.d)",
		"https://a.b/c?d=e&f=g#h http://localhost:8/x http://[::1]:80/ https://例え.jp/パス ftp://x", "x\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\ny",
		"```" + rep("x", 300) + "\ny\n```", "``` a`b\nc\n```", "`" + rep("a`", 200), rep("*", 300), rep("[", 200) + rep("]", 200), rep("(", 300),
		"å\u030a ü\u0308 x\u0333y\u033fz", rep("\u0301", 600), rep("\u200d", 500), rep("🏴󠁧󠁢󠁳󠁣󠁴󠁿", 90), "𝒜𝓑𝒞" + rep("𠜎", 800),
		"|" + rep("c|", 40) + "\n|" + rep("-|", 40) + "\n|" + rep("v|", 40), "1) a\n2) b\n\n1. c\n1. d\n\n* e\n+ f", "-\n-\n- \n\n#\n\n>\n",
	}
}

// Nasty puts scraps together in n ways, the same ones each time.
func Nasty(n int) []string {
	all := scraps()
	r := rand.New(rand.NewPCG(7, 11))
	out := make([]string, 0, n)
	for i := range n {
		if i < len(all) {
			out = append(out, all[i])
			continue
		}
		var sb strings.Builder
		for range 2 + r.IntN(6) {
			s := all[r.IntN(len(all))]
			switch r.IntN(4) {
			case 0: // somewhere in the middle of things, also of a character
				from := r.IntN(len(s))
				s = s[from : from+1+r.IntN(len(s)-from)]
			case 1:
				s = "> " + strings.ReplaceAll(s, "\n", "\n> ")
			case 2:
				s = "- item\n  " + strings.ReplaceAll(s, "\n", "\n  ")
			}
			sb.WriteString(s + []string{"", " ", "\n", "\n\n"}[r.IntN(4)])
		}
		out = append(out, sb.String())
	}
	return out
}
