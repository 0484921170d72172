package render

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// line puts runs together; what looks the same becomes one run.
type line struct {
	done []Inline
	last Inline // its Text is in buf
	buf  strings.Builder
}

// add appends runs. Tabs become blanks: chat services collapse them.
func (l *line) add(rs ...Inline) {
	for _, r := range rs {
		if r.Text == "" {
			continue
		}
		r.Text = strings.ReplaceAll(r.Text, "\t", "    ")
		if l.buf.Len() > 0 && (l.last.Style != r.Style || l.last.Link != r.Link) {
			l.flush()
		}
		l.last.Style, l.last.Link = r.Style, r.Link
		l.buf.WriteString(r.Text)
	}
}

func (l *line) flush() {
	l.last.Text = l.buf.String()
	l.done = append(l.done, l.last)
	l.buf.Reset()
}

func (l *line) runs() []Inline {
	if l.buf.Len() > 0 {
		l.flush()
	}
	return l.done
}

// collect adds the text of a block to l, before finish.
func (b *builder) collect(n ast.Node, l *line) {
	if s := n.Lines(); n.Kind() == east.KindTableCell && s != nil && s.Len() > 0 {
		if cell := s.At(0); cell.Len() > maxInline { // was not searched for markup either
			l.add(Inline{Text: string(cell.Value(b.src))})
			return
		}
	}
	w := runs{src: b.src, line: l}
	w.kids(n, 0, "")
}

func (b *builder) runs(n ast.Node) []Inline {
	var l line
	b.collect(n, &l)
	return l.runs()
}

// runs collects the runs of one block.
type runs struct {
	*line
	src []byte
}

func (w *runs) write(text string, style Style, link string) {
	w.add(Inline{Text: text, Style: style, Link: link})
}

func (w *runs) kids(parent ast.Node, style Style, link string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n, style, link)
	}
}

func (w *runs) node(n ast.Node, style Style, link string) {
	switch n := n.(type) {
	case *ast.Text:
		w.write(unescape(string(n.Segment.Value(w.src))), style, link)
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.write("\n", style, link)
		}
	case *ast.String: // a formula
		if link != "" {
			w.write(string(n.Value), style, link)
		} else {
			w.write(string(n.Value), Code, "")
		}
	case *ast.Emphasis:
		if n.Level > 1 {
			w.kids(n, style|Bold, link)
		} else {
			w.kids(n, style|Italic, link)
		}
	case *east.Strikethrough:
		w.kids(n, style|Strike, link)
	case *ast.CodeSpan:
		if link != "" {
			w.write(w.code(n), style, link) // services show either a link or code
		} else {
			w.write(w.code(n), Code, "")
		}
	case *ast.Link:
		w.link(n, n.Destination, n.Title, style, link)
	case *ast.Image:
		w.link(n, n.Destination, n.Title, style, link)
	case *ast.AutoLink:
		label := string(n.Label(w.src))
		if to, ok := address(label); ok && n.AutoLinkType == ast.AutoLinkURL && link == "" {
			w.write(label, style, to)
		} else {
			w.write("<"+label+">", style, link)
		}
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			w.write(string(s.Value(w.src)), style, link)
		}
	default:
		w.kids(n, style, link)
	}
}

func (w *runs) code(n *ast.CodeSpan) string {
	var sb strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			sb.Write(t.Segment.Value(w.src))
		}
	}
	return strings.ReplaceAll(sb.String(), "\n", " ")
}

// link writes a link or image. What is no address that a chat service takes is
// shown behind the text, as code.
func (w *runs) link(n ast.Node, dest, title []byte, style Style, outer string) {
	target := strings.TrimSpace(html.UnescapeString(unescape(string(dest))))
	to, ok := address(target)
	inner := runs{src: w.src, line: &line{}}
	switch {
	case outer != "": // an image in a link
		inner.kids(n, style, outer)
		inner.write(" ("+target+")", style, outer)
	case ok:
		if inner.kids(n, style, to); strings.TrimSpace(plainRuns(inner.runs())) == "" {
			inner.line = &line{} // nothing to tap on: the address is
			inner.write(target, style, to)
		}
	default:
		inner.kids(n, style, "")
		if shown := plainRuns(inner.runs()); shown == target || target == "" {
			break
		}
		inner.write(" (", style, "")
		inner.write(target, Code, "")
		inner.write(")", style, "")
	}
	w.add(inner.runs()...)
	if len(title) > 0 {
		w.write(" ("+unescape(string(title))+")", style, outer)
	}
}

// address returns target in the form of a link that every chat service takes.
func address(target string) (string, bool) {
	if strings.ContainsFunc(target, unicode.IsControl) || len(target) > 2048 {
		return "", false
	}
	target = strings.ReplaceAll(target, " ", "%20")
	u, err := url.Parse(target)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		host := u.Hostname()
		return target, host != "" && (strings.Contains(host, ".") || strings.Contains(host, ":") || host == "localhost")
	case "tg":
		return target, u.Host != ""
	case "mailto":
		return target, strings.Contains(u.Opaque, "@")
	default:
		return "", false
	}
}

// Spelled is what stands behind a text whose link a service does not take: the
// address, as code, unless the text shows it.
func Spelled(shown, link string) []Inline {
	link = strings.TrimPrefix(link, "mailto:")
	if strings.Contains(shown, link) {
		return nil
	}
	return []Inline{{Text: " ("}, {Text: link, Style: Code}, {Text: ")"}}
}

// unescape removes the backslashes of escaped punctuation.
func unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var sb strings.Builder
	for ; i >= 0 && i+1 < len(s); i = strings.IndexByte(s, '\\') {
		sb.WriteString(s[:i])
		if c := s[i+1]; c < 0x80 && (unicode.IsPunct(rune(c)) || unicode.IsSymbol(rune(c))) {
			sb.WriteByte(c)
		} else {
			sb.WriteString(s[i : i+1])
			s = s[i+1:]
			continue
		}
		s = s[i+2:]
	}
	sb.WriteString(s)
	return sb.String()
}

func plainRuns(runs []Inline) string {
	if len(runs) == 1 {
		return runs[0].Text
	}
	var sb strings.Builder
	for _, r := range runs {
		sb.WriteString(r.Text)
	}
	return sb.String()
}

// finish completes the runs of a block: blanks at both ends go, plain
// addresses become links.
func finish(in []Inline) []Inline {
	var out line
	for _, r := range in {
		for rest := r.Text; rest != ""; {
			from, to := 0, 0
			if r.Style&Code == 0 && r.Link == "" {
				from, to = plainAddress(rest)
			}
			if to == 0 {
				r.Text = rest
				out.add(r)
				break
			}
			out.add(Inline{Text: rest[:from], Style: r.Style}, Inline{Text: rest[from:to], Style: r.Style, Link: rest[from:to]})
			rest = rest[to:]
		}
	}
	return trimRuns(out.runs())
}

func trimRuns(in []Inline) []Inline {
	for len(in) > 0 && in[0].Style&Code == 0 {
		if in[0].Text = strings.TrimLeftFunc(in[0].Text, unicode.IsSpace); in[0].Text != "" {
			break
		}
		in = in[1:]
	}
	for n := len(in); n > 0 && in[n-1].Style&Code == 0; n-- {
		if in[n-1].Text = strings.TrimRightFunc(in[n-1].Text, unicode.IsSpace); in[n-1].Text != "" {
			break
		}
		in = in[:n-1]
	}
	return in
}

// template is what stands for something in an address: <id>, {id}.
var template = regexp.MustCompile(`^(?:<[A-Za-z][A-Za-z0-9_-]{0,40}>|\{[A-Za-z][A-Za-z0-9_-]{0,40}\})`)

// plainAddress finds the first http address that stands in s by itself; to is
// 0 when there is none.
func plainAddress(s string) (from, to int) {
	for at := 0; ; {
		i := strings.Index(s[at:], "http")
		if i < 0 {
			return 0, 0
		}
		from = at + i
		at = from + len("http")
		tail := strings.TrimPrefix(s[at:], "s")
		if before, _ := utf8.DecodeLastRuneInString(s[:from]); from > 0 && before < 0x80 && wordByte(byte(before)) ||
			!strings.HasPrefix(tail, "://") {
			continue
		}
		end := from
		for end < len(s) && s[end] > ' ' && s[end] < 0x7f && !strings.ContainsRune("<>\"\\^`{|}", rune(s[end])) {
			end++
		}
		at = end
		if next, _ := utf8.DecodeRuneInString(s[end:]); s[end-1] == '/' && end < len(s) && unicode.IsLetter(next) || template.MatchString(s[end:]) {
			continue // goes on in another script, or with a blank to be filled in: it leads nowhere
		}
		end = trimAddress(s, from, end)
		if _, ok := address(s[from:end]); ok {
			return from, end
		}
	}
}

// trimAddress leaves out punctuation that belongs to the sentence.
func trimAddress(s string, from, end int) int {
	round := strings.Count(s[from:end], ")") - strings.Count(s[from:end], "(")
	square := strings.Count(s[from:end], "]") - strings.Count(s[from:end], "[")
	for ; end > from; end-- {
		switch c := s[end-1]; {
		case strings.IndexByte(".,;:!?'*_~", c) >= 0:
		case c == ')' && round > 0:
			round--
		case c == ']' && square > 0:
			square--
		default:
			return end
		}
	}
	return end
}
