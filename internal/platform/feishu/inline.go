package feishu

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/render"
)

// signs are the signs of styles, in the order in which they open.
var signs = [...]struct {
	style render.Style
	sign  string
}{{render.Strike, "~~"}, {render.Bold, "**"}, {render.Italic, "*"}}

// zeroWidth shows nothing and is neither a blank nor punctuation.
const zeroWidth = "\u200b"

// liner writes the text of one paragraph, heading or cell. Signs of styles
// count only where they are not beside a blank and not between punctuation and
// a letter; the Chinese colon in "**note：**text" would undo them. There a
// zeroWidth stands within.
type liner struct {
	sb    strings.Builder
	open  []int  // indices of signs, the innermost last
	blank string // what stands behind the text so far
	last  rune   // that was written; 0 at the beginning of a line
	flat  string // what becomes of a line's end; empty = it stays
	cell  bool   // a pipe would end it
}

// inline is the text of a paragraph.
func inline(runs []render.Inline) string { return (&liner{}).text(runs) }

// oneLine is the text of a heading or a label.
func oneLine(runs []render.Inline) string { return (&liner{flat: " ", last: ' '}).text(runs) }

// cell is the text of a cell of a table.
func cell(runs []render.Inline) string { return (&liner{flat: "<br>", cell: true}).text(runs) }

func (l *liner) text(runs []render.Inline) string {
	runs = spelled(runs)
	for i := 0; i < len(runs); {
		to, n := runs[i].Link, i+1
		for n < len(runs) && to != "" && runs[n].Link == to {
			n++
		}
		switch r := runs[i]; {
		case to != "":
			l.link(runs[i:n], to)
		case r.Style&render.Code == 0 || l.cell && strings.Contains(r.Text, "|"):
			l.run(r)
		default:
			l.write("", codeSpan(r.Text), 0, '`')
		}
		i = n
	}
	l.turn(0, 0)
	return l.sb.String()
}

// spelled writes out the addresses that cards make no links of.
func spelled(in []render.Inline) []render.Inline {
	out := make([]render.Inline, 0, len(in))
	for i, r := range in {
		to := r.Link
		if to == "" || web(to) {
			out = append(out, r)
			continue
		}
		r.Link = ""
		out = append(out, r)
		if i+1 == len(in) || in[i+1].Link != to {
			out = append(out, render.Spelled(r.Text, to)...)
		}
	}
	return out
}

// run writes text of one style.
func (l *liner) run(r render.Inline) {
	for i, line := range strings.Split(r.Text, "\n") {
		if i > 0 {
			l.turn(0, 0)
			if l.flat == "" {
				l.sb.WriteByte('\n')
				l.blank, l.last = "", 0
			} else {
				l.blank = l.flat
			}
		}
		body := strings.TrimLeftFunc(line, unicode.IsSpace)
		lead := line[:len(line)-len(body)]
		body = strings.TrimRightFunc(body, unicode.IsSpace)
		if body == "" {
			l.blank += lead
			continue
		}
		first, _ := utf8.DecodeRuneInString(body)
		l.write(lead, escaped(body, l.last == 0 && !l.cell), r.Style, first)
		l.last, _ = utf8.DecodeLastRuneInString(body)
		l.blank = line[len(lead)+len(body):]
	}
}

// link writes runs that lead to one address.
func (l *liner) link(runs []render.Inline, to string) {
	inner := make([]render.Inline, len(runs))
	for i, r := range runs {
		r.Link = ""
		inner[i] = r
	}
	label := &liner{flat: " ", cell: l.cell, last: '['}
	text := label.text(inner)
	lead := ""
	if t := strings.TrimLeft(text, " "); t != text {
		lead, text = " ", t
	}
	l.write(lead, "["+text+"]("+address(to)+")", 0, '[')
	l.last, l.blank = ')', label.blank
}

// write puts text behind what was written, in a style; first is the character
// that it begins with.
func (l *liner) write(lead, text string, style render.Style, first rune) {
	if l.blank += lead; l.last == 0 && l.flat == "" {
		l.blank = "" // four blanks at the beginning of a line are no indentation here
	}
	l.turn(style, first)
	l.sb.WriteString(text)
	l.last = first
}

// turn closes and opens styles, and writes the blanks in between.
func (l *liner) turn(style render.Style, first rune) {
	keep := 0
	for keep < len(l.open) && style&signs[l.open[keep]].style != 0 {
		keep++
	}
	opens := ""
	closed := l.open[keep:]
	next := l.open[:keep:keep]
	have := render.Style(0)
	for _, i := range next {
		have |= signs[i].style
	}
	for i, s := range signs {
		if style&s.style&^have != 0 {
			opens += s.sign
			next = append(next, i)
		}
	}
	apart := len(closed) > 0 && opens != "" && l.blank == "" // their signs would run together
	if len(closed) > 0 && loose(l.last) && l.blank == "" && (apart || first != 0 && !punctuation(first)) {
		l.sb.WriteString(zeroWidth)
	}
	for i := len(closed) - 1; i >= 0; i-- {
		l.sb.WriteString(signs[closed[i]].sign)
	}
	if apart {
		l.sb.WriteString(zeroWidth)
	}
	if first != 0 {
		l.sb.WriteString(l.blank)
	}
	l.sb.WriteString(opens)
	if opens != "" && loose(first) && l.blank == "" && (apart || l.last != 0 && !punctuation(l.last)) {
		l.sb.WriteString(zeroWidth)
	}
	if first != 0 {
		l.blank = ""
	}
	l.open = next
}

// loose reports whether a sign of a style may lose its hold beside r.
func loose(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// punctuation reports whether every reader of Markdown takes r for that.
func punctuation(r rune) bool {
	return unicode.IsPunct(r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
}

// codeSpan is a piece of code within a line.
func codeSpan(s string) string {
	s = unmentioned(strings.ReplaceAll(s, "\n", " "))
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	blank := strings.Trim(s, " ") == ""
	if !blank && (s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ') {
		s = " " + s + " "
	}
	return fence + s + fence
}

// web reports whether a link leads to a web page: cards take no other.
func web(link string) bool {
	scheme, rest, ok := strings.Cut(link, "://")
	return ok && rest != "" && rest[0] != '/' && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}

var unsafe = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "\n", "", "<", "%3C", ">", "%3E", "\\", "%5C", "|", "%7C", "`", "%60", ";", "%3B")

// address is a link's address as it may stand in parentheses: nothing in it
// ends them, is a piece of code, or a character's name.
func address(link string) string { return unsafe.Replace(link) }
