package render

import (
	"sync"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxDepth bounds how deeply quotes and lists nest; deeper markers are
	// text. Parsers of Markdown take quadratic time without such a bound.
	maxDepth = 12
	// maxInline is about how much text is searched for inline markup at once,
	// for the same reason.
	maxInline = 4096
)

// dialect is GFM as models write it to a chat: no HTML, no reference
// definitions (they would swallow lines), "---" is always a rule, formulas stay
// as they were written.
var dialect = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(formulaBlock{}, 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(shallow{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(shortLine{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(formula{}, 90),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(emphasis{}, 500),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(paragraphs{}, 100),
		),
	)
})

// shallow keeps a container from nesting without end.
type shallow struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindList || k == ast.KindBlockquote {
			depth++
		}
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// shortLine opens its block on lines of sensible length only.
type shortLine struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (s shortLine) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := r.PeekLine(); len(line) > maxInline {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// emphasis reads *, _ and ~~. It differs from CommonMark where that damages
// what models write: names like __init__ and products like 2*3*4 stay as they
// are, a single ~ is text, and emphasis works next to CJK punctuation.
type emphasis struct{}

// Trigger implements parser.InlineParser.
func (emphasis) Trigger() []byte { return []byte{'*', '_', '~'} }

// Parse implements parser.InlineParser.
func (emphasis) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, seg := block.PeekLine()
	literal := func(n int) ast.Node {
		block.Advance(n)
		return ast.NewTextSegment(seg.WithStop(seg.Start + n))
	}
	if n := identifier(line); n > 0 && !wordRune(before) {
		return literal(n)
	}
	d := parser.ScanDelimiter(line, before, 1, pairs{line[0]})
	if d == nil {
		return nil
	}
	n := d.OriginalLength
	after := ' '
	if n < len(line) {
		after = util.ToRune(line, n)
	}
	if d.Char == '~' && n != 2 || d.Char == '*' && product(before, after, n) {
		return literal(n)
	}
	if d.Char != '_' && (cjk(before) || cjk(after)) {
		d.CanOpen = !util.IsSpaceRune(after)
		d.CanClose = !util.IsSpaceRune(before)
	}
	d.Segment = seg.WithStop(seg.Start + n)
	block.Advance(n)
	pc.PushDelimiter(d)
	return d
}

// identifier returns the length of a name in underscores at the start of line
// (_private_, __init__), 0 when there is none.
func identifier(line []byte) int {
	if line[0] != '_' {
		return 0
	}
	n := 0
	for n < len(line) && wordByte(line[n]) {
		n++
	}
	if n < 3 || line[n-1] != '_' || (n < len(line) && line[n] >= 0x80) {
		return 0
	}
	return n
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// product reports whether n stars between two runes stand for themselves, as in
// 2*3 or char*name or x**2, and not for emphasis within a word.
func product(before, after rune, n int) bool {
	if before >= 0x80 || after >= 0x80 || !wordByte(byte(before)) || !wordByte(byte(after)) {
		return false
	}
	return n == 1 || unicode.IsDigit(before) || unicode.IsDigit(after)
}

// cjk reports whether r belongs to a script written without spaces, its
// punctuation included.
func cjk(r rune) bool {
	return r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef || r >= 0x2014 && r <= 0x2026 ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// pairs matches delimiters of one character.
type pairs struct{ char byte }

// IsDelimiter implements parser.DelimiterProcessor.
func (p pairs) IsDelimiter(b byte) bool { return b == p.char }

// CanOpenCloser implements parser.DelimiterProcessor.
func (p pairs) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements parser.DelimiterProcessor.
func (p pairs) OnMatch(consumes int) ast.Node {
	if p.char == '~' {
		return east.NewStrikethrough()
	}
	return ast.NewEmphasis(consumes)
}
