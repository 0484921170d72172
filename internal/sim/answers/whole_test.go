package answers

import (
	"strings"
	"testing"
)

func asIs(s string) string { return s }

// A comparison that never fails proves nothing.
func TestALostWordOrLineIsNoticed(t *testing.T) {
	t.Parallel()
	md := "some words here\n\n```go\nfunc main() {\n\tone()\n    two()\n}\n```\n\n- [x] more words\n"
	h := Held{Words: "some words here go func main() { one() two() } ☑ more words",
		Code: []Line{{Text: "func main() {", Cut: true}, {Text: "\tone()"}, {Text: "    two()"}, {Text: "}"}}}
	if what := h.Missing(md, asIs); what != "" {
		t.Fatal(what)
	}
	for _, cut := range []string{"words", "one", "some", "go"} {
		bad := h
		bad.Words = strings.Replace(h.Words, cut, "", 1)
		if bad.Missing(md, asIs) == "" {
			t.Errorf("nobody misses %q", cut)
		}
	}
	for i, l := range h.Code {
		bad := h
		bad.Code = append(append([]Line(nil), h.Code[:i]...), h.Code[i+1:]...)
		if bad.Missing(md, asIs) == "" {
			t.Errorf("nobody misses the line %q", l.Text)
		}
		bad.Code = append([]Line(nil), h.Code...)
		bad.Code[i].Text = "    " + l.Text
		if bad.Missing(md, asIs) == "" {
			t.Errorf("nobody sees that the line %q moved", l.Text)
		}
	}
	bad := h
	bad.Code = []Line{h.Code[0], h.Code[2], h.Code[1], h.Code[3]}
	if bad.Missing(md, asIs) == "" {
		t.Error("nobody sees that two lines changed places")
	}
}

func TestAFileThatIsNotTheAnswerIsNoticed(t *testing.T) {
	t.Parallel()
	md := strings.Repeat("one two three. ", 2000)
	h := Held{First: md[:3000] + "…", Name: "answer.md", File: []byte(md)}
	if what := h.Missing(md, asIs); what != "" {
		t.Fatal(what)
	}
	short, other := h, h
	short.File = h.File[:20000]
	other.First = "###"
	if short.Missing(md, asIs) == "" || other.Missing(md, asIs) == "" {
		t.Error("nobody misses the end of a file, or the beginning of an answer")
	}
	code := "```go\n" + strings.Repeat("x()\n", 200) + "```"
	h = Held{First: "x()", Name: "answer.go", File: []byte(strings.Repeat("x()\n", 200))}
	if what := h.Missing(code, asIs); what != "" {
		t.Error(what)
	}
	if h.File = h.File[4:]; h.Missing(code, asIs) == "" {
		t.Error("nobody misses a line of the file")
	}
}

func TestEveryWordOfATableIsLookedFor(t *testing.T) {
	t.Parallel()
	md := "| a | b |\n|---|---|\n| cell | other |"
	if LostWords(md, "a: cell b: other") != "" || LostWords(md, "a: cell b: ") != "other" {
		t.Error("a cell is lost, or said to be")
	}
}

func TestTheCorpusIsThereAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	a, b := Nasty(200), Nasty(200)
	if len(a) != 200 || strings.Join(a, "\x00") != strings.Join(b, "\x00") {
		t.Error("nasty answers differ from run to run")
	}
	if Real(t)["review_lanes"] == "" {
		t.Error("a real answer is missing")
	}
}
