package feishu

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes are the characters that are markup wherever they stand, with what
// shows them as they are: HTML entities, as the service's documentation wants.
var escapes = map[byte]string{
	'<': "&lt;", '*': "&#42;", '~': "&#126;", '`': "&#96;", '[': "&#91;", ']': "&#93;", '\\': "&#92;", '|': "&#124;", '$': "&#36;",
}

// starts are characters that mean something at the beginning of a line only.
var starts = map[byte]string{'-': "&#45;", '+': "&#43;", '=': "&#61;", ':': "&#58;", '>': "&gt;", '#': "&#35;"}

var (
	named    = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);`)
	emoji    = regexp.MustCompile(`^:[A-Za-z][A-Za-z0-9_]*:`)
	lineEnd  = regexp.MustCompile(`^<br ?/?>`)
	numbered = regexp.MustCompile(`^[0-9]{1,9}[.)](?: |$)`)
	atTag    = regexp.MustCompile(`(?i)<(/?at[\s/>])`)
)

// escaped is one line of text without any markup in it, apart from line breaks
// that the author wrote as <br>. start says that it begins a line.
func escaped(s string, start bool) string {
	var sb strings.Builder
	sb.Grow(len(s) + len(s)/4)
	if start {
		if m := numbered.FindString(s); m != "" {
			n := len(strings.TrimRight(m, " ")) - 1
			sb.WriteString(s[:n] + map[byte]string{'.': "&#46;", ')': "&#41;"}[s[n]])
			s, start = s[n+1:], false
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		e := escapes[c]
		switch {
		case c == '<' && lineEnd.MatchString(s[i:]):
			sb.WriteString("<br>")
			i += strings.IndexByte(s[i:], '>')
			continue
		case e != "":
		case i == 0 && start:
			e = starts[c]
		}
		switch c {
		case '_':
			if i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1]) {
				e = "&#95;"
			}
		case '#':
			if strings.Trim(s[i:], "# ") == "" { // what a heading may end with
				e = starts[c]
			}
		case '!':
			if i+1 == len(s) { // a link may follow
				e = "&#33;"
			}
		case '&':
			if named.MatchString(s[i:]) {
				e = "&amp;"
			}
		case ':':
			if emoji.MatchString(s[i:]) {
				e = starts[c]
			}
		}
		if e == "" {
			sb.WriteByte(c)
		} else {
			sb.WriteString(e)
		}
	}
	return sb.String()
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// plainly is a text of several lines without any markup in it. Blanks at the
// beginning of a line stay.
func plainly(s string) string {
	lines := strings.Split(clean(s), "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		lines[i] = strings.Repeat("\u00a0", len(l)-len(body)) + escaped(strings.TrimRight(body, " "), true)
	}
	return strings.Join(lines, "\n")
}

// unmentioned keeps code from calling people: whether the service looks for
// mentions in code, too, is not documented.
func unmentioned(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return atTag.ReplaceAllString(s, "<"+zeroWidth+"$1")
}

// unmarked is a text for a message of the kind that knows no markup but
// mentions.
func unmarked(s string) string { return unmentioned(clean(s)) }

// clean takes out of a text what no reader should meet: control characters, and
// the marks that make a text look like another one.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, s)
}
