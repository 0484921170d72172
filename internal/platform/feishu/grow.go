package feishu

import (
	"regexp"
	"strings"
	"unicode"

	"cligate/internal/render"
)

// A client types on when the text of an element is longer than before, and
// paints it anew when it is another one. So the Markdown that an answer has come
// to is shown up to where what follows cannot change it any more.

// settled is the beginning of md that stays as it is, whatever follows: without
// markup that is begun and not ended in the last line, and without lines of
// which nobody knows yet what they are.
func settled(md string) string {
	md = strings.TrimRight(md, " \t\n")
	at := strings.LastIndexByte(md, '\n') + 1
	head, line := md[:at], md[at:]
	bare := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "> "))
	switch fence := fenceOf(head); {
	case fence != "" && strings.HasPrefix(bare, fence[:1]): // it may be the end
		return begun(strings.TrimRight(head, "\n"))
	case fence != "":
		return md
	case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"), undecided.MatchString(bare):
		return strings.TrimRight(head, " \t\n")
	case strings.HasPrefix(bare, "|"):
		return strings.TrimRight(rows(head), " \t\n")
	}
	return strings.TrimRight(head+line[:firm(line)], " \t\n")
}

// begun is a text that ends in code, without the line that begins the code while
// it is the last.
func begun(text string) string {
	at := strings.LastIndexByte(text, '\n') + 1
	if fenceOf(text[:at]) == "" {
		return strings.TrimRight(text[:at], " \t\n")
	}
	return text
}

// undecided are lines that may become anything: a list, a heading, a rule.
var undecided = regexp.MustCompile(`^[-+*#=_~>.)0-9 ` + "`" + `]*$`)

// rows is a text whose last line is a row of a table that is not complete,
// without the table while it has no head.
func rows(head string) string {
	lines := strings.SplitAfter(head, "\n")
	n := len(lines) - 1 // the last is empty
	from := n
	for from > 0 && strings.HasPrefix(strings.TrimSpace(lines[from-1]), "|") {
		from--
	}
	if n-from >= 2 {
		return head
	}
	return strings.Join(lines[:from], "")
}

// fenceOf is the fence of the code that a text ends in; empty when it ends
// outside of code.
func fenceOf(text string) string {
	open := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "> "))
		mark := ""
		for _, c := range []string{"`", "~"} {
			if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
				mark = line[:n]
			}
		}
		switch {
		case mark == "":
		case open == "":
			open = mark
		case line == mark && strings.HasPrefix(mark, open):
			open = ""
		}
	}
	return open
}

// opening is markup that was begun.
type opening struct {
	text string
	at   int
}

// firm is how much of a line is not within markup that is still open.
func firm(line string) int {
	var marks []opening
	done := 0 // behind what is complete and no word
	for i := 0; i < len(line); {
		c := line[i]
		run := 1
		for i+run < len(line) && line[i+run] == c {
			run++
		}
		text := line[i : i+run]
		switch c {
		case '\\':
			if i+1 == len(line) {
				return earliest(marks, i)
			}
			i += 2
			continue
		case '`':
			shut := strings.Index(line[i+run:], text)
			if shut < 0 || i+run+shut+run == len(line) { // what follows may lengthen the mark
				return earliest(marks, i)
			}
			i += run + shut + run
			done = i
			continue
		case '*', '_', '~':
			marks = pair(marks, line, i, run)
		case '[':
			at := i
			if i > 0 && line[i-1] == '!' {
				at--
			}
			marks = append(marks, opening{"[", at})
			run = 1
		case ']':
			from, to := bracket(marks, line, i)
			if to < 0 {
				return earliest(marks, from)
			}
			marks = closed(marks, "[")
			i, done = to, to
			continue
		case '<', '&', '!':
			if !over(line[i:]) {
				return earliest(marks, i)
			}
			run = 1
		}
		i += run
	}
	end := earliest(marks, len(line))
	if at := lastWord(line[:end]); at >= done && linkish.MatchString(line[at:end]) {
		return at
	}
	return end
}

// linkish is a word that may become a link.
var linkish = regexp.MustCompile(`(?i)(https?:|ftp:|www\.|^\W*(h|ht|htt|https?|w|ww|www|f|ft|ftp)$)`)

func lastWord(s string) int {
	return strings.LastIndexFunc(s, unicode.IsSpace) + 1
}

// pair takes in a run of emphasis marks at i: it ends what the same run began,
// or begins something.
func pair(marks []opening, line string, i, run int) []opening {
	text := line[i : i+run]
	before, after := i > 0 && !isSpace(line[i-1]), i+run < len(line) && !isSpace(line[i+run])
	if text[0] == '_' && before && after && word(rune(line[i-1])) >= 0 && word(rune(line[i+run])) >= 0 {
		return marks // inside a word
	}
	if before {
		if out, ok := ended(marks, text); ok {
			return out
		}
	}
	if after || i+run == len(line) {
		marks = append(marks, opening{text, i})
	}
	return marks
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// ended takes out the newest mark with that text, and what was begun since.
func ended(marks []opening, text string) ([]opening, bool) {
	for k := len(marks) - 1; k >= 0; k-- {
		if marks[k].text == text {
			return marks[:k], true
		}
	}
	return marks, false
}

func closed(marks []opening, text string) []opening {
	out, _ := ended(marks, text)
	return out
}

// bracket looks at the end of a link's text at i: where the link begins, and
// where it ends; to is -1 while it is not complete.
func bracket(marks []opening, line string, i int) (from, to int) {
	from = i
	for k := len(marks) - 1; k >= 0; k-- {
		if marks[k].text == "[" {
			from = marks[k].at
			break
		}
	}
	if i+1 == len(line) {
		return from, -1
	}
	if line[i+1] != '(' {
		return from, i + 1
	}
	n := strings.IndexByte(line[i+1:], ')')
	if n < 0 {
		return from, -1
	}
	return from, i + 1 + n + 1
}

// over reports whether what begins here with a sign is complete: a tag, an
// entity, a picture.
func over(s string) bool {
	switch s[0] {
	case '!':
		return len(s) > 1
	case '&':
		return strings.ContainsAny(s, "; ")
	}
	return len(s) > 1 && (!unicode.IsLetter(rune(s[1])) && s[1] != '/' && s[1] != '!' || strings.Contains(s, ">"))
}

func earliest(marks []opening, at int) int {
	if len(marks) > 0 {
		return min(at, marks[0].at)
	}
	return at
}

// open is a text on a card without the end of the code that more is to come for.
func open(md, shown string) string {
	if fenceOf(md) == "" {
		return shown
	}
	i := strings.LastIndexByte(shown, '\n')
	if i < 0 || strings.Trim(shown[i:], "\n> `") != "" { // nothing of the code can be seen yet
		return shown
	}
	return strings.TrimRight(shown[:i], "\n")
}

// workBytes is how much the plan and the tools take of a live card's request.
const workBytes = 2500

// share is as many of the blocks of a live card's work as there is room for.
func share(bs []render.Block) []render.Block {
	for len(bs) > 0 && weight(markdown(bs)) > workBytes {
		bs = bs[1:]
	}
	return bs
}

// tabled cuts what a live card shows before a table that is one too many: it
// goes on in another card. What is not live shows it as code.
func tabled(pieces [][]render.Block) [][]render.Block {
	var out [][]render.Block
	for _, bs := range pieces {
		n, from := 0, 0
		for i, b := range bs {
			if b.Kind != render.Table {
				continue
			}
			if n++; n > maxTables {
				out = append(out, bs[from:i])
				n, from = 1, i
			}
		}
		out = append(out, bs[from:])
	}
	return out
}
