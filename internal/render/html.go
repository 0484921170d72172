package render

import (
	"html"
	"strconv"
	"strings"
)

// HTML writes blocks as HTML in which everything foreign is escaped. It
// contains no scripts, styles, images or event attributes; links open in a new
// window and carry no referrer.
func HTML(blocks []Block) string {
	var h htmlWriter
	h.blocks(blocks)
	return h.String()
}

type htmlWriter struct{ strings.Builder }

// tag writes <name …>; the attributes are pairs.
func (h *htmlWriter) tag(name string, attrs ...string) {
	h.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		h.WriteString(" " + attrs[i] + `="` + html.EscapeString(attrs[i+1]) + `"`)
	}
	h.WriteString(">")
}

func (h *htmlWriter) blocks(bs []Block) {
	for _, b := range bs {
		h.block(b)
	}
}

func (h *htmlWriter) block(b Block) {
	switch b.Kind {
	case Paragraph:
		h.wrap("p", b.Inlines)
	case Heading:
		h.wrap("h"+strconv.Itoa(min(max(b.Level, 1), 6)), b.Inlines)
	case CodeBlock:
		h.WriteString("<pre>")
		if b.Lang == "" {
			h.tag("code")
		} else {
			h.tag("code", "class", "language-"+b.Lang)
		}
		h.WriteString(html.EscapeString(b.Text) + "\n</code></pre>\n")
	case Quote:
		h.WriteString("<blockquote>\n")
		h.blocks(b.Kids)
		h.WriteString("</blockquote>\n")
	case List:
		h.list(b)
	case Item:
		h.item(b)
	case Table:
		h.table(b.Grid)
	case Rule:
		h.WriteString("<hr>\n")
	}
}

func (h *htmlWriter) list(b Block) {
	name := "ul"
	if len(b.Kids) > 0 && b.Kids[0].Marker.Number != "" {
		name = "ol"
	}
	h.WriteString("<" + name + ">\n")
	for _, k := range b.Kids {
		h.item(k)
	}
	h.WriteString("</" + name + ">\n")
}

func (h *htmlWriter) item(b Block) {
	if n, err := strconv.Atoi(strings.Trim(b.Marker.Number, ".)")); err == nil {
		h.tag("li", "value", strconv.Itoa(n))
	} else {
		h.tag("li")
	}
	switch b.Marker.Task {
	case "open":
		h.WriteString("☐ ")
	case "done":
		h.WriteString("☑ ")
	}
	if len(b.Kids) > 0 && b.Kids[0].Kind == Paragraph {
		h.inlines(b.Kids[0].Inlines)
		b.Kids = b.Kids[1:]
	}
	h.blocks(b.Kids)
	h.WriteString("</li>\n")
}

func (h *htmlWriter) table(g *Grid) {
	h.WriteString("<table>\n<thead>")
	h.row("th", g, g.Head)
	h.WriteString("</thead>\n<tbody>\n")
	for _, r := range g.Rows {
		h.row("td", g, r)
	}
	h.WriteString("</tbody>\n</table>\n")
}

func (h *htmlWriter) row(name string, g *Grid, row []Cell) {
	h.WriteString("<tr>")
	for i, c := range row {
		if i < len(g.Aligns) && g.Aligns[i] != AlignLeft {
			h.tag(name, "align", string(g.Aligns[i]))
		} else {
			h.tag(name)
		}
		h.inlines(c)
		h.WriteString("</" + name + ">")
	}
	h.WriteString("</tr>\n")
}

func (h *htmlWriter) wrap(name string, in []Inline) {
	h.tag(name)
	h.inlines(in)
	h.WriteString("</" + name + ">\n")
}

var htmlStyles = []struct {
	style Style
	name  string
}{{Bold, "strong"}, {Italic, "em"}, {Strike, "del"}, {Code, "code"}}

// inlines writes each run by itself, so that nothing can cross.
func (h *htmlWriter) inlines(in []Inline) {
	for _, r := range in {
		// The tree can be made by others than Parse: look at the address again.
		to, linked := address(r.Link)
		if linked {
			h.tag("a", "href", to, "target", "_blank", "rel", "noopener noreferrer nofollow")
		}
		for _, s := range htmlStyles {
			if r.Style&s.style != 0 {
				h.tag(s.name)
			}
		}
		h.WriteString(strings.ReplaceAll(html.EscapeString(r.Text), "\n", "<br>\n"))
		for i := len(htmlStyles) - 1; i >= 0; i-- {
			if r.Style&htmlStyles[i].style != 0 {
				h.WriteString("</" + htmlStyles[i].name + ">")
			}
		}
		if linked {
			h.WriteString("</a>")
		}
	}
}
