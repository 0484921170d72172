package render

import (
	"strings"
	"testing"
)

// show writes a text with its spans in place: ‹b:…›.
func show(t Text) string {
	names := map[Style]string{Bold: "b", Italic: "i", Strike: "s", Code: "c", Pre: "pre", Quoted: "q", Linked: "a"}
	var sb strings.Builder
	for i := 0; i <= len(t.Plain); i++ {
		for j := len(t.Spans) - 1; j >= 0; j-- {
			if t.Spans[j].End == i {
				sb.WriteString("›")
			}
		}
		for _, s := range t.Spans {
			if s.Start == i {
				sb.WriteString("‹" + names[s.Style])
				if s.Arg != "" {
					sb.WriteString("(" + s.Arg + ")")
				}
				sb.WriteString(":")
			}
		}
		if i < len(t.Plain) {
			sb.WriteByte(t.Plain[i])
		}
	}
	return sb.String()
}

func TestMarkdownBecomesFormattedText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, in, want string }{
		{"emphasis", "a **b *c* d** ~~e~~ `f`", "a ‹b:b ‹i:c› d› ‹s:e› ‹c:f›"},
		{"crossed emphasis loses no text", "**b *i** x*", "‹i:b i x›"},
		{"names keep their underscores", "my_var_name __init__ _private_ __init__.py", "my_var_name __init__ _private_ __init__.py"},
		{"underscores around several words are emphasis", "_two words_ __two words__", "‹i:two words› ‹b:two words›"},
		{"products and pointers keep their stars", "2*3*4 char*p*q x**2**y", "2*3*4 char*p*q x**2**y"},
		{"emphasis next to CJK punctuation works", "**重点。**后面**“引号”**文字", "‹b:重点。›后面‹b:“引号”›文字"},
		{"a single tilde is text", "~5 and ~6~ ~/x", "~5 and ~6~ ~/x"},
		{"shell variables are text", "$HOME and $PATH, a || b", "$HOME and $PATH, a || b"},
		{"formulas are code", "$\\alpha_{i}^{*} + b^{*}$ \\(x^2\\{1\\}\\) \\[a=\\frac{1}{2}\\] $$x*y*$$ $O(n)$.",
			"‹c:$\\alpha_{i}^{*} + b^{*}$› ‹c:\\(x^2\\{1\\}\\)› ‹c:\\[a=\\frac{1}{2}\\]› ‹c:$$x*y*$$› ‹c:$O(n)$›."},
		{"a formula of several lines stays as it is", "a\n$$\na_1 *b* \\\\\n+ c\n\n# d\n$$\ne\n\n> \\[\n> x\n> \\]", "a\n\n‹pre:$$\na_1 *b* \\\\\n+ c\n\n# d\n$$›\n\ne\n\n‹q:‹pre:\\[\nx\n\\]››"},
		{"prices and variables are no formulas", "$5 *x* $6 ${A}/*b*/$C \\[no\\](x)\n$$\n*y*", "$5 ‹i:x› $6 ${A}/‹i:b›/$C [no](x)\n$$\n‹i:y›"},
		{"a process has its number", "$$ is one, $$ too. $A$B $HOME:$PATH", "$$ is one, $$ too. $A$B $HOME:$PATH"},
		{"a template of an address is no link", "https://a.b/<id>/x and https://a.b/{id}", "https://a.b/<id>/x and https://a.b/{id}"},
		{"tabs in text", "a\tb `c\td`", "a    b ‹c:c    d›"},
		{"HTML is text", "<b>x</b> <a@b.c> &lt; &amp;\n<details>\n**y**", "<b>x</b> <a@b.c> &lt; &amp;\n<details>\n‹b:y›"},
		{"code is untouched", "`\\x00 1` `&lt;` ``a`b``", "‹c:\\x00 1› ‹c:&lt;› ‹c:a`b›"},
		{"code is not bold", "**a `b` c**", "‹b:a ›‹c:b›‹b: c›"},
		{"a heading is bold on a line of its own", "# T `x`\nbody", "‹b:T ›‹c:x›\nbody"},
		{"an underlined heading", "T\n===", "‹b:T›"},
		{"three dashes are a rule, never a heading", "text\n---\nmore", "text\n\n————————\n\nmore"},
		{"an unclosed fence ends with the text", "```go\nx\n\ty", "‹pre(go):x\n    y›"},
		{"words behind a fence's language are kept", "```go main.go\nx\n```", "‹c:go main.go›\n\n‹pre(go):x›"},
		{"a file in the place of a language is kept", "```src/main.go\nx\n```\n```12:15:a/b.ts\ny\n```\n```日本\nz\n```", "‹c:src/main.go›\n\n‹pre(go):x›\n\n‹c:12:15:a/b.ts›\n\n‹pre(ts):y›\n\n‹c:日本›\n\n‹pre:z›"},
		{"tabs in code fill four columns", "```\na\tb\n\tc\n```", "‹pre:a   b\n    c›"},
		{"an empty fence leaves nothing", "a\n```\n```\nb", "a\n\nb"},
		{"good links", "[x](https://a.b/c_d) <https://a.b> [m](mailto:a@b.c) [u](tg://user?id=1)",
			"‹a(https://a.b/c_d):x› ‹a(https://a.b):https://a.b› ‹a(mailto:a@b.c):m› ‹a(tg://user?id=1):u›"},
		{"other links are text with their target", "[x](./a.go) [y](file:///z) [z](C:\\a) [j](javascript:alert(1)) [n](http://)",
			"x (‹c:./a.go›) y (‹c:file:///z›) z (‹c:C:\\a›) j (‹c:javascript:alert(1)›) n (‹c:http://›)"},
		{"plain addresses are links", "see https://a.b/x_(y)), or 见https://c.d。好", "see ‹a(https://a.b/x_(y)):https://a.b/x_(y)›), or 见‹a(https://c.d):https://c.d›。好"},
		{"reference definitions stay", "[r]: https://a.b\n[x][r]", "[r]: ‹a(https://a.b):https://a.b›\n[x][r]"},
		{"an image is a link", "![alt](https://a.b/c.png) ![](https://a.b)", "‹a(https://a.b/c.png):alt› ‹a(https://a.b):https://a.b›"},
		{"a link without words shows where it leads", "a[ ](https://a.b/c)", "a‹a(https://a.b/c):https://a.b/c›"},
		{"nested lists", "- a\n  - b\n    - c\n      - d\n- e", "• a\n  ◦ b\n    ▪ c\n      • d\n• e"},
		{"numbers stay the author's", "3. a\n3. b\n7) c", "3. a\n3. b\n\n7) c"},
		{"tasks", "- [ ] a\n- [x] **b**\n1. [ ] c", "☐ a\n☑ ‹b:b›\n\n1. ☐ c"},
		{"code in a list begins at the margin", "- a\n  ```sh\n  x\n  ```\n- b", "• a\n‹pre(sh):x›\n• b"},
		{"a list item's further lines are indented", "10. a\n    b\n\n    c", "10. a\n    b\n    c"},
		{"quotes do not nest", "> a\n> > b", "‹q:a\n\n> b›"},
		{"single newlines stay", "a\nb  \nc\\\nd", "a\nb\nc\nd"},
		{"blank text is nothing", " \n\t\n ", ""},
		{"line ends are normalised", "a\r\nb\rc", "a\nb\nc"},
	} {
		if got := show(Flatten(Parse(c.in))); got != c.want {
			t.Errorf("%s\n  in   %q\n  got  %q\n  want %q", c.rule, c.in, got, c.want)
		}
	}
}

func TestTablesFitATelephone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, in, want string }{
		{"narrow tables are aligned by display width", "| a | b |\n|:-:|--:|\n| 中文 | 1 |\n| x | 😀 |",
			"‹pre: a   │  b\n─────┼───\n中文 │  1\n x   │ 😀›"},
		{"wide tables become rows", "|Name|Text|\n|-|-|\n|a|" + strings.Repeat("w", 40) + "|\n|b||",
			"‹b:Name: a›\nText: " + strings.Repeat("w", 40) + "\n\n‹b:Name: b›\nText: –"},
		{"no cell is lost", "|a|\n|-|\n|1|2|3|", "‹pre:a │   │\n──┼───┼──\n1 │ 2 │ 3›"},
		{"pipes in code do not divide", "|a|b|\n|-|-|\n|`x|y`|`p\\|q`|\n|\\||`|", "‹pre:a   │ b\n────┼────\nx|y │ p|q\n|   │ `›"},
		{"links survive", "|a|\n|-|\n|[l](https://x.y)|", "‹b:a: ›‹a(https://x.y):‹b:l››"},
		{"what follows is no row", "|a|b|\n|-|-|\n|1|2|\ntext", "‹pre:a │ b\n──┼──\n1 │ 2›\n\ntext"},
		{"two tables and text in one paragraph", "x\n|a|b|\n|-|-|\ny\n|c|d|\n|-|-|\n|1|2|",
			"x\n\n‹pre:a │ b\n──┼──›\n\ny\n\n‹pre:c │ d\n──┼──\n1 │ 2›"},
		{"a pipe alone is text", "a | b\nc | d", "a | b\nc | d"},
	} {
		if got := show(Flatten(Parse(c.in))); got != c.want {
			t.Errorf("%s\n got  %q\n want %q", c.rule, got, c.want)
		}
	}
}

func TestHTMLIsInert(t *testing.T) {
	t.Parallel()
	in := "# <script>\n\n[x](https://a.b/\"onclick=\"1) [j](javascript:alert(1)) `<i>` **a *b***\n\n" +
		"```\"><img onerror=x>\n</code><script>\n```\n\n|a<b>|\n|-:|\n|<td>|\n\n5. <li>\n\n- [x] t\n\n> q\n\n---"
	got := HTML(Parse(in))
	for _, bad := range []string{"<script", "<img", "<i>", "<b>", "<td><td>", `href="java`, `onclick="1`} {
		if strings.Contains(got, bad) {
			t.Errorf("contains %q:\n%s", bad, got)
		}
	}
	for _, good := range []string{"<h1>&lt;script&gt;</h1>", `rel="noopener noreferrer nofollow"`, `<li value="5">&lt;li&gt;</li>`,
		"<em>b</em>", "<blockquote>", "<hr>", "☑ t", `<td align="right">&lt;td&gt;</td>`} {
		if !strings.Contains(got, good) {
			t.Errorf("lacks %q:\n%s", good, got)
		}
	}
	forged := HTML([]Block{{Kind: Paragraph, Inlines: []Inline{{Text: "x", Link: "javascript:alert(1)"}}}})
	if strings.Contains(forged, "href") {
		t.Errorf("a forged tree made a link: %s", forged)
	}
}

// nasty returns inputs that send careless parsers into quadratic time.
func nasty(n int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"quotes": rep("> "), "quoted": rep(">"), "lists": rep("- "), "numbers": rep("1. "), "stars": rep("*a _b "),
		"star runs": rep("*"), "brackets": rep("["), "links": rep("[a](b \""), "titles": rep("[a](b ("), "images": rep("![a]"),
		"backticks": rep("`a``b```c````"), "tables": rep("|a|b|\n|-|-|\n"), "pipes": rep("|"), "pipe lines": "a|b\n-|-\n" + rep("|x"),
		"rows": "|a|b|\n|-|-|\n" + rep("|x|y|\n"), "wide rows": "|a|b|\n|-|-|\n" + rep("|x|"+strings.Repeat("y", 60)+"|\n"),
		"one line": rep("word "), "one word": rep("x"), "lines": rep("line\n"), "code": "```go\n" + rep("\tx := 1\n"),
		"code line": "```\n" + rep("x\t"), "bold words": rep("**a** b "), "items": rep("- item\n"), "deep": rep("- a\n  "),
		"html": rep("<a "), "comments": rep("<!-- "), "urls": rep("http://"), "parens": "http://a.b/" + rep(")"),
		"marks": "e" + rep("\u0301"), "emoji": rep("👩‍👩‍👧‍👦"), "nested items": strings.Repeat("- a\n", 10) + "- " + rep("x ") + "\n" + rep("- b\n"),
		"headings": rep("# h\n"), "escapes": rep("\\*"), "fences": rep("```\n"), "heading line": "# " + rep("[a](b ("),
	}
}

// What takes quadratic time does not end before the test's own time limit:
// these inputs made earlier forms of the parser take minutes.
func TestLongTextOfAnyKindComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, in := range nasty(1 << 17) {
		t.Run(name, func(t *testing.T) {
			for _, part := range Split(Parse(in), Limits{Units: 3800, Entities: 95}) {
				if n := Units(Flatten(part).Plain); n > 3800 {
					t.Errorf("a part of %d units", n)
				}
			}
		})
	}
}
