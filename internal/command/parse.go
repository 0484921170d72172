package command

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
)

// maxData is the longest button data that any service carries, in bytes.
const maxData = 64

var (
	nameRule = regexp.MustCompile(`^[a-z][a-z0-9_:-]{0,63}$`)
	argRule  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
)

// Parse splits "/name rest" into its parts. A path ("/etc/hosts"), a lone
// slash and a slash in the middle of a text are no commands. Names are not
// case-sensitive.
func Parse(text string) (name, arg string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok || !utf8.ValidString(text) {
		return "", "", false
	}
	name = text
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		name, arg = text[:i], strings.TrimSpace(text[i:])
	}
	name = strings.ToLower(name)
	if !nameRule.MatchString(name) {
		return "", "", false
	}
	return name, arg, true
}

// Click returns the command that a button's data stands for.
func (s *Set) Click(data string) (name, arg string, ok bool) {
	verb, arg, found := strings.Cut(data, ":")
	if !found || verb == "" || len(data) > maxData || !utf8.ValidString(data) {
		return "", "", false
	}
	for _, p := range s.table {
		if p.verb == verb && verb != "" {
			return p.name, arg, true
		}
	}
	return "", "", false
}

// number reads "12" or "#12"; chat.Invalid for anything else.
func number(arg string) (int64, error) {
	s := strings.TrimPrefix(strings.TrimSpace(arg), "#")
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || s[0] == '+' {
		return 0, chat.E(chat.Invalid, clip(arg), nil)
	}
	return n, nil
}

// word checks the name of an agent, a model or a workspace.
func word(arg string) (string, error) {
	if !argRule.MatchString(arg) {
		return "", chat.E(chat.Invalid, clip(arg), nil)
	}
	return arg, nil
}

// clip shortens foreign text for one line of ours. What cannot be seen is left
// out: it could turn the rest of the line around.
func clip(s string) string {
	const most = 60
	return chat.Clip(chat.PlainName(s), most)
}

// id is the data of a button that names a row.
func id(verb string, row int64) string { return verb + ":" + strconv.FormatInt(row, 10) }

// Nearest returns the name closest to a mistyped one, empty when nothing is
// close. Names of the agent's own commands may be among the candidates.
func Nearest(name string, candidates []string) string {
	best, at := "", 3 // more than two changes are another word
	for _, c := range candidates {
		d := distance(name, c)
		if strings.HasPrefix(c, name) && len(name) > 1 {
			d = min(d, 1)
		}
		if d < at && d < len(c) {
			best, at = c, d
		}
	}
	return best
}

// distance is the number of single-letter changes from a to b, an exchange of
// neighbours counting as one.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > maxData || len(y) > maxData {
		return maxData
	}
	before, prev := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur := make([]int, len(y)+1)
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(y)]
}

// Names lists our commands that may be suggested.
func (s *Set) Names() []string {
	var out []string
	for _, p := range s.table {
		if !p.quiet {
			out = append(out, p.name)
		}
	}
	return out
}
