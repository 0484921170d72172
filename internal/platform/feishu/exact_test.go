package feishu

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"cligate/internal/render"
	corpus "cligate/internal/sim/answers"
	sim "cligate/internal/sim/feishu"
)

// meant is every character that blocks should show, apart from blanks: what a
// reader of Markdown must make of them, and no sign of markup beside it. ok is
// false where there are tables, which may have several forms.
func meant(bs []render.Block) (shown string, ok bool) {
	var sb strings.Builder
	ok = true
	var walk func(bs []render.Block)
	walk = func(bs []render.Block) {
		for _, b := range bs {
			for _, r := range spelled(b.Inlines) {
				if r.Style&render.Code == 0 {
					r.Text = breaks.ReplaceAllString(r.Text, "")
				}
				sb.WriteString(r.Text)
			}
			sb.WriteString(b.Text)
			ok = ok && b.Kind != render.Table
			for i, k := range b.Kids {
				sb.WriteString(number(b, i) + map[string]string{"done": "☑", "open": "☐"}[k.Marker.Task])
				walk(b.Kids[i : i+1])
			}
		}
	}
	walk(bs)
	return visible(sb.String()), ok
}

// number is what stands before an item of a list.
func number(list render.Block, i int) string {
	n, err := strconv.Atoi(strings.TrimRight(list.Kids[i].Marker.Number, ".)"))
	switch {
	case err != nil:
		return ""
	case sameNumbers(list):
		n += i
	}
	return strconv.Itoa(n) + "."
}

var breaks = regexp.MustCompile(`<br ?/?>`)

// visible leaves out blanks, and what shows nothing.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == 0x200b {
			return -1
		}
		return r
	}, s)
}

// exactly checks that a reader of Markdown sees the characters of a text and no
// others.
func exactly(t *testing.T, md string) {
	t.Helper()
	for _, bs := range split(render.Parse(clean(md)), targetUnits) {
		want, ok := meant(bs)
		if !ok {
			continue
		}
		out := markdown(bs)
		if got := visible(sim.Read(out).Exact); got != want {
			n := 0
			for n < len(got) && n < len(want) && got[n] == want[n] {
				n++
			}
			from := max(0, n-30)
			t.Errorf("shown is %.90q, meant %.90q\nof %.300q\nas %.600q", got[from:], want[from:], md, out)
		}
	}
}

func TestAReaderSeesTheCharactersOfAnAnswerAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, md := range corpus.Real(t) {
		exactly(t, md)
	}
	for _, md := range corpus.Nasty(200) {
		exactly(t, md)
	}
}
