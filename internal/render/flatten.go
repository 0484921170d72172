package render

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flatten writes blocks as text with style ranges.
func Flatten(blocks []Block) Text {
	w := writer{}
	w.blocks(blocks)
	return w.text()
}

// Units returns the length of s in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

func runeUnits(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// writer writes blocks as text and knows when a limit is passed: it is also
// the measure for splitting. Once full it writes no more.
type writer struct {
	lim    Limits
	buf    []byte
	spans  []Span
	units  int
	full   bool
	indent string // what a new line begins with
	depth  int    // of lists
	quoted bool
}

// mark is a state that a writer can go back to.
type mark struct {
	buf, spans, units int
	full              bool
}

func (w *writer) mark() mark { return mark{len(w.buf), len(w.spans), w.units, w.full} }

func (w *writer) reset(m mark) {
	w.buf, w.spans, w.units, w.full = w.buf[:m.buf], w.spans[:m.spans], m.units, m.full
}

// text returns what was written, without blanks at the end.
func (w *writer) text() Text {
	t := Text{Plain: strings.TrimRightFunc(string(w.buf), unicode.IsSpace)}
	for _, s := range w.spans {
		if s.End = min(s.End, len(t.Plain)); s.Start < s.End {
			t.Spans = append(t.Spans, s)
		}
	}
	slices.SortStableFunc(t.Spans, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	return t
}

// tooLong reports, at no cost, that s cannot fit: four bytes are at least one
// unit.
func (w *writer) tooLong(s string) bool {
	return w.lim.Units > 0 && len(s) > 4*(w.lim.Units-w.units)
}

// raw writes s as it is.
func (w *writer) raw(s string) {
	if w.full = w.full || w.tooLong(s); w.full {
		return
	}
	w.buf = append(w.buf, s...)
	if w.lim.Units == 0 {
		return
	}
	for _, r := range s {
		if w.units += runeUnits(r); w.units > w.lim.Units {
			w.full = true
			return
		}
	}
}

// put writes text whose lines are indented.
func (w *writer) put(s string) {
	w.full = w.full || w.tooLong(s)
	for !w.full {
		line, rest, more := strings.Cut(s, "\n")
		w.raw(line)
		if !more {
			return
		}
		w.raw("\n")
		w.raw(w.indent)
		s = rest
	}
}

// open begins a span; close ends it where the text ends now.
func (w *writer) open(style Style, arg string) int {
	if w.lim.Entities > 0 && len(w.spans) >= w.lim.Entities {
		w.full = true
	}
	w.spans = append(w.spans, Span{Start: len(w.buf), End: len(w.buf), Style: style, Arg: arg})
	return len(w.spans) - 1
}

func (w *writer) close(span int) { w.spans[span].End = len(w.buf) }

func (w *writer) blocks(bs []Block) {
	for i, b := range bs {
		if w.full {
			return
		}
		if i > 0 {
			w.gap(bs[i-1], b)
		}
		w.block(b)
	}
}

// gap writes what stands between two blocks.
func (w *writer) gap(above, b Block) {
	switch {
	case b.Kind == Item, above.Kind == Heading && b.Kind != Heading, w.depth > 0:
	default:
		w.raw("\n")
	}
	w.raw("\n")
	if b.Kind != CodeBlock && (b.Kind != Table || b.Grid.Wide) {
		w.raw(w.indent) // preformatted text begins at the margin
	}
}

func (w *writer) block(b Block) {
	switch b.Kind {
	case Paragraph:
		w.runs(b.Inlines, 0)
	case Heading:
		w.runs(b.Inlines, Bold)
	case CodeBlock:
		if w.full = w.full || w.tooLong(b.Text); w.full {
			return
		}
		s := w.open(Pre, b.Lang)
		w.raw(expandTabs(b.Text))
		w.close(s)
	case Quote, List, Item:
		w.within(b, func() { w.blocks(b.Kids) })
	case Table:
		w.table(b.Grid)
	case Rule:
		w.raw("————————")
	}
}

// within writes what a container begins with and calls f in its surroundings.
func (w *writer) within(b Block, f func()) {
	indent, depth, quoted := w.indent, w.depth, w.quoted
	span := -1
	switch {
	case b.Kind == List:
		w.depth++
	case b.Kind == Item:
		w.marker(b)
	case w.quoted:
		w.raw("> ")
		w.indent += "> "
	default:
		w.quoted = true
		span = w.open(Quoted, "")
	}
	f()
	if span >= 0 {
		w.close(span)
	}
	w.indent, w.depth, w.quoted = indent, depth, quoted
}

// marker writes what stands in front of an item and indents what follows.
func (w *writer) marker(it Block) {
	m := ""
	switch {
	case it.Marker.More:
		w.indent += "  "
		return
	case it.Marker.Number != "":
		m = it.Marker.Number + " "
	case it.Marker.Task == "":
		m = []string{"• ", "◦ ", "▪ "}[(max(w.depth, 1)-1)%3]
	}
	switch it.Marker.Task {
	case "open":
		m += "☐ "
	case "done":
		m += "☑ "
	}
	w.indent += strings.Repeat(" ", utf8.RuneCountInString(m))
	if len(it.Kids) > 0 && it.Kids[0].Kind != Paragraph && it.Kids[0].Kind != Heading {
		w.put(strings.TrimSuffix(m, " ") + "\n")
		return
	}
	w.raw(m)
}

var inlineStyles = [...]Style{Linked, Bold, Italic, Strike, Code}

// runs writes a line of text; add is given to all of it that is not code.
func (w *writer) runs(in []Inline, add Style) {
	var open [len(inlineStyles)]int // index of the open span + 1
	var link string
	for _, r := range in {
		if w.full {
			return
		}
		style := spanStyle(r, add)
		for i, bit := range inlineStyles {
			// Every style ends where a link does: services divide it there, and
			// count the pieces.
			goesOn := open[i] > 0 && style&bit != 0 && r.Link == link
			if open[i] > 0 && !goesOn {
				w.close(open[i] - 1)
				open[i] = 0
			}
			if style&bit != 0 && !goesOn {
				arg := ""
				if bit == Linked {
					arg = r.Link
				}
				open[i] = w.open(bit, arg) + 1
			}
		}
		link = r.Link
		w.put(r.Text)
	}
	for _, s := range open {
		if s > 0 {
			w.close(s - 1)
		}
	}
}

func spanStyle(r Inline, add Style) Style {
	style := r.Style
	if style&Code != 0 {
		return Code
	}
	if r.Link != "" {
		style |= Linked
	}
	return style | add
}

// expandTabs replaces tabs by blanks up to the next fourth column, because chat
// services collapse them.
func expandTabs(code string) string {
	if !strings.Contains(code, "\t") {
		return code
	}
	var sb strings.Builder
	col := 0
	for _, r := range code {
		switch r {
		case '\t':
			n := 4 - col%4
			sb.WriteString("    "[:n])
			col += n
		case '\n':
			sb.WriteByte('\n')
			col = 0
		default:
			sb.WriteRune(r)
			col++
		}
	}
	return sb.String()
}
