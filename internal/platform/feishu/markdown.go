package feishu

import (
	"strconv"
	"strings"

	"cligate/internal/render"
)

const (
	// maxTables is how many tables one card may have. Sources disagree between
	// three and five; the cautious number is used, the rest is shown as text.
	maxTables = 3
	// maxColumns is how many columns a table may have.
	maxColumns = 10
)

// writer turns blocks into the lines of a card's Markdown (schema 2.0, which is
// CommonMark with tables and without blocks of HTML).
type writer struct{ tables int }

// markdown is blocks in the Markdown of a card's component. Mentions cannot
// come of it, nor links to anything but web pages, nor pictures.
func markdown(blocks []render.Block) string {
	w := &writer{}
	return strings.TrimRight(strings.Join(w.blocks(blocks, true), "\n"), " \u00a0\n")
}

// blocks writes blocks one below the other; outer says that they are not within
// another block.
func (w *writer) blocks(bs []render.Block, outer bool) []string {
	var out []string
	sign := byte('.')
	for i, b := range bs {
		if i > 0 && (outer || !tight(bs[i-1], b)) {
			out = append(out, "")
		}
		if b.Kind == render.List {
			if i > 0 && bs[i-1].Kind == render.List {
				sign = other(sign) // else one list would go on with the numbers of the other
			}
			var lines []string
			lines, sign = w.list(b, sign)
			out = append(out, lines...)
			continue
		}
		out = append(out, w.block(b, outer)...)
	}
	return out
}

// tight reports whether b may follow above without a blank line between them,
// within a list.
func tight(above, b render.Block) bool {
	if above.Kind != render.Paragraph && above.Kind != render.Heading {
		return above.Kind == render.CodeBlock && b.Kind != render.Table
	}
	switch b.Kind {
	case render.CodeBlock:
		return true
	case render.List: // one that begins with another number is no list behind a line of text
		first := b.Kids[0]
		number := strings.TrimRight(first.Marker.Number, ".)")
		return (number == "" || number == "1") && !beneath(first)
	case render.Paragraph, render.Heading, render.Quote, render.Item, render.Table, render.Rule:
	}
	return false
}

func (w *writer) block(b render.Block, outer bool) []string {
	switch b.Kind {
	case render.Heading:
		level := "#### " // larger ones are out of proportion in a card
		if b.Level > 2 {
			level = "##### "
		}
		return []string{level + oneLine(b.Inlines)}
	case render.CodeBlock:
		return code(b.Lang, b.Text)
	case render.Quote:
		lines := w.blocks(b.Kids, false)
		for i, l := range lines {
			lines[i] = ">"
			if l != "" {
				lines[i] = "> " + l
			}
		}
		return lines
	case render.List:
		lines, _ := w.list(b, '.')
		return lines
	case render.Item:
		return w.item(b, mark(b, ""))
	case render.Table:
		return w.table(b, outer)
	case render.Rule:
		return []string{"---"}
	case render.Paragraph:
		lines := strings.Split(inline(b.Inlines), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimRight(l, " ")
		}
		return lines
	}
	return nil
}

// code writes a fence that is longer than any inside.
func code(lang, text string) []string {
	text = unmentioned(text)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	out := []string{fence + strings.Map(word, lang)}
	out = append(out, strings.Split(text, "\n")...)
	return append(out, fence)
}

// word keeps what may be in the name of a language.
func word(r rune) rune {
	if r == '-' || r == '+' || r == '#' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

func other(sign byte) byte { return '.' + ')' - sign }

// list writes a list. Markdown counts the items of a list by itself: where the
// author's numbers jump, another list begins, with the other sign behind its
// numbers. It returns the last sign.
func (w *writer) list(b render.Block, sign byte) ([]string, byte) {
	var out []string
	last, same := 0, sameNumbers(b)
	for i, it := range b.Kids {
		if i > 0 && b.Kids[i-1].Marker.More {
			out = append(out, "")
		}
		number := strings.TrimRight(it.Marker.Number, ".)")
		if number == "" {
			out = append(out, w.item(it, mark(it, ""))...)
			continue
		}
		n, err := strconv.Atoi(number)
		if i > 0 && (err != nil || n != last+1) && !same && !b.Kids[i-1].Marker.More {
			sign = other(sign)
			out = append(out, "")
		}
		last = n
		out = append(out, w.item(it, mark(it, number+string(sign)))...)
	}
	return out, sign
}

// sameNumbers reports whether all items have one number, as authors write who
// leave the counting to others.
func sameNumbers(b render.Block) bool {
	for _, it := range b.Kids {
		if it.Marker.Number != b.Kids[0].Marker.Number {
			return false
		}
	}
	return true
}

// mark is what an item begins with.
func mark(it render.Block, number string) string {
	m := "- "
	switch {
	case it.Marker.More:
		return ""
	case number != "":
		m = number + " "
	}
	switch it.Marker.Task {
	case "done":
		m += "☑ "
	case "open":
		m += "☐ "
	}
	return m
}

// beneath reports whether the text of an item begins below its mark: what would
// be something else behind it.
func beneath(it render.Block) bool {
	if len(it.Kids) == 0 {
		return false
	}
	switch it.Kids[0].Kind {
	case render.CodeBlock, render.List, render.Table, render.Rule, render.Item:
		return true
	case render.Paragraph, render.Heading, render.Quote:
	}
	return false
}

// indent is what cards take for a level.
const indent = 4

// item writes an item; what follows its first line is indented.
func (w *writer) item(it render.Block, mark string) []string {
	lines := w.blocks(it.Kids, false)
	switch {
	case mark == "":
		return lines
	case len(lines) == 0: // readers differ over what may follow an empty one
		return []string{mark + "\u00a0"}
	}
	deep := indent
	if n := strings.IndexByte(mark, ' ') + 1; n > deep {
		deep = n
	}
	var out []string
	if beneath(it) {
		out = append(out, strings.TrimRight(mark, " "))
	} else {
		out, lines = append(out, mark+lines[0]), lines[1:]
	}
	for _, l := range lines {
		if l != "" {
			l = strings.Repeat(" ", deep) + l
		}
		out = append(out, l)
	}
	return out
}

// table writes a table, or, where the card has enough of them or one cannot be
// (within a list or a quote), its text.
func (w *writer) table(b render.Block, outer bool) []string {
	g := b.Grid
	if !outer || w.tables >= maxTables || len(g.Head) > maxColumns {
		if g.Wide {
			return w.blocks(render.Rows(g), outer)
		}
		return code("", render.Flatten([]render.Block{b}).Plain)
	}
	w.tables++
	row := func(cells []render.Cell) string {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = cell(c)
		}
		return "| " + strings.Join(out, " | ") + " |"
	}
	rule := make([]string, len(g.Head))
	for i, a := range g.Aligns {
		switch a {
		case render.AlignRight:
			rule[i] = "---:"
		case render.AlignCenter:
			rule[i] = ":---:"
		case render.AlignLeft:
			rule[i] = "---"
		}
	}
	lines := []string{row(g.Head), "| " + strings.Join(rule, " | ") + " |"}
	for _, r := range g.Rows {
		lines = append(lines, row(r))
	}
	return lines
}
