package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/render"
)

// Limits of the service for a rich message. A part is never near the limit of
// its text: parts are as long as classic ones, because clients have been seen
// to show only the beginning of a long rich message, and because then each has
// exactly one classic form.
const (
	maxRichBlocks  = 500 // list items and table rows count
	maxRichDepth   = 16  // of blocks and texts within each other
	maxRichColumns = 20
	headingHeavy   = 4 // headings, from which on an answer is a document
)

// envelope is the Format of a part that has two forms. Text is the length of
// the part's text when it was made: a text that was changed since has no rich
// form any more.
type envelope struct {
	Entities json.RawMessage `json:"entities,omitempty"`
	Rich     json.RawMessage `json:"rich"`
	Text     int             `json:"text"`
}

// opened returns the forms of a part: its entities, and its rich message, nil
// when it has none.
func opened(p chat.Part) (entities, rich json.RawMessage) {
	if len(p.Format) == 0 || p.Format[0] != '{' {
		return p.Format, nil
	}
	var e envelope
	if json.Unmarshal(p.Format, &e) != nil {
		return nil, nil
	}
	if e.Text != len(p.Text) {
		return e.Entities, nil
	}
	return e.Entities, e.Rich
}

// worthRich reports whether an answer gains from being a document: it has a
// table, tasks, several headings, or takes more than one message.
func worthRich(blocks []render.Block, parts int) bool {
	return parts > 1 || documentary(blocks) >= headingHeavy
}

func documentary(blocks []render.Block) int {
	n := 0
	for _, b := range blocks {
		switch {
		case b.Kind == render.Table, b.Marker.Task != "":
			n += headingHeavy
		case b.Kind == render.Heading:
			n++
		}
		n += documentary(b.Kids)
	}
	return n
}

// doc is what a part was made from: its blocks, and the text that they came to.
type doc struct {
	blocks []render.Block
	flat   string
}

// enrich gives a part its second form, made from the blocks that its text was
// made from. What was put below the text stands at the end. A part that would
// break a limit stays as it is.
func (d doc) enrich(p chat.Part) chat.Part {
	w := richWriter{depth: 1}
	out := w.blocks(d.blocks)
	if tail := strings.TrimSpace(strings.TrimPrefix(p.Text, d.flat)); tail != "" {
		out = append(out, w.add(richBlock{Type: "footer", Text: tail}))
	}
	if w.over || len(out) == 0 {
		return p
	}
	m := richMessage{Blocks: out, RTL: rightToLeft(p.Text), Skip: true}
	p.Format = json.RawMessage(object(envelope{Entities: p.Format, Rich: json.RawMessage(object(m)), Text: len(p.Text)}))
	return p
}

// rightToLeft reports whether the first letter of a text is of a script that is
// written so.
func rightToLeft(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) {
			return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
		}
	}
	return false
}

// The service's own objects.
type richMessage struct {
	Blocks []richBlock `json:"blocks"`
	RTL    bool        `json:"is_rtl,omitempty"`
	Skip   bool        `json:"skip_entity_detection,omitempty"`
}

type richBlock struct {
	Type     string       `json:"type"`
	Text     any          `json:"text,omitempty"` // a string, a richText, or a list of them
	Size     int          `json:"size,omitempty"`
	Language string       `json:"language,omitempty"`
	Items    []richItem   `json:"items,omitempty"`
	Blocks   []richBlock  `json:"blocks,omitempty"`
	Cells    [][]richCell `json:"cells,omitempty"`
	Bordered bool         `json:"is_bordered,omitempty"`
}

type richItem struct {
	Blocks  []richBlock `json:"blocks"`
	Box     bool        `json:"has_checkbox,omitempty"`
	Checked bool        `json:"is_checked,omitempty"`
	Value   int         `json:"value,omitempty"`
}

type richCell struct {
	Text   any    `json:"text"`
	Header bool   `json:"is_header,omitempty"`
	Align  string `json:"align"`
	VAlign string `json:"valign"`
}

type richText struct {
	Type string `json:"type"`
	Text any    `json:"text"`
	URL  string `json:"url,omitempty"`
}

// richWriter writes blocks and knows when a limit is passed.
type richWriter struct {
	count int
	depth int
	over  bool
}

// styledDepth is how deep a text with all styles is by itself.
const styledDepth = 5

func (w *richWriter) add(b richBlock) richBlock {
	w.count++
	w.over = w.over || w.count > maxRichBlocks || w.depth+styledDepth > maxRichDepth
	return b
}

// within writes the kids of a container.
func (w *richWriter) within(kids []render.Block) []richBlock {
	w.depth++
	defer func() { w.depth-- }()
	return w.blocks(kids)
}

func (w *richWriter) blocks(bs []render.Block) []richBlock {
	var out []richBlock
	for _, b := range bs {
		out = append(out, w.block(b)...)
	}
	return out
}

func (w *richWriter) block(b render.Block) []richBlock {
	one := func(r richBlock) []richBlock { return []richBlock{w.add(r)} }
	switch b.Kind {
	case render.Paragraph:
		if t := richRuns(b.Inlines); t != nil {
			return one(richBlock{Type: "paragraph", Text: t})
		}
	case render.Heading:
		if t := richRuns(b.Inlines); t != nil {
			return one(richBlock{Type: "heading", Text: t, Size: min(max(b.Level, 1), 6)})
		}
	case render.CodeBlock:
		lang := ""
		if language.MatchString(b.Lang) {
			lang = b.Lang
		}
		return one(richBlock{Type: "pre", Text: clean(b.Text), Language: lang})
	case render.Quote:
		if kids := w.within(b.Kids); len(kids) > 0 {
			return one(richBlock{Type: "blockquote", Blocks: kids})
		}
	case render.List:
		return w.list(b)
	case render.Item:
		return w.list(render.Block{Kind: render.List, Kids: []render.Block{b}})
	case render.Table:
		return w.table(b.Grid)
	case render.Rule:
		return one(richBlock{Type: "divider"})
	}
	return nil
}

// list writes a list. The rest of an item that was begun in an earlier part has
// no mark, and stands above the list.
func (w *richWriter) list(b render.Block) []richBlock {
	var above []richBlock
	var items []richItem
	for _, it := range b.Kids {
		if it.Marker.More && len(items) == 0 {
			above = append(above, w.blocks(it.Kids)...)
			continue
		}
		kids := w.within(it.Kids)
		if len(kids) == 0 {
			kids = []richBlock{w.add(richBlock{Type: "paragraph", Text: blankCell})}
		}
		w.count++
		n, _ := strconv.Atoi(strings.TrimRight(it.Marker.Number, ".)"))
		items = append(items, richItem{Blocks: kids, Value: n, Box: it.Marker.Task != "", Checked: it.Marker.Task == "done"})
	}
	if len(items) == 0 {
		return above
	}
	return append(above, w.add(richBlock{Type: "list", Items: items}))
}

// blankCell fills a cell that has no text: without any it would be no cell.
const blankCell = "\u00a0"

func (w *richWriter) table(g *render.Grid) []richBlock {
	w.over = w.over || len(g.Head) > maxRichColumns
	b := richBlock{Type: "table", Bordered: true}
	for i, row := range append([][]render.Cell{g.Head}, g.Rows...) {
		w.count++
		cells := make([]richCell, 0, len(row))
		for j, c := range row {
			cell := richCell{Text: richRuns(c), Header: i == 0, Align: "left", VAlign: "top"}
			if cell.Text == nil {
				cell.Text = blankCell
			}
			if j < len(g.Aligns) && g.Aligns[j] != render.AlignLeft {
				cell.Align = string(g.Aligns[j])
			}
			cells = append(cells, cell)
		}
		b.Cells = append(b.Cells, cells)
	}
	return []richBlock{w.add(b)}
}

// richStyles are the styles from the inside out.
var richStyles = []struct {
	style render.Style
	name  string
}{{render.Code, "code"}, {render.Strike, "strikethrough"}, {render.Italic, "italic"}, {render.Bold, "bold"}}

// richRuns is a text; nil when there is nothing of it.
func richRuns(in []render.Inline) any {
	var out []any
	for _, r := range in {
		if r.Text == "" {
			continue
		}
		var t any = r.Text
		for _, s := range richStyles {
			if r.Style&s.style != 0 {
				t = richText{Type: s.name, Text: t}
			}
		}
		if r.Link != "" && linkable(r.Link) {
			t = richText{Type: "url", Text: t, URL: r.Link}
		}
		out = append(out, t)
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}
