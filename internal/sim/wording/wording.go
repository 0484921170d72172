// Package wording judges what is said to people in tests: whether a Chinese
// sentence has English ones inside.
package wording

import (
	"regexp"
	"strings"
)

var (
	// quoted is what is shown as it is: code, addresses, names of settings.
	quoted = regexp.MustCompile("(?s)```.*?```|`[^`]*`|https?://\\S+|\\b[a-z]+(?:[._][a-z_]+)+\\b")
	// clause is three words of the Latin script in a row. Two are a name
	// ("Claude Code", "Bot API").
	clause = regexp.MustCompile(`\b[A-Za-z']+(?:[ ,;:]+[A-Za-z']+){2,}`)
)

// English returns the English clauses of a text, without what is quoted by one
// of the given texts: words of others, which stay as they are.
func English(text string, others ...string) []string {
	for _, o := range others {
		if o != "" {
			text = strings.ReplaceAll(text, o, "·")
		}
	}
	text = quoted.ReplaceAllString(text, "·")
	return clause.FindAllString(text, -1)
}
