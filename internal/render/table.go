package render

import (
	"iter"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

const (
	columnGap = " │ "
	headGap   = "─┼─"
)

// table writes a table: aligned when it is narrow, else row by row.
func (w *writer) table(g *Grid) {
	if g.Wide {
		w.wideTable(g)
		return
	}
	s := w.open(Pre, "")
	w.raw(tableLine(g, g.Head))
	w.raw("\n" + tableRule(g))
	for _, r := range g.Rows {
		if w.full {
			break
		}
		w.raw("\n" + tableLine(g, r))
	}
	w.close(s)
}

func tableLine(g *Grid, row []Cell) string {
	var sb strings.Builder
	for i, c := range row {
		if i > 0 {
			sb.WriteString(columnGap)
		}
		text := plainRuns(c)
		room := max(0, g.Widths[i]-uniseg.StringWidth(text))
		left := 0
		switch g.Aligns[i] {
		case AlignRight:
			left = room
		case AlignCenter:
			left = room / 2
		case AlignLeft:
		}
		sb.WriteString(strings.Repeat(" ", left))
		sb.WriteString(text)
		sb.WriteString(strings.Repeat(" ", room-left))
	}
	return strings.TrimRight(sb.String(), " ")
}

func tableRule(g *Grid) string {
	var sb strings.Builder
	for i, n := range g.Widths {
		if i > 0 {
			sb.WriteString(headGap)
		}
		sb.WriteString(strings.Repeat("─", n))
	}
	return sb.String()
}

// Rows is a table as paragraphs, one a row: "header: value" lines. It is for
// tables that are too wide, or that a service has no place for.
func Rows(g *Grid) []Block { return slices.Collect(rows(g)) }

func rows(g *Grid) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		if len(g.Rows) == 0 {
			yield(headParagraph(g))
		}
		for _, r := range g.Rows {
			if !yield(rowParagraph(g, r)) {
				return
			}
		}
	}
}

// wideTable writes one paragraph per row.
func (w *writer) wideTable(g *Grid) {
	last := Block{}
	for p := range rows(g) {
		if w.full {
			return
		}
		if last.Kind != "" {
			w.gap(last, p)
		}
		w.block(p)
		last = p
	}
}

// headParagraph stands for a wide table without rows.
func headParagraph(g *Grid) Block {
	var heads line
	for i, h := range g.Head {
		if i > 0 {
			heads.add(Inline{Text: columnGap})
		}
		heads.add(h...)
	}
	return Block{Kind: Paragraph, Inlines: heads.runs()}
}

// rowParagraph writes a row as "header: value" lines.
func rowParagraph(g *Grid, row []Cell) Block {
	var out line
	first := true
	for i, c := range row {
		if len(c) == 0 && len(g.Head[i]) == 0 {
			continue
		}
		add := Style(0)
		if first {
			add, first = Bold, false
		} else {
			out.add(Inline{Text: "\n"})
		}
		if len(g.Head[i]) > 0 {
			out.add(bolder(g.Head[i], add)...)
			out.add(Inline{Text: ": ", Style: add})
		}
		if len(c) == 0 {
			c = Cell{{Text: "–"}}
		}
		out.add(bolder(c, add)...)
	}
	return Block{Kind: Paragraph, Inlines: out.runs()}
}

func bolder(in []Inline, add Style) []Inline {
	out := make([]Inline, 0, len(in))
	for _, r := range in {
		if r.Style&Code == 0 {
			r.Style |= add
		}
		out = append(out, r)
	}
	return out
}
