package receive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

const labelMost = 60 // runes of a button

// form shows a choice whose answer is not complete yet: what was chosen so
// far, and a button that closes a question which takes several answers.
func form(a chat.Ask, got map[string][]string, lang string) chat.Reply {
	several := len(a.Question.Queries) > 1
	var text []string
	var rows [][]chat.Button
	if a.Question.Title != "" {
		text = append(text, a.Question.Title)
	}
	for n, k := range a.Question.Queries {
		head, label := k.Text, ""
		if several {
			label = strconv.Itoa(n+1) + ": "
			head = fmt.Sprintf("%d. %s", n+1, k.Text)
		}
		chosen := got[k.ID]
		if len(chosen) > 0 {
			head += "\n→ " + strings.Join(labels(k, chosen), ", ")
		}
		text = append(text, head)
		for i, o := range k.Options {
			mark := label
			if slices.Contains(chosen, o.Value()) {
				mark = "✓ " + label
			}
			rows = append(rows, []chat.Button{{Label: chat.Clip(mark+o.Label, labelMost), Data: fmt.Sprintf("%s:%d:%d:%d", askVerb, a.ID, n, i)}})
		}
		if k.Multi {
			rows = append(rows, []chat.Button{{
				Label: label + i18n.T(lang, "receive.button_done"), Data: fmt.Sprintf("%s:%d:%d:%s", askVerb, a.ID, n, done), Style: "primary",
			}})
		}
	}
	return chat.Reply{Kind: chat.ReplyAsk, Markdown: strings.Join(text, "\n\n"), Buttons: rows}
}

// labels are the words for chosen values; free text is its own.
func labels(k chat.Query, values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if j := slices.IndexFunc(k.Options, func(o chat.Option) bool { return o.Value() == v }); j >= 0 {
			out[i] = k.Options[j].Label
		}
	}
	return out
}
