package render

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// TableWidth is how many columns of text an aligned table may take; that is
// what a telephone shows of preformatted text without wrapping.
const TableWidth = 38

// Parse reads Markdown (GFM without HTML) into blocks. It never fails: what is
// no valid Markdown is text.
func Parse(markdown string) []Block {
	markdown = strings.ReplaceAll(markdown, "\r\n", "\n")
	markdown = strings.ReplaceAll(markdown, "\r", "\n")
	if !utf8.ValidString(markdown) {
		markdown = strings.ToValidUTF8(markdown, "\uFFFD")
	}
	src := []byte(markdown + "\n") // the parser wants whole lines
	b := builder{src: src}
	return b.kids(dialect().Parse(text.NewReader(src)))
}

// builder makes our tree from the parser's.
type builder struct{ src []byte }

func (b *builder) kids(parent ast.Node) []Block {
	var out []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if !isParagraph(n) {
			out = append(out, b.block(n)...)
			continue
		}
		var l line
		one := true
		b.collect(n, &l)
		for next := n.NextSibling(); next != nil; next = next.NextSibling() {
			gap, ok := b.sameParagraph(n, next)
			if !ok {
				break
			}
			l.add(Inline{Text: gap})
			b.collect(next, &l)
			n, one = next, false
		}
		out = append(out, b.paragraph(l.runs(), one && n.Lines().Len() == 2))
	}
	return slices.DeleteFunc(out, empty)
}

// empty reports whether nothing of b can be seen.
func empty(b Block) bool {
	switch b.Kind {
	case Paragraph, Heading:
		for _, r := range b.Inlines {
			if strings.TrimSpace(r.Text) != "" {
				return false
			}
		}
		return true
	case CodeBlock:
		return strings.TrimSpace(b.Text) == ""
	case Quote, List:
		return len(b.Kids) == 0
	case Table:
		return len(b.Grid.Head) == 0
	case Item, Rule:
	}
	return false
}

// sameParagraph reports whether n goes on where the paragraph last was cut,
// and what stood between them.
func (b *builder) sameParagraph(last, n ast.Node) (gap string, ok bool) {
	if !isParagraph(n) || last.Lines().Len() == 0 || n.Lines().Len() == 0 {
		return "", false
	}
	end := last.Lines().At(last.Lines().Len() - 1)
	end = end.TrimRightSpace(b.src)
	between := string(b.src[end.Stop:max(end.Stop, n.Lines().At(0).Start)])
	switch strings.Count(between, "\n") {
	case 0:
		return between, true
	case 1:
		return "\n", true
	default:
		return "", false
	}
}

func isParagraph(n ast.Node) bool {
	return n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock
}

func (b *builder) block(n ast.Node) []Block {
	switch n := n.(type) {
	case *ast.Heading:
		return []Block{{Kind: Heading, Level: n.Level, Inlines: finish(b.runs(n))}}
	case *ast.ThematicBreak:
		return []Block{{Kind: Rule}}
	case *ast.FencedCodeBlock:
		return b.fence(n)
	case *ast.CodeBlock:
		return []Block{{Kind: CodeBlock, Text: b.lines(n)}}
	case *ast.Blockquote:
		return []Block{{Kind: Quote, Kids: b.kids(n)}}
	case *ast.List:
		return []Block{b.list(n)}
	case *east.Table:
		return []Block{{Kind: Table, Grid: b.grid(n)}}
	default:
		return b.kids(n)
	}
}

// paragraph makes a paragraph, or a heading of a line that is underlined with
// equal signs.
func (b *builder) paragraph(runs []Inline, twoLines bool) Block {
	if twoLines && len(runs) > 0 {
		last := &runs[len(runs)-1]
		above, bar, _ := strings.Cut(strings.TrimRight(last.Text, " \n"), "\n")
		if len(bar) > 1 && strings.Trim(bar, "=") == "" {
			last.Text = above
			return Block{Kind: Heading, Level: 1, Inlines: finish(runs)}
		}
	}
	return Block{Kind: Paragraph, Inlines: finish(runs)}
}

// fence makes a code block. An info string that is more than a language, or
// something else, stands in a line above it.
func (b *builder) fence(n *ast.FencedCodeBlock) []Block {
	code := Block{Kind: CodeBlock, Text: b.lines(n)}
	if n.Info == nil {
		return []Block{code}
	}
	info := strings.Join(strings.Fields(string(n.Info.Segment.Value(b.src))), " ")
	word, _, _ := strings.Cut(info, " ")
	if code.Lang = languageOf(word); code.Lang == info && !empty(code) {
		return []Block{code}
	}
	return []Block{{Kind: Paragraph, Inlines: []Inline{{Text: info, Style: Code}}}, code}
}

var languageName = regexp.MustCompile(`^[A-Za-z0-9_+#.-]{1,32}$`)

// languageOf returns the language that an info string begins with. Where models
// write the name of a file, it is what the name ends in.
func languageOf(word string) string {
	if i := strings.LastIndexByte(word, '.'); i > 0 {
		if end := word[i+1:]; languageName.MatchString(end) {
			return end
		}
	}
	if languageName.MatchString(word) {
		return word
	}
	return ""
}

func (b *builder) lines(n ast.Node) string {
	var sb strings.Builder
	for i := range n.Lines().Len() {
		l := n.Lines().At(i)
		sb.Write(l.Value(b.src))
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

func (b *builder) list(n *ast.List) Block {
	out := Block{Kind: List}
	next := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		it := Block{Kind: Item, Kids: b.kids(c)}
		if n.IsOrdered() {
			it.Marker.Number = b.number(c.Pos(), next, n.Marker)
			next++
		}
		it.Marker.Task = takeTask(it.Kids)
		out.Kids = append(out.Kids, it)
	}
	return out
}

// number returns an item's number as the author wrote it.
func (b *builder) number(pos, fallback int, sign byte) string {
	end := max(pos, 0)
	for end < len(b.src) && b.src[end] >= '0' && b.src[end] <= '9' {
		end++
	}
	if end == pos || pos < 0 || end == len(b.src) || b.src[end] != sign {
		return strconv.Itoa(fallback) + string(sign)
	}
	return string(b.src[pos : end+1])
}

// takeTask removes the box of a task from the beginning of an item.
func takeTask(kids []Block) string {
	if len(kids) == 0 || kids[0].Kind != Paragraph || len(kids[0].Inlines) == 0 || kids[0].Inlines[0].Style != 0 {
		return ""
	}
	first := &kids[0].Inlines[0]
	var state string
	switch {
	case strings.HasPrefix(first.Text, "[ ] "):
		state = "open"
	case strings.HasPrefix(first.Text, "[x] "), strings.HasPrefix(first.Text, "[X] "):
		state = "done"
	default:
		return ""
	}
	if first.Text = first.Text[len("[ ] "):]; first.Text == "" {
		kids[0].Inlines = kids[0].Inlines[1:]
	}
	return state
}

func (b *builder) grid(t *east.Table) *Grid {
	g := &Grid{Widths: make([]int, len(t.Alignments))}
	for _, a := range t.Alignments {
		switch a {
		case east.AlignRight:
			g.Aligns = append(g.Aligns, AlignRight)
		case east.AlignCenter:
			g.Aligns = append(g.Aligns, AlignCenter)
		default:
			g.Aligns = append(g.Aligns, AlignLeft)
		}
	}
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		row := make([]Cell, 0, len(g.Aligns))
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, b.cell(c, g, len(row)))
		}
		for len(row) < len(g.Aligns) {
			row = append(row, nil)
		}
		if r == t.FirstChild() {
			g.Head = row
		} else {
			g.Rows = append(g.Rows, row)
		}
	}
	total := len(columnGap) * max(0, len(g.Widths)-1)
	for _, w := range g.Widths {
		total += w
	}
	g.Wide = g.Wide || total > TableWidth
	return g
}

// cell makes a cell and notes what it means for the form of the table: a link
// or something too long cannot be shown in an aligned table.
func (b *builder) cell(n ast.Node, g *Grid, col int) Cell {
	runs := finish(b.runs(n))
	size := 0
	for i := range runs {
		if runs[i].Style&Code != 0 {
			runs[i].Text = strings.ReplaceAll(runs[i].Text, `\|`, "|")
		}
		size += len(runs[i].Text)
		g.Wide = g.Wide || runs[i].Link != "" && runs[i].Link != runs[i].Text
	}
	if size > 8*TableWidth {
		g.Wide = true
		return runs
	}
	g.Widths[col] = max(g.Widths[col], uniseg.StringWidth(plainRuns(runs)))
	return runs
}
