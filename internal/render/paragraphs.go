package render

import (
	"bytes"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// paragraphs looks at every finished paragraph before its inline markup is
// read: it finds tables in it and cuts what is too long to be searched at once.
// (Pieces of one paragraph are put together again by the tree builder.)
type paragraphs struct{}

// Transform implements parser.ParagraphTransformer.
func (paragraphs) Transform(node *ast.Paragraph, r text.Reader, _ parser.Context) {
	src := r.Source()
	lines := node.Lines().Sliced(0, node.Lines().Len())
	var fresh []ast.Node
	from := 0
	for i := 1; i < len(lines); i++ {
		aligns := delimiterRow(lines[i].Value(src))
		if aligns == nil || i-1 < from || len(aligns) > 1 && !hasPipe(lines[i-1].Value(src)) {
			continue
		}
		end := i + 1
		for end < len(lines) && hasPipe(lines[end].Value(src)) {
			end++
		}
		fresh = append(fresh, cutParagraph(lines[from:i-1], src)...)
		fresh = append(fresh, newTable(lines[i-1], lines[i+1:end], aligns, src))
		from, i = end, end
	}
	fresh = append(fresh, cutParagraph(lines[from:], src)...)
	if len(fresh) == 1 && fresh[0].Kind() == ast.KindParagraph {
		return
	}
	parent := node.Parent()
	for i, n := range fresh {
		n.SetBlankPreviousLines(i == 0 && node.HasBlankPreviousLines())
		parent.InsertBefore(parent, node, n)
	}
	parent.RemoveChild(parent, node)
}

// cutParagraph makes paragraphs of lines: one, or several when they are long.
func cutParagraph(lines []text.Segment, src []byte) []ast.Node {
	var out []ast.Node
	size := maxInline
	add := func(l text.Segment) {
		if size+l.Len() > maxInline {
			out, size = append(out, ast.NewParagraph()), 0
		}
		size += l.Len()
		out[len(out)-1].Lines().Append(l)
	}
	for _, l := range lines {
		l = l.TrimLeftSpace(src)
		for l.Len() > maxInline {
			at := l.Start + cutPoint(src[l.Start:l.Stop])
			add(text.NewSegment(l.Start, at))
			l = text.NewSegment(at, l.Stop)
		}
		add(l)
	}
	return out
}

// maxCode bounds how far the end of a piece of code in a table row is looked for.
const maxCode = 512

// cutPoint returns where to cut a long line: behind a blank if there is one
// near the end, never inside a character.
func cutPoint(line []byte) int {
	if i := bytes.LastIndexByte(line[maxInline/2:maxInline], ' '); i >= 0 {
		return maxInline/2 + i + 1
	}
	at := maxInline
	for at > maxInline-utf8.UTFMax && !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// delimiterRow reads a line like |---|:-:| and returns its alignments, nil
// when it is something else. It must contain a pipe or a colon.
func delimiterRow(line []byte) []east.Alignment {
	line = bytes.TrimSpace(line)
	if !bytes.ContainsAny(line, "|:") || len(bytes.Trim(line, "|:- \t")) > 0 {
		return nil
	}
	var out []east.Alignment
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = bytes.TrimSpace(cell)
		dashes := bytes.Trim(cell, ":")
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 || len(cell)-len(dashes) > 2 {
			return nil
		}
		left, right := cell[0] == ':', cell[len(cell)-1] == ':'
		switch {
		case left && right:
			out = append(out, east.AlignCenter)
		case right:
			out = append(out, east.AlignRight)
		default:
			out = append(out, east.AlignLeft)
		}
	}
	return out
}

func hasPipe(line []byte) bool { return bytes.IndexByte(line, '|') >= 0 }

// newTable makes a table whose rows all have as many cells as the longest, so
// that no cell is lost.
func newTable(head text.Segment, rows []text.Segment, aligns []east.Alignment, src []byte) ast.Node {
	cells := make([][]text.Segment, 0, len(rows)+1)
	cells = append(cells, rowCells(head, src))
	width := max(len(aligns), len(cells[0]))
	for _, r := range rows {
		c := rowCells(r, src)
		cells = append(cells, c)
		width = max(width, len(c))
	}
	for len(aligns) < width {
		aligns = append(aligns, east.AlignLeft)
	}
	t := east.NewTable()
	t.Alignments = aligns
	for i, row := range cells {
		n := east.NewTableRow(aligns)
		for _, seg := range row {
			c := east.NewTableCell()
			c.Lines().Append(seg)
			n.AppendChild(n, c)
		}
		if i == 0 {
			t.AppendChild(t, east.NewTableHeader(n))
		} else {
			t.AppendChild(t, n)
		}
	}
	return t
}

// rowCells cuts a row at its pipes, except those that are escaped or within a
// piece of code.
func rowCells(row text.Segment, src []byte) []text.Segment {
	row = row.TrimLeftSpace(src)
	row = row.TrimRightSpace(src)
	row.Padding = 0
	line := src[row.Start:row.Stop]
	var out []text.Segment
	from, code := 0, 0
	if len(line) > 0 && line[0] == '|' {
		from = 1
	}
	cell := func(to int) {
		s := text.NewSegment(row.Start+from, row.Start+to)
		s = s.TrimLeftSpace(src)
		out = append(out, s.TrimRightSpace(src))
		from = to + 1
	}
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '`':
			run := 1
			for i+run < len(line) && line[i+run] == '`' {
				run++
			}
			if code == 0 && closes(line[i+run:], run) {
				code = run
			} else if code == run {
				code = 0
			}
			i += run - 1
		case '|':
			if code == 0 {
				cell(i)
			}
		}
	}
	if from < len(line) {
		cell(len(line))
	}
	return out
}

// closes reports whether a run of exactly n backticks follows in line, not too
// far away.
func closes(line []byte, n int) bool {
	line = line[:min(len(line), maxCode)]
	for i := 0; i < len(line); i++ {
		run := 0
		for i+run < len(line) && line[i+run] == '`' {
			run++
		}
		if run == n {
			return true
		}
		i += run
	}
	return false
}
