package render

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// letters returns what must never get lost, in order.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// everything returns all text of t, what stands in the spans included.
func everything(t Text) string {
	var sb strings.Builder
	at := 0
	for _, s := range t.Spans {
		if s.Style == Pre {
			sb.WriteString(t.Plain[at:s.Start] + " " + s.Arg + " ")
			at = s.Start
		} else if s.Style == Linked && s.End > at {
			sb.WriteString(t.Plain[at:s.End] + " " + s.Arg + " ")
			at = s.End
		}
	}
	return sb.String() + t.Plain[at:]
}

// contains reports whether all runes of part are in whole, in order; else it
// returns the rest that was not found.
func inOrder(whole, part string) (missing string, ok bool) {
	for i, r := range part {
		j := strings.IndexRune(whole, r)
		if j < 0 {
			return part[i:], false
		}
		whole = whole[j+utf8.RuneLen(r):]
	}
	return "", true
}

func walk(bs []Block, f func(Block)) {
	for _, b := range bs {
		f(b)
		walk(b.Kids, f)
	}
}

// codeOf returns all code in blocks, without blanks.
func codeOf(bs []Block) string {
	var sb strings.Builder
	walk(bs, func(b Block) {
		if b.Kind == CodeBlock {
			sb.WriteString(strings.Join(strings.Fields(b.Text), ""))
		}
	})
	return sb.String()
}

func hasTable(bs []Block) bool {
	found := false
	walk(bs, func(b Block) { found = found || b.Kind == Table })
	return found
}

// checkSpans looks at everything that a chat service could object to.
func checkSpans(t *testing.T, x Text) {
	t.Helper()
	if !utf8.ValidString(x.Plain) || strings.TrimSpace(x.Plain) == "" {
		t.Errorf("bad text %q", x.Plain)
	}
	for i, s := range x.Spans {
		if s.Start < 0 || s.Start >= s.End || s.End > len(x.Plain) ||
			!utf8.RuneStart(x.Plain[s.Start]) || s.End < len(x.Plain) && !utf8.RuneStart(x.Plain[s.End]) {
			t.Errorf("bad span %+v of %d bytes", s, len(x.Plain))
		}
		if i > 0 && (x.Spans[i-1].Start > s.Start || x.Spans[i-1].Start == s.Start && x.Spans[i-1].End < s.End) {
			t.Errorf("spans are not ordered: %+v", x.Spans)
		}
		for _, o := range x.Spans[:i] {
			if (o.Style == Pre || o.Style == Code) && s.Start < o.End {
				t.Errorf("code %+v contains %+v", o, s)
			}
			if o.Style == s.Style && s.Start < o.End {
				t.Errorf("%+v and %+v overlap", o, s)
			}
		}
	}
}

// checkSplit keeps the promises of Parse and Split for one text.
func checkSplit(t *testing.T, in string, lim Limits) {
	t.Helper()
	tree := Parse(in)
	whole := Flatten(tree)
	parts := Split(tree, lim)
	if after := Flatten(tree); after.Plain != whole.Plain || len(after.Spans) != len(whole.Spans) {
		t.Error("splitting changed the given tree")
	}
	var shown, code strings.Builder
	for i, p := range parts {
		x := Flatten(p)
		checkSpans(t, x)
		if n := Units(x.Plain); lim.Units > 0 && n > lim.Units {
			t.Errorf("part %d has %d units, limit %d", i, n, lim.Units)
		}
		if n := len(x.Spans); lim.Entities > 0 && n > lim.Entities {
			t.Errorf("part %d has %d entities, limit %d", i, n, lim.Entities)
		}
		shown.WriteString(everything(x) + "\n")
		code.WriteString(codeOf(p))
	}
	if missing, ok := inOrder(letters(shown.String()), letters(everything(whole))); !ok {
		t.Errorf("lost when split: %.80q", missing)
	}
	if missing, ok := inOrder(code.String(), codeOf(tree)); !ok && lim.Units > 1000 {
		t.Errorf("code lost when split: %.80q", missing)
	}
	source := strings.ToValidUTF8(in, "\uFFFD")
	source = strings.NewReplacer("[x]", "", "[X]", "").Replace(source) // shown as a box
	if !hasTable(tree) && html.UnescapeString(source) == source {
		if missing, ok := inOrder(letters(shown.String()), letters(source)); !ok {
			t.Errorf("lost: %.80q", missing)
		}
	}
}

// answers returns every Markdown file of testdata.
func answers(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.md")
	more, _ := filepath.Glob("testdata/answers/*.md")
	files = append(files, more...)
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	out := map[string]string{}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(body)
	}
	return out
}

func TestNothingIsLostAndNoPartIsOverItsLimit(t *testing.T) {
	t.Parallel()
	for name, in := range answers(t) {
		for _, lim := range []Limits{{}, {Units: 4096}, {Units: 700, Entities: 20}, {Units: 256, Entities: 8}} {
			t.Run(fmt.Sprint(name, lim), func(t *testing.T) {
				t.Parallel()
				checkSplit(t, in, lim)
			})
		}
	}
	for name, in := range nasty(20_000) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSplit(t, in, Limits{Units: 1000, Entities: 50})
			checkSplit(t, in, Limits{Units: 256, Entities: 8})
		})
	}
}

func FuzzSplit(f *testing.F) {
	for _, in := range answers(f) {
		f.Add(in, 256)
	}
	for _, in := range nasty(400) {
		f.Add(in, 300)
	}
	f.Fuzz(func(t *testing.T, in string, units int) {
		if units < 256 || units > 5000 {
			units = 256
		}
		checkSplit(t, in, Limits{Units: units, Entities: 8 + units%90})
		if out := HTML(Parse(in)); strings.Contains(strings.ToLower(out), "<script") {
			t.Errorf("script in %q", out)
		}
	})
}

func TestNoCharacterIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"😀", "👩‍👩‍👧‍👦", "🇩🇪", "é", "각", "नि", "中"} {
		for _, prefix := range []string{"", "a", "ab "} {
			in := prefix + strings.Repeat(c, 3000/len(c))
			for _, doc := range []string{in, "**" + in + "**", "```\n" + in + "\n```"} {
				sum := 0
				for _, p := range Split(Parse(doc), Limits{Units: 300}) {
					x := Flatten(p)
					sum += strings.Count(x.Plain, c)
					if n := uniseg.GraphemeClusterCount(strings.TrimPrefix(x.Plain, prefix)); n != strings.Count(x.Plain, c) {
						t.Fatalf("%q: %d characters, %d whole ones", c, n, strings.Count(x.Plain, c))
					}
				}
				if sum != strings.Count(in, c) {
					t.Errorf("%q: %d of %d left", c, sum, strings.Count(in, c))
				}
			}
		}
	}
}

func flat(parts [][]Block) []string {
	var out []string
	for _, p := range parts {
		out = append(out, show(Flatten(p)))
	}
	return out
}

func TestCutsFallWhereAReaderWouldCut(t *testing.T) {
	t.Parallel()
	lim := Limits{Units: 256, Entities: 8}
	long := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, c := range []struct {
		rule, in string
		want     func(p []string) bool
	}{
		{"a paragraph that fits is kept whole", long(30) + "\n\n" + long(40), func(p []string) bool {
			return len(p) == 2 && p[1] == long(40)
		}},
		{"a heading goes with what follows", long(40) + "\n\n# H\n\n" + long(30), func(p []string) bool {
			return len(p) == 2 && p[1] == "‹b:H›\n"+long(30)
		}},
		{"a heading at the end is kept", "a\n\n# H", func(p []string) bool { return len(p) == 1 && p[0] == "a\n\n‹b:H›" }},
		{"a long paragraph is cut behind a sentence", long(40) + ". " + long(40), func(p []string) bool {
			return len(p) == 2 && strings.HasSuffix(p[0], ".")
		}},
		{"a long paragraph is cut behind a line", long(40) + "\n" + long(40), func(p []string) bool {
			return len(p) == 2 && p[0] == long(40)
		}},
		{"code goes on with its language", "```go\n" + strings.Repeat("line of code\n", 60) + "```", func(p []string) bool {
			for _, s := range p {
				if !strings.HasPrefix(s, "‹pre(go):line of code") || !strings.HasSuffix(s, "line of code›") {
					return false
				}
			}
			return len(p) > 3
		}},
		{"short code is not cut", long(20) + "\n\n```\n" + strings.Repeat("0123456789\n", 20) + "```", func(p []string) bool {
			return len(p) == 2 && strings.HasPrefix(p[1], "‹pre:")
		}},
		{"a table repeats its header", "|h|i|\n|-|-|\n" + strings.Repeat("|abcdefgh|x|\n", 40), func(p []string) bool {
			for _, s := range p {
				if !strings.HasPrefix(s, "‹pre:h        │ i\n─────────┼──\nabc") {
					return false
				}
			}
			return len(p) > 2
		}},
		{"a list is cut between items", strings.Repeat("- "+long(10)+"\n", 10), func(p []string) bool {
			for _, s := range p {
				if !strings.HasPrefix(s, "• word") {
					return false
				}
			}
			return len(p) == 3
		}},
		{"a long item goes on without a bullet", "1. " + long(80) + "\n2. b", func(p []string) bool {
			return strings.HasPrefix(p[0], "1. word") && strings.HasPrefix(p[1], "word") && strings.HasSuffix(p[1], "\n2. b")
		}},
		{"a quote stays one", "> " + long(90), func(p []string) bool {
			return len(p) == 2 && strings.HasPrefix(p[0], "‹q:word") && strings.HasPrefix(p[1], "‹q:word")
		}},
		{"entities are counted", strings.Repeat("**a** b ", 20), func(p []string) bool {
			return len(p) == 3
		}},
		{"a link is not cut", long(48) + " [some link text here](https://a.b) " + long(40), func(p []string) bool {
			return !strings.Contains(p[0], "‹") && strings.HasPrefix(p[1], "‹a(https://a.b):some link text here›")
		}},
	} {
		if got := flat(Split(Parse(c.in), lim)); len(got) == 0 || !c.want(got) {
			t.Errorf("%s:\n%s", c.rule, strings.Join(got, "\n=======\n"))
		}
	}
}

func TestSplitOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "  \n ", "```\n\n```"} {
		if p := Split(Parse(in), Limits{Units: 300}); len(p) != 0 {
			t.Errorf("%q gave %v", in, p)
		}
	}
}
