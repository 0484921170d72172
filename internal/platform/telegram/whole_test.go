package telegram

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

// The checks here read the source line by line, with none of the renderer's
// code, and compare with what the server holds.

// held is everything that a server holds of an answer: texts with the addresses
// of links and the languages of code, and the lines of preformatted text.
func held(ms []fakebot.Message) (words string, code []codeLine) {
	var sb strings.Builder
	for _, m := range ms {
		units := utf16.Encode([]rune(m.Text))
		at := 0
		for _, e := range m.Entities {
			switch e.Type {
			case "pre":
				sb.WriteString(string(utf16.Decode(units[at:e.Offset])) + " " + e.Language + " ")
				at = e.Offset
				for i, l := range strings.Split(string(utf16.Decode(units[e.Offset:e.Offset+e.Length])), "\n") {
					code = append(code, codeLine{l, i == 0})
				}
			case "text_link":
				if end := e.Offset + e.Length; end > at {
					sb.WriteString(string(utf16.Decode(units[at:end])) + " " + e.URL + " ")
					at = end
				}
			}
		}
		sb.WriteString(string(utf16.Decode(units[at:])) + "\n")
	}
	return sb.String(), code
}

// wholeFile reports whether the file of an answer is the answer: its source, or
// the block of code that it consists of.
func wholeFile(md string, ms []fakebot.Message) bool {
	body := string(documentOf(ms))
	if m := ms[len(ms)-1]; strings.HasSuffix(m.File, ".md") {
		return strings.Contains(body, md)
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(strip(md)), "\n")
	return strings.HasPrefix(first, "```") && strings.TrimSpace(strings.TrimRight(rest, "`\n")) == strings.TrimSpace(body)
}

// codeLine is a line of preformatted text. The first one of a block has lost its
// indentation.
type codeLine struct {
	text  string
	first bool
}

// documentOf returns the document of an answer, nil when there is none.
func documentOf(ms []fakebot.Message) []byte {
	for _, m := range ms {
		if m.File != "" {
			return m.FileBody
		}
	}
	return nil
}

// wholeAnswer checks that the server holds every word and every line of code of
// an answer, in order.
func wholeAnswer(t *testing.T, md string, ms []fakebot.Message) {
	t.Helper()
	if what := notWhole(md, ms); what != "" {
		t.Error(what)
	}
}

// notWhole says what of an answer a server does not hold, empty when it holds
// everything.
func notWhole(md string, ms []fakebot.Message) string {
	words, code := held(ms)
	if documentOf(ms) != nil {
		// The first message is the beginning, the file is everything.
		if md = strings.TrimSpace(md); !wholeFile(md, ms) {
			return "the file is not the answer"
		}
		if missing := lostWords(html.UnescapeString(md), strings.TrimSuffix(ms[0].Text, "…")); missing == md {
			return "the message is not the beginning of the answer"
		}
		return ""
	}
	text, lines := divide(md)
	text = strings.NewReplacer("[x] ", "", "[X] ", "", "mailto:", "").Replace(text) // shown as a box, as an address
	if missing := lostWords(text, words); missing != "" {
		return "lost words from " + missing[:min(len(missing), 120)]
	}
	for _, l := range lines {
		i := slices.IndexFunc(code, func(c codeLine) bool {
			return c.text == l || c.first && c.text == strings.TrimLeft(l, " ")
		})
		if i < 0 {
			return "lost line of code " + l
		}
		code = code[i+1:]
	}
	return ""
}

// A check that never fails proves nothing.
func TestALostWordOrLineIsNoticed(t *testing.T) {
	t.Parallel()
	md := "some words here\n\n```go\nfunc main() {\n\tone()\n\ttwo()\n}\n```\n\n| a | b |\n|---|---|\n| cell | other |\n"
	ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
	if what := notWhole(md, ms); what != "" {
		t.Fatal(what)
	}
	for _, cut := range []string{"words ", "    two()\n", "cell ", "some words here"} {
		m := ms[0]
		i := strings.Index(m.Text, cut)
		at, n := len(utf16.Encode([]rune(m.Text[:i]))), len(cut)
		m.Text = m.Text[:i] + m.Text[i+len(cut):]
		m.Entities = slices.Clone(m.Entities)
		for i := range m.Entities {
			if e := &m.Entities[i]; e.Offset > at {
				e.Offset -= n
			} else if e.Offset+e.Length > at {
				e.Length -= n
			}
		}
		if notWhole(md, []fakebot.Message{m}) == "" {
			t.Errorf("nobody misses %q", cut)
		}
	}
	long := strings.Repeat("one two three. ", 2000)
	ms = deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: long})
	ms[1].FileBody = ms[1].FileBody[:20000]
	if notWhole(long, ms) == "" {
		t.Error("nobody misses the end of a file")
	}
}

var fence = regexp.MustCompile("^[ >]*(?:[-*+] +|[0-9]+[.)] +)*(`{3,}|~{3,})([^`]*)$")

// divide separates the text of a Markdown source from its lines of fenced code,
// as they should look on a telephone.
func divide(md string) (text string, code []string) {
	var sb strings.Builder
	open, indent := "", 0
	for _, l := range strings.Split(strip(md), "\n") {
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
				code = append(code, strings.TrimRight(clean(l), " "))
			}
		}
	}
	return sb.String(), code
}

// margin is how much of a line belongs to the list or quote around it.
func margin(l string, indent int) int {
	n := 0
	for n < indent && n < len(l) && (l[n] == ' ' || l[n] == '>') {
		n++
	}
	return n
}

// lostWords returns the rest of text from the first letter or digit that is not
// in held, in order; tables may have another order within a row's height.
func lostWords(text, held string) string {
	if hasTable(text) {
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

func hasTable(text string) bool { return tableRule.MatchString(text) }

var aWord = regexp.MustCompile(`[\p{L}\p{N}]+`)

// lostFromTable looks for every line's words by itself: a table that is too wide
// repeats its header in each row.
func lostFromTable(text, held string) string {
	have := map[string]bool{}
	for _, w := range aWord.FindAllString(held, -1) {
		have[w] = true
	}
	for _, w := range aWord.FindAllString(text, -1) {
		if !have[w] && !strings.Contains(held, w) {
			return w
		}
	}
	return ""
}
