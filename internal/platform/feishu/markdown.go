package feishu

import (
	"strings"

	"cligate/internal/render"
)

// maxTables is how many tables one card may have. Sources disagree between
// three and five; the cautious number is used, the rest is shown as code.
const maxTables = 3

// escapes are the characters that Markdown in cards takes for markup, with
// what shows them as they are: HTML entities, as the service's documentation
// wants it.
var escapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "&#42;", "_", "&#95;", "~", "&sim;", "`", "&#96;", "[", "&#91;", "]", "&#93;",
	"\\", "&#92;", "|", "&#124;", "#", "&#35;", "!", "&#33;", "$", "&#36;",
)

// starts are characters that mean something at the beginning of a line only.
var starts = map[byte]string{'-': "&#45;", '+': "&#43;", '=': "&#61;"}

// writer turns blocks into the Markdown of cards (schema 2.0).
type writer struct {
	sb     strings.Builder
	tables int
}

// markdown is blocks in the Markdown of a card's component. Mentions cannot
// come of it, nor links to anything but web pages, nor pictures.
func markdown(blocks []render.Block) string {
	w := &writer{}
	w.blocks(blocks, "")
	return strings.Trim(w.sb.String(), "\n")
}

// blocks writes blocks, each line behind prefix.
func (w *writer) blocks(bs []render.Block, prefix string) {
	for i, b := range bs {
		if i > 0 {
			w.line(prefix, "")
		}
		w.block(b, prefix)
	}
}

func (w *writer) line(prefix, text string) {
	w.sb.WriteString(strings.TrimRight(prefix+text, " "))
	w.sb.WriteByte('\n')
}

// lines writes a text of several lines.
func (w *writer) lines(prefix, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		w.line(prefix, line)
	}
}

func (w *writer) block(b render.Block, prefix string) {
	switch b.Kind {
	case render.Heading:
		level := "#### " // larger ones are out of proportion in a card
		if b.Level > 3 {
			level = "##### "
		}
		w.line(prefix, level+strings.ReplaceAll(inline(b.Inlines, true), "\n", " "))
	case render.CodeBlock:
		w.code(prefix, b.Lang, b.Text)
	case render.Quote:
		w.blocks(b.Kids, prefix+"> ")
	case render.List:
		for _, item := range b.Kids {
			w.item(item, prefix)
		}
	case render.Item:
		w.item(b, prefix)
	case render.Table:
		w.table(b, prefix)
	case render.Rule:
		w.line(prefix, "---")
	case render.Paragraph:
		w.lines(prefix, inline(b.Inlines, true))
	}
}

// code writes a fence that is longer than any inside.
func (w *writer) code(prefix, lang, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.line(prefix, fence+strings.Map(word, lang))
	w.lines(prefix, text)
	w.line(prefix, fence)
}

// word keeps what may be in the name of a language.
func word(r rune) rune {
	if r == '-' || r == '+' || r == '#' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

// item writes a list item; what follows its first line is indented by four
// blanks, which is what cards take for a level.
func (w *writer) item(b render.Block, prefix string) {
	mark := "- "
	switch {
	case b.Marker.More:
		mark = ""
	case b.Marker.Task == "done":
		mark = "- ☑ "
	case b.Marker.Task == "open":
		mark = "- ☐ "
	case b.Marker.Number != "":
		mark = b.Marker.Number + " "
	}
	inner := &writer{tables: w.tables}
	inner.blocks(b.Kids, "")
	w.tables = inner.tables
	for i, line := range strings.Split(strings.TrimRight(inner.sb.String(), "\n"), "\n") {
		switch {
		case i == 0:
			w.line(prefix, mark+line)
		case line == "":
			w.line(prefix, "")
		default:
			w.line(prefix, "    "+line)
		}
	}
}

// table writes a table, or, where the card has enough of them or one cannot be
// (within a list or a quote), its aligned text as code.
func (w *writer) table(b render.Block, prefix string) {
	w.tables++
	if b.Grid == nil || w.tables > maxTables || prefix != "" || b.Grid.Wide && len(b.Grid.Head) > 10 {
		w.code(prefix, "", render.Flatten([]render.Block{b}).Plain)
		return
	}
	row := func(cells []render.Cell) string {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = strings.ReplaceAll(inline(c, false), "\n", "<br>")
		}
		return "| " + strings.Join(out, " | ") + " |"
	}
	w.line("", row(b.Grid.Head))
	rule := make([]string, len(b.Grid.Head))
	for i := range rule {
		rule[i] = "---"
		if i < len(b.Grid.Aligns) {
			switch b.Grid.Aligns[i] {
			case render.AlignRight:
				rule[i] = "---:"
			case render.AlignCenter:
				rule[i] = ":---:"
			case render.AlignLeft:
			}
		}
	}
	w.line("", "| "+strings.Join(rule, " | ")+" |")
	for _, r := range b.Grid.Rows {
		w.line("", row(r))
	}
}

// inline is the text of a line or a cell. start says that it begins a line.
func inline(runs []render.Inline, start bool) string {
	var sb strings.Builder
	for _, r := range runs {
		text := plainly(r.Text, start && (sb.Len() == 0 || strings.HasSuffix(sb.String(), "\n")))
		lead, body, tail := blanks(text)
		switch {
		case body == "":
		case r.Style&render.Code != 0:
			lead, body, tail = "", codeSpan(r.Text), ""
		default:
			if web(r.Link) {
				body = "[" + body + "](" + address(r.Link) + ")"
			}
			body = styled(body, r.Style)
		}
		sb.WriteString(lead + body + tail)
	}
	return sb.String()
}

// styled puts the marks of a style around each line of a text.
func styled(text string, s render.Style) string {
	marks := ""
	for _, m := range []struct {
		style render.Style
		mark  string
	}{{render.Strike, "~~"}, {render.Bold, "**"}, {render.Italic, "*"}} {
		if s&m.style != 0 {
			marks += m.mark
		}
	}
	if marks == "" {
		return text
	}
	end := ""
	for i := len(marks) - 1; i >= 0; i-- {
		end += string(marks[i])
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lead, body, tail := blanks(l)
			lines[i] = lead + marks + body + end + tail
		}
	}
	return strings.Join(lines, "\n")
}

// blanks cuts the blanks off both ends of a text: marks do not stand beside
// them.
func blanks(s string) (lead, body, tail string) {
	body = strings.TrimLeft(s, " \n")
	lead = s[:len(s)-len(body)]
	trimmed := strings.TrimRight(body, " \n")
	return lead, trimmed, body[len(trimmed):]
}

// plainly is a text without any markup in it.
func plainly(s string, start bool) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		text := escapes.Replace(l)
		if i > 0 || start {
			text = numberless(text)
			if text != "" {
				if e, ok := starts[text[0]]; ok {
					text = e + text[1:]
				}
			}
		}
		lines[i] = text
	}
	return strings.Join(lines, "\n")
}

// numberless keeps a line that begins with a number and a dot from becoming a
// list.
func numberless(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')') {
		dot := map[byte]string{'.': "&#46;", ')': "&#41;"}[s[n]]
		return s[:n] + dot + s[n+1:]
	}
	return s
}

// codeSpan is a piece of code within a line.
func codeSpan(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// web reports whether a link leads to a web page: cards take no other.
func web(link string) bool {
	return strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://")
}

// address is a link's address as it may stand in parentheses.
func address(link string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "\n", "", "<", "%3C", ">", "%3E").Replace(link)
}
