package render

// Kind names what a block is.
type Kind string

// Kinds of blocks.
const (
	Paragraph Kind = "paragraph" // Inlines
	Heading   Kind = "heading"   // Inlines, Level
	CodeBlock Kind = "code"      // Text, Lang
	Quote     Kind = "quote"     // Kids
	List      Kind = "list"      // Kids, all of kind Item
	Item      Kind = "item"      // Kids, Marker
	Table     Kind = "table"     // Grid
	Rule      Kind = "rule"      // a line across
)

// Block is one block of a text. Which fields are in use depends on Kind.
type Block struct {
	Kind    Kind
	Inlines []Inline
	Kids    []Block
	Level   int    // of a heading: 1 to 6
	Lang    string // of a code block, empty when the author named none
	Text    string // of a code block: its lines, without the last newline
	Marker  Marker // of an item
	Grid    *Grid  // of a table
}

// Marker is what stands in front of a list item.
type Marker struct {
	Number string // as the author wrote it, with its sign: "3." or "3)"; empty for a bullet
	Task   string // "", "open" or "done"
	More   bool   // the rest of an item whose beginning is in an earlier part: no marker is shown
}

// Grid is the content of a table. Every row has as many cells as Head.
type Grid struct {
	Head   []Cell
	Rows   [][]Cell
	Aligns []Align
	// Widths are the columns' display widths over the whole table, so that all
	// parts of a table that was cut are aligned alike.
	Widths []int
	// Wide says that the table does not fit into a narrow aligned form; its
	// rows are then shown one below the other, as "header: value".
	Wide bool
}

// Cell is the content of one table cell.
type Cell []Inline

// Align is the alignment of a table column.
type Align string

// Alignments.
const (
	AlignLeft   Align = ""
	AlignRight  Align = "right"
	AlignCenter Align = "center"
)

// Style is a set of text attributes, one bit each.
type Style uint8

// Text attributes. An Inline uses the first four; a Span has exactly one bit.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Code   // a piece of code within a line; excludes all others
	Pre    // a code block; Span.Arg is its language
	Quoted // a block quote; never within another
	Linked // a link; Span.Arg is its address
)

// Inline is a run of text with one style. Text may contain newlines.
type Inline struct {
	Text  string
	Style Style
	Link  string // address; http, https, tg or mailto only
}

// Text is a text as it is shown, with its formatting beside it. Spans are
// ordered by Start, longer ones first; offsets are bytes of Plain, always
// between characters. Pre and Code spans contain no other spans.
type Text struct {
	Plain string
	Spans []Span
}

// Span gives a range of a Text one attribute.
type Span struct {
	Start, End int
	Style      Style
	Arg        string
}

// Limits bound one part of a split text. Zero values mean no limit.
type Limits struct {
	Units    int // UTF-16 code units of the flattened text; at least 256
	Entities int // spans of the flattened text; at least 8
}
