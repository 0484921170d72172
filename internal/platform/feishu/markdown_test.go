package feishu

import (
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/render"
	sim "cligate/internal/sim/feishu"
)

func TestMarkdownOfACard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, out string }{
		"large headings are demoted":                  {"# a\n\n## b\n\n### c", "#### a\n\n#### b\n\n##### c"},
		"numbers in headings stay as they are":        {"## 1. a #1", "#### 1. a #1"},
		"a mention is text":                           {`<at id="all"></at> hi`, `&lt;at id="all">&lt;/at> hi`},
		"also in code":                                {"`<at id=all></at>`", "`<\u200bat id=all><\u200b/at>`"},
		"other tags in code stay":                     {"`<attr> <a>`", "`<attr> <a>`"},
		"tags are text":                               {"<font color='red'>x</font><text_tag>y</text_tag>", "&lt;font color='red'>x&lt;/font>&lt;text_tag>y&lt;/text_tag>"},
		"a line break is one":                         {"a<br/>b", "a<br>b"},
		"a picture is a link":                         {"![x](https://e.com/x.png)", "[x](https://e.com/x.png)"},
		"a picture that is nowhere is named":          {"![plot](./plot.png)", "plot (`./plot.png`)"},
		"a picture behind a link is none":             {"wow![x](https://e.com/x.png) now! [y](https://e.com)", "wow[x](https://e.com/x.png) now&#33; [y](https://e.com)"},
		"a sign before a link makes no picture of it": {`hi\![y](https://e.com)`, "hi&#33;[y](https://e.com)"},
		"only pages are links":                        {"[a](file:///etc) [b](tg://x) [c](mailto:d@e.f)", "a (`file:///etc`) b (`tg://x`) c (`d@e.f`)"},
		"an address cannot end its link":              {"[a](<https://e.com/x_(y)z> 'T')", "[a](https://e.com/x_%28y%29z) (T)"},
		"a link is one, whatever is bold":             {"[a **b** c](https://e.com)", "[a **b** c](https://e.com)"},
		"words between colons are no emoji":           {"std::max:DONE: 12:30:45", "std:&#58;max&#58;DONE: 12:30:45"},
		"names keep their underscores":                {"a_b _c d_ __init__", "a_b *c d* &#95;&#95;init&#95;&#95;"},
		"entities are text":                           {"`&lt;` and \\&lt; &copy; & co", "`&lt;` and &amp;lt; &amp;copy; & co"},
		"bold before Chinese text":                    {"**注意：**请看", "**注意：\u200b**请看"},
		"bold in the middle of a word":                {"un**believ**able", "un**believ**able"},
		"italic within bold":                          {"**a *b* c**", "**a *b* c**"},
		"bold beside italic":                          {"**a***b*", "**a**\u200b*b*"},
		"a style ends with the line":                  {"**a\nb**", "**a**\n**b**"},
		"lists indent by four":                        {"- a\n  - b\n    - c", "- a\n    - b\n        - c"},
		"code in a list":                              {"1. a\n   ```sh\n   ls\n   ```", "1. a\n    ```sh\n    ls\n    ```"},
		"code that is an item":                        {"- ```sh\n  ls\n  ```", "-\n    ```sh\n    ls\n    ```"},
		"numbers that jump":                           {"4. a\n5. b\n7. c", "4. a\n5. b\n\n7) c"},
		"a number of three digits":                    {"100. a\n\n     b", "100. a\n\n     b"},
		"tasks":                                       {"- [x] a\n- [ ] b", "- ☑ a\n- ☐ b"},
		"code in a quote":                             {"> a\n> ```go\n> x\n>\n> y\n> ```", "> a\n> ```go\n> x\n>\n> y\n> ```"},
		"a fence within a fence":                      {"````md\n```\nx\n```\n````", "````md\n```\nx\n```\n````"},
		"a diff keeps its signs and blanks":           {"```diff\n-a  \n+b\n \tc\n```", "```diff\n-a  \n+b\n \tc\n```"},
		"a table":                                     {"|a|b|c|\n|-|:-:|-:|\n|1<br>2|`x`|**y**|", "| a | b | c |\n| --- | :---: | ---: |\n| 1<br>2 | `x` | **y** |"},
		"a pipe in the code of a cell":                {"|a|\n|-|\n|`x\\|y`|", "| a |\n| --- |\n| x&#124;y |"},
		"a table in a list is text":                   {"- x\n\n  |a|b|\n  |-|-|\n  |1|2|", "- x\n\n    ```\n    a │ b\n    ──┼──\n    1 │ 2\n    ```"},
		"what looks like markup":                      {"\\- a\n\\+ b\n\\# c\n1\\. d\n\\> e\n===", "&#45; a\n&#43; b\n&#35; c\n1&#46; d\n&gt; e\n&#61;=="},
		"hidden marks are gone":                       {"a\u202egpj.exe\u2066\x1b[31m", "agpj.exe &#91;31m"},
		"a rule":                                      {"a\n\n---\n\nb", "a\n\n---\n\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(render.Parse(clean(c.in))); got != c.out {
				t.Errorf("%q\nis   %q\nwant %q", c.in, got, c.out)
			}
		})
	}
}

func TestTablesBeyondTheBudgetAreShownAsText(t *testing.T) {
	t.Parallel()
	narrow := "| a | b |\n|---|---|\n| 1 | 2 |\n\nwords\n\n"
	wide := "| file | what is wrong with it |\n|---|---|\n| main.go | " + strings.Repeat("very long ", 9) + "|\n\nwords\n\n"
	for _, n := range []int{1, 3, 4, 5, 6, 12} {
		for _, table := range []string{narrow, wide} {
			ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: strings.Repeat(table, n)})
			if len(ms) != 1 {
				t.Fatalf("%d messages", len(ms))
			}
			md := ms[0].Components()[0]
			r := sim.Read(md)
			if r.Tables != min(n, maxTables) {
				t.Errorf("%d tables of %d", r.Tables, n)
			}
			if n > maxTables && table == narrow && strings.Count(md, "a │ b") != n-maxTables {
				t.Errorf("not aligned:\n%s", md)
			}
			if n > maxTables && table == wide && strings.Count(md, "**file: main.go**\nwhat is wrong with it: very long") != n-maxTables {
				t.Errorf("not a paragraph a row:\n%s", md)
			}
		}
	}
}

// Twelve tables in sixty kilobytes: the beginning on a card, everything in a
// file.
func TestAVeryLongAnswerIsItsBeginningAndAFile(t *testing.T) {
	t.Parallel()
	part := "## Part\n\n" + strings.Repeat(strings.Repeat("word ", 40)+"\n\n", 25) + "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	md := strings.Repeat(part, 12)
	if len(md) < 60_000 {
		t.Fatal(len(md))
	}
	ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: "12 s"})
	h := held(t, ms)
	if len(ms) != 2 || ms[1].File != "answer.md" || string(ms[1].Body) != md || !strings.Contains(h.First, "…") || !strings.Contains(h.First, "12 s") {
		t.Fatalf("%d messages, %q", len(ms), h.First)
	}
	if what := h.Missing(md, tidy); what != "" {
		t.Error(what)
	}
	file := &chat.OutFile{Name: "plot.csv", Body: []byte("1,2")}
	ms = deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, File: file})
	if len(ms) != 3 || ms[1].File != "answer.md" || ms[2].File != "plot.csv" {
		t.Errorf("a file is lost: %d messages", len(ms))
	}
}

// What a card refuses arrives as a text, and calls nobody there either.
func TestAPlainTextCallsNobody(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := sender(t, s)
	p := answer(`ping <at user_id="all">all</at> and <at id=` + anna + `></at>`)
	_, err := c.send(t.Context(), row("card", p))
	must(t, err)
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "message.create", Times: 1, Code: 230099, Text: "ext=ErrCode: 11310; ErrMsg: x;"})
	_, err = c.send(t.Context(), row("post", p))
	must(t, err)
	p.Format = nil
	ref, err := c.send(t.Context(), row("text", p))
	must(t, err)
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpEdit, Target: ref, Part: p})
	must(t, err)
	seen := s.Shown(direct)
	if len(seen) != 3 || seen[0].Type != "interactive" || seen[1].Type != "post" || seen[2].Type != "text" {
		t.Fatalf("%+v", seen)
	}
	for _, m := range seen {
		if who := m.Called(); len(who) > 0 {
			t.Errorf("%s calls %q: %s", m.Type, who, m.Text)
		}
	}
}
