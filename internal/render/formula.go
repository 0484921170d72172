package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// formula keeps formulas as they were written, as code: no chat service draws
// them, and as Markdown they would lose their backslashes and stars. A dollar sign that
// begins no formula, a shell variable or a price, is text like any other.
type formula struct{}

// Trigger implements parser.InlineParser.
func (formula) Trigger() []byte { return []byte{'$', '\\'} }

// Parse implements parser.InlineParser.
func (formula) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	n := formulaLength(line)
	if n == 0 {
		return nil
	}
	block.Advance(n)
	return ast.NewString(bytes.Clone(line[:n]))
}

// maxFormula bounds how far the end of a formula is looked for, in bytes.
const maxFormula = 512

// formulaLength returns the length of the formula that line begins with, 0 when
// it begins with none.
func formulaLength(line []byte) int {
	line = line[:min(len(line), maxFormula)]
	open, end := 1, []byte("$")
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		open, end = 2, []byte("$$")
	case bytes.HasPrefix(line, []byte(`\(`)):
		open, end = 2, []byte(`\)`)
	case bytes.HasPrefix(line, []byte(`\[`)):
		open, end = 2, []byte(`\]`)
	case line[0] == '\\':
		return 0
	}
	size := bytes.Index(line[open:], end)
	if size <= 0 {
		return 0
	}
	body, rest := line[open:open+size], line[open+size+len(end):]
	if bytes.IndexByte(body, '`') >= 0 {
		return 0
	}
	spaced := bytes.ContainsAny(body, " \t")
	switch string(end) {
	case "$":
		blank := body[0] == ' ' || body[0] == '\t' || body[size-1] == ' ' || body[size-1] == '\t'
		if blank || len(rest) > 0 && wordByte(rest[0]) || spaced && !bytes.ContainsAny(body, `\*_^=`) {
			return 0
		}
	case "$$":
		if spaced && !bytes.ContainsAny(body, `\_^=`) {
			return 0
		}
	case `\]`: // may be an escaped bracket of a text
		if len(rest) > 0 && rest[0] == '(' || !bytes.ContainsAny(body, `\^_=`) {
			return 0
		}
	}
	return open + size + len(end)
}

// formulaBlock keeps a formula of several lines, between two lines of
// delimiters, as it was written: its lines may look like lists or headings.
type formulaBlock struct{}

// Trigger implements parser.BlockParser.
func (formulaBlock) Trigger() []byte { return []byte{'$', '\\'} }

// Open implements parser.BlockParser.
func (formulaBlock) Open(_ ast.Node, r text.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, seg := r.PeekLine()
	end := closing(line)
	if end == "" {
		return nil, parser.NoChildren
	}
	rest := r.Source()[seg.Stop:]
	for range wholeLines {
		next, more, _ := bytes.Cut(rest, []byte("\n"))
		if string(bytes.Trim(next, " \t>")) == end {
			n := ast.NewCodeBlock()
			n.Lines().Append(seg)
			r.AdvanceToEOL()
			return n, parser.NoChildren
		}
		rest = more
	}
	return nil, parser.NoChildren
}

// closing returns what ends the formula that a line begins, empty when it
// begins none.
func closing(line []byte) string {
	switch string(bytes.TrimSpace(line)) {
	case "$$":
		return "$$"
	case `\[`:
		return `\]`
	}
	return ""
}

// Continue implements parser.BlockParser.
func (formulaBlock) Continue(n ast.Node, r text.Reader, _ parser.Context) parser.State {
	lines := n.Lines()
	first, last := lines.At(0), lines.At(lines.Len()-1)
	if lines.Len() > 1 && string(bytes.TrimSpace(last.Value(r.Source()))) == closing(first.Value(r.Source())) {
		return parser.Close
	}
	_, seg := r.PeekLine()
	lines.Append(seg)
	r.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// Close implements parser.BlockParser.
func (formulaBlock) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph implements parser.BlockParser.
func (formulaBlock) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements parser.BlockParser.
func (formulaBlock) CanAcceptIndentedLine() bool { return false }
