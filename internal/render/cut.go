package render

import (
	"strings"

	"github.com/rivo/uniseg"
)

// cut divides b where w gets full, and may change b's slices for that. w is at
// the place where b would begin; what it has written afterwards is of no
// meaning. ok is false when not even a piece of b fits; then b is as it was.
// fits says whether a block fits into a part of its own.
func (w *writer) cut(b Block, fits func(Block) bool) (head Block, tail []Block, ok bool) {
	if w.full {
		return head, nil, false
	}
	switch b.Kind {
	case Paragraph:
		return w.cutLine(b, 0)
	case Heading:
		return w.cutLine(b, Bold)
	case CodeBlock:
		return w.cutCode(b)
	case Quote, List, Item:
		w.within(b, func() { head, tail, ok = w.cutKids(b, fits) })
		return head, tail, ok
	case Table:
		return w.cutTable(b, fits)
	case Rule:
	}
	return head, nil, false
}

// cutKids divides a container between its kids, or within one that is too long
// for a part of its own.
func (w *writer) cutKids(b Block, fits func(Block) bool) (head Block, tail []Block, ok bool) {
	for i, k := range b.Kids {
		if i > 0 {
			w.gap(b.Kids[i-1], k)
		}
		m := w.mark()
		if w.block(k); !w.full {
			continue
		}
		w.reset(m)
		var inner []Block
		var first Block
		kept := i
		for kept > 0 && b.Kids[kept-1].Kind == Heading {
			kept--
		}
		if kept == 0 || !fits(k) {
			if first, inner, ok = w.cut(k, fits); ok {
				return b.part(append(b.Kids[:i:i], first)), []Block{b.rest(replaceFirst(b.Kids[i:], inner))}, true
			}
		}
		if kept == 0 {
			return head, nil, false
		}
		return b.part(b.Kids[:kept:kept]), []Block{b.rest(b.Kids[kept:])}, true
	}
	return b, nil, true
}

// replaceFirst puts fresh in the place of the first block, in place if it can.
func replaceFirst(bs, fresh []Block) []Block {
	if len(fresh) == 1 {
		bs[0] = fresh[0]
		return bs
	}
	return append(fresh, bs[1:]...)
}

func (b Block) part(kids []Block) Block {
	b.Kids = kids
	return b
}

func (b Block) rest(kids []Block) Block {
	b.Kids = kids
	if b.Kind == Item {
		b.Marker = Marker{More: true}
	}
	return b
}

// cutCode divides a code block behind a line; a very long line anywhere. A line
// at the margin is preferred to begin the rest with: functions begin there, and
// services cut the blanks in front of a message.
func (w *writer) cutCode(b Block) (head Block, tail []Block, ok bool) {
	if w.open(Pre, b.Lang); w.full {
		return head, nil, false
	}
	room := w.room()
	end, used, margin := 0, 0, 0
	for end < len(b.Text) {
		if strings.IndexByte(" \t)]}", b.Text[end]) < 0 {
			margin = end
		}
		line, _, _ := strings.Cut(b.Text[end:min(len(b.Text), end+4*room+4)], "\n")
		n := Units(expandTabs(line)) + 1
		if used+n-1 > room {
			break
		}
		used += n
		end += len(line) + 1
	}
	if end >= len(b.Text) {
		return b, nil, true
	}
	head, rest := b, b
	if margin > end/2 { // the next part had better begin with a line that is not indented
		end = margin
	}
	if end > 0 {
		head.Text, rest.Text = b.Text[:end-1], b.Text[end:]
		return head, []Block{rest}, !empty(head)
	}
	line, _, _ := strings.Cut(b.Text[:min(len(b.Text), 4*w.lim.Units)], "\n")
	if Units(line) <= w.lim.Units/2 {
		return head, nil, false // fits into the next part
	}
	at := 0
	clusters(line, room, func(c string) int { return Units(strings.ReplaceAll(c, "\t", "    ")) },
		func(end int, _ string) { at = end })
	if at == 0 {
		return head, nil, false
	}
	if i := strings.LastIndexAny(line[:at], " ;,"); i > at*3/4 { // between two words of a minified file
		at = i + 1
	}
	head.Text, rest.Text = b.Text[:at], b.Text[at:]
	return head, []Block{rest}, !empty(head)
}

// cutTable divides a table between rows; both parts have the header. A row that
// is too long for that becomes a paragraph.
func (w *writer) cutTable(b Block, fits func(Block) bool) (head Block, tail []Block, ok bool) {
	rest := func(n int) []Block {
		if n == len(b.Grid.Rows) {
			return nil
		}
		g := *b.Grid
		g.Rows = g.Rows[n:]
		return []Block{{Kind: Table, Grid: &g}}
	}
	if len(b.Grid.Rows) == 0 {
		return w.cutLine(headParagraph(b.Grid), 0)
	}
	start := w.mark()
	n := w.rowsThatFit(b.Grid)
	if n > 0 {
		g := *b.Grid
		g.Rows = g.Rows[:n:n]
		return Block{Kind: Table, Grid: &g}, rest(n), true
	}
	one := *b.Grid
	one.Rows = one.Rows[:1:1]
	if fits(Block{Kind: Table, Grid: &one}) {
		return head, nil, false // in the next part
	}
	w.reset(start)
	p := rowParagraph(b.Grid, b.Grid.Rows[0])
	if w.block(p); !w.full {
		return p, rest(1), true
	}
	w.reset(start)
	head, tail, ok = w.cutLine(p, 0)
	return head, append(tail, rest(1)...), ok
}

func (w *writer) rowsThatFit(g *Grid) int {
	if !g.Wide {
		w.open(Pre, "")
		w.raw(tableLine(g, g.Head) + "\n" + tableRule(g))
	}
	for i, r := range g.Rows {
		if g.Wide {
			p := rowParagraph(g, r)
			if i > 0 {
				w.gap(p, p)
			}
			w.block(p)
		} else {
			w.raw("\n" + tableLine(g, r))
		}
		if w.full {
			return i
		}
	}
	return len(g.Rows)
}

func (w *writer) room() int {
	if w.lim.Units == 0 {
		return 1 << 30
	}
	return w.lim.Units - w.units
}

// cutLine divides the runs of a paragraph or heading.
func (w *writer) cutLine(b Block, add Style) (head Block, tail []Block, ok bool) {
	text := w.runsThatFit(b.Inlines, add)
	line := 1 + len(w.indent)
	at := w.breakPoint(text, func(c string) int {
		if c == "\n" {
			return line
		}
		return Units(c)
	})
	if at == 0 {
		return head, nil, false
	}
	at = beforeLink(b.Inlines, at)
	head, rest := b, b
	head.Inlines, rest.Inlines = cutRuns(b.Inlines, at)
	head.Inlines, rest.Inlines = trimRuns(head.Inlines), trimRuns(rest.Inlines)
	if len(rest.Inlines) > 0 {
		tail = []Block{rest}
	}
	return head, tail, !empty(head)
}

// runsThatFit returns the beginning of the runs that the entities allow, as
// plain text; it is not much longer than the room.
func (w *writer) runsThatFit(in []Inline, add Style) string {
	var sb strings.Builder
	most := 4*w.room() + 64
	m := w.mark()
	defer w.reset(m)
	free := 1 << 30
	if w.lim.Entities > 0 {
		free = w.lim.Entities - len(w.spans)
	}
	last, link := Style(0), ""
	for _, r := range in {
		style := spanStyle(r, add)
		for _, bit := range inlineStyles {
			if style&bit != 0 && (last&bit == 0 || r.Link != link) {
				free--
			}
		}
		if free < 0 || sb.Len() >= most {
			break
		}
		last, link = style, r.Link
		sb.WriteString(r.Text[:min(len(r.Text), most)])
	}
	return sb.String()
}

// cutRuns divides runs at a byte offset of their text. The tail is made in
// place.
func cutRuns(in []Inline, at int) (head, tail []Inline) {
	for i, r := range in {
		if at < len(r.Text) {
			head = append(head, in[:i]...)
			if at > 0 {
				in[i].Text = r.Text[at:]
				r.Text = r.Text[:at]
				head = append(head, r)
			}
			return head, in[i:]
		}
		at -= len(r.Text)
	}
	return in, nil
}

// beforeLink moves a cut that falls into a link or a piece of code in front of
// it, unless that costs too much room.
func beforeLink(in []Inline, at int) int {
	start := 0
	for _, r := range in {
		if at < start+len(r.Text) {
			if (r.Link != "" || r.Style&Code != 0) && at > start && start > at/2 {
				return start
			}
			break
		}
		start += len(r.Text)
	}
	return at
}

// clusters walks through the longest beginning of s, in whole grapheme
// clusters, that costs no more than room; seen is told where each one ends. A
// monstrous cluster that does not fit is cut.
func clusters(s string, room int, cost func(string) int, seen func(end int, cluster string)) {
	at, used, state := 0, 0, -1
	var c string
	for rest := s; rest != ""; {
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n := cost(c)
		if used+n > room {
			if at > 0 || n <= minUnits/4 {
				return
			}
			for i, r := range c {
				if used += runeUnits(r); used > room {
					seen(i, c[:i])
					return
				}
			}
			return
		}
		used += n
		at += len(c)
		seen(at, c)
	}
}

// breakPoint returns the best place to cut text so that its beginning fits: a
// line's end, else a sentence's, else a word's, else between characters.
func (w *writer) breakPoint(text string, cost func(string) int) int {
	var at, line, sentence, word int
	last := ""
	clusters(text, w.room(), cost, func(end int, c string) {
		at = end
		blank := strings.TrimSpace(c) == ""
		switch {
		case c == "\n":
			line = end
		case blank && last != "" && strings.Contains(".!?;:…", last), strings.Contains("。！？；", c):
			sentence = end
		case blank, strings.Contains("，、：", c):
			word = end
		}
		last = c
	})
	switch {
	case at == len(text):
		return at
	case line > at/2:
		return line
	case sentence > at/2:
		return sentence
	case word > at/4:
		return word
	}
	return at
}
