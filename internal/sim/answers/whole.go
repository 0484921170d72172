package answers

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/render"
)

// Held is everything that a service holds of one answer.
type Held struct {
	Words string // of all messages in order, with the addresses of links and the languages of code
	First string // the words of the first message
	Code  []Line // of all preformatted text, in order
	Name  string // of the file, if there is one
	File  []byte
}

// Line is a line of preformatted text.
type Line struct {
	Text string
	// Cut says that the service takes the blanks off its beginning.
	Cut bool
}

// Cleaner does to a text what a service, or its adapter, does to it.
type Cleaner func(string) string

// Missing says what of an answer is not held, empty when everything is: every
// word and every line of code, in order; of an answer that goes on in a file,
// its beginning and the whole file.
func (h Held) Missing(md string, clean Cleaner) string {
	if h.File != nil {
		if md = strings.TrimSpace(md); !h.Whole(md, clean) {
			return "the file is not the answer"
		}
		if LostWords(html.UnescapeString(md), strings.TrimSuffix(h.First, "…")) == md {
			return "the message is not the beginning of the answer"
		}
		return ""
	}
	text, lines := divide(clean(md))
	text = strings.NewReplacer("[x] ", "", "[X] ", "", "mailto:", "").Replace(text) // shown as a box, as an address
	if missing := LostWords(text, h.Words); missing != "" {
		return "lost words from " + missing[:min(len(missing), 120)]
	}
	code := h.Code
	for _, l := range lines {
		i := slices.IndexFunc(code, func(c Line) bool {
			have := strings.TrimRight(wide(c.Text), " ")
			return have == l || c.Cut && have == strings.TrimLeft(l, " ")
		})
		if i < 0 {
			return "lost line of code " + l
		}
		code = code[i+1:]
	}
	return ""
}

// Whole reports whether the file of an answer is the answer: its source, or the
// block of code that it consists of.
func (h Held) Whole(md string, clean Cleaner) bool {
	body := string(h.File)
	if strings.HasSuffix(h.Name, ".md") {
		return strings.Contains(body, md)
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(clean(md)), "\n")
	return strings.HasPrefix(first, "```") && strings.TrimSpace(strings.TrimRight(rest, "`\n")) == strings.TrimSpace(body)
}

var fence = regexp.MustCompile("^[ >]*(?:[-*+] +|[0-9]+[.)] +)*(`{3,}|~{3,})([^`]*)$")

// divide separates the text of a Markdown source from its lines of fenced code.
func divide(md string) (text string, code []string) {
	var sb strings.Builder
	open, indent := "", 0
	for _, l := range strings.Split(md, "\n") {
		m := fence.FindStringSubmatchIndex(l)
		switch {
		case open == "" && m != nil:
			open, indent = l[m[2]:m[3]], m[2]
			sb.WriteString(l[m[4]:m[5]] + "\n")
		case open == "":
			sb.WriteString(l + "\n")
		case m != nil && strings.HasPrefix(l[m[2]:m[3]], open) && strings.TrimSpace(l[m[4]:m[5]]) == "":
			open = ""
		default:
			sb.WriteString(l + "\n")
			l = strings.TrimPrefix(l, l[:margin(l, indent)])
			if len(l) < 3000 && strings.TrimSpace(l) != "" {
				code = append(code, strings.TrimRight(wide(l), " "))
			}
		}
	}
	return sb.String(), code
}

// wide is a line with blanks in the place of its tabs, up to every fourth
// column.
func wide(l string) string {
	if !strings.Contains(l, "\t") {
		return l
	}
	var sb strings.Builder
	col := 0
	for _, r := range l {
		if r == '\t' {
			n := 4 - col%4
			sb.WriteString("    "[:n])
			col += n
			continue
		}
		sb.WriteRune(r)
		col++
	}
	return sb.String()
}

// margin is how much of a line belongs to the list or quote around it.
func margin(l string, indent int) int {
	n := 0
	for n < indent && n < len(l) && (l[n] == ' ' || l[n] == '>') {
		n++
	}
	return n
}

// LostWords returns the rest of text from the first letter or digit that is not
// in held, in order; tables may have another order within a row's height.
func LostWords(text, held string) string {
	if tableRule.MatchString(text) {
		return lostFromTable(text, held)
	}
	rest := held
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		j := strings.IndexRune(rest, r)
		if j < 0 {
			return text[i:]
		}
		rest = rest[j+utf8.RuneLen(r):]
	}
	return ""
}

var tableRule = regexp.MustCompile(`(?m)^[ >]*\|?[ :]*-+[-:| ]*\|[-:| ]*$`)

var aWord = regexp.MustCompile(`[\p{L}\p{N}]+`)

// lostFromTable looks for every word by itself: a table that is too wide
// repeats its header in each row.
func lostFromTable(text, held string) string {
	have := map[string]bool{}
	for _, w := range aWord.FindAllString(held, -1) {
		have[w] = true
	}
	dense := strings.Join(strings.Fields(held), "") // a very long word may go on in another message
	for _, w := range aWord.FindAllString(text, -1) {
		if !have[w] && !strings.Contains(dense, w) {
			return w
		}
	}
	return ""
}

// Likened is what of a source, whatever is in it, must be found as it is: not
// where the source writes characters by their names, or boxes. It is for
// LostWords.
func Likened(md string, clean Cleaner) string {
	md = clean(md)
	tree := render.Parse(md)
	md = named.ReplaceAllString(md, "") // in an address they are what they stand for
	if hasTable(tree) {
		return "| - |\n|-|\n" + md // order within a row is the table's
	}
	return strings.NewReplacer("[x]", "", "[X]", "", "mailto:", "").Replace(md)
}

var named = regexp.MustCompile(`&[#A-Za-z0-9]+;?`)

func hasTable(bs []render.Block) bool {
	for _, b := range bs {
		if b.Kind == render.Table || hasTable(b.Kids) {
			return true
		}
	}
	return false
}

// SameFile reports whether the file of any answer, however nasty, is that
// answer: where it is one block of code, the fuzzer cannot say what that is.
func (h Held) SameFile(md string) bool {
	return strings.Contains(string(h.File), md) || strings.Contains(md, "~~~") ||
		strings.HasPrefix(strings.TrimLeft(md, " >-*+0123456789.)\r\n\t"), "```")
}
