package turn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

const (
	inlineLimit = 3000 // runes of a request that are shown in the message itself
	inlineLines = 140  // a longer listing would become a file anyway, and take the buttons along
	labelLimit  = 60   // runes of a button
	titleLimit  = 300
)

// question is a stored ask as it is shown.
type question struct {
	id     int64
	q      chat.Question
	digest string
	agent  string
	lang   string
	got    map[string][]string // what is answered already
}

// complete gives an approval what it always has: an agent's own options may
// lack some, and permissions that last are ours, whatever the agent offers.
func complete(q chat.Question, always bool) chat.Question {
	if q.Kind != chat.AskApproval {
		return q
	}
	mine := slices.DeleteFunc(slices.Clone(q.Options), func(o chat.Option) bool { return o.Effect.Lasts() })
	if len(mine) == 0 {
		mine = []chat.Option{{ID: "allow", Effect: chat.EffectAllow}, {ID: "deny", Effect: chat.EffectDeny}}
	}
	at := slices.IndexFunc(mine, func(o chat.Option) bool { return o.Effect == chat.EffectAllow })
	if at >= 0 {
		lasting := []chat.Option{{ID: lastSession, Effect: chat.EffectSession}}
		if always {
			lasting = append(lasting, chat.Option{ID: lastAlways, Effect: chat.EffectAlways})
		}
		mine = slices.Insert(mine, at+1, lasting...)
	}
	q.Options = mine
	return q
}

// The names of the options that are ours. The agent never hears them.
const (
	lastSession = "cligate:session"
	lastAlways  = "cligate:always"
)

// forAgent is an answer as the agent hears it: a permission that lasts is ours,
// so the agent is told to go on this once.
func forAgent(a chat.Ask) chat.Answer {
	ans := a.Answer
	if ans.Effect.Lasts() {
		o, _ := a.Question.With(chat.EffectAllow)
		ans.Option, ans.Effect = o.ID, chat.EffectAllow
	}
	return ans
}

// replies are the messages that show the question. What is too long for a
// message goes ahead of it as a file, whole.
func (a question) replies() []chat.Reply {
	body, file := a.body()
	ask := chat.Reply{Kind: chat.ReplyAsk, Markdown: body, Buttons: a.buttons(), Form: a.form()}
	if file == nil {
		return []chat.Reply{ask}
	}
	return []chat.Reply{{Kind: chat.ReplyAsk, File: file}, ask}
}

// settled is the last of these messages after the question is closed.
func (a question) settled(how string) chat.Reply {
	body, _ := a.body()
	return chat.Reply{Kind: chat.ReplyAsk, Markdown: body + "\n\n**" + chat.Escape(how) + "**"}
}

// body is the request as a person reads it: exact, with nothing hidden.
func (a question) body() (string, *chat.OutFile) {
	parts := []string{a.opening()}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if t := line(a.q.Title, titleLimit); t != "" && !a.says(t) {
		add(chat.Escape(t))
	}
	detail, file := a.detail()
	add(detail)
	for i, k := range a.q.Queries {
		add(a.query(i, k))
	}
	add(hints(a.q.Options))
	if a.q.Kind == chat.AskText {
		add("_" + i18n.T(a.lang, "turn.ask.reply") + "_")
	}
	return strings.Join(parts, "\n\n"), file
}

// says reports whether what follows the title is the title's own text.
func (a question) says(title string) bool {
	return title == strings.TrimSpace(a.q.Detail) || len(a.q.Queries) == 1 && title == line(a.q.Queries[0].Text, titleLimit)
}

func (a question) opening() string {
	key := "turn.ask." + string(a.q.Kind)
	if a.q.Kind == chat.AskApproval && a.q.Tool == "" {
		key = "turn.ask.approval_plain"
	}
	if !i18n.Has(key) {
		key = "turn.ask.choice"
	}
	return i18n.T(a.lang, key, "agent", chat.Escape(a.agent), "tool", "**"+chat.Escape(line(a.q.Tool, labelLimit))+"**")
}

// detail is the exact request in the message, or a file that holds it whole.
func (a question) detail() (string, *chat.OutFile) {
	if a.q.Detail == "" {
		return "", nil
	}
	shown, hidden := visible(a.q.Detail)
	note := ""
	if hidden {
		note = "\n\n_" + i18n.T(a.lang, "turn.ask.hidden") + "_"
	}
	if utf8.RuneCountInString(shown) > inlineLimit || strings.Count(shown, "\n") >= inlineLines {
		name := "request-" + a.digest[:12] + ".txt"
		text := i18n.T(a.lang, "turn.ask.attached", "file", name, "digest", a.digest)
		return text + note, &chat.OutFile{Name: name, Body: []byte(shown)}
	}
	if a.q.Kind == chat.AskPlan {
		return shown + note, nil // a plan is prose
	}
	return chat.Fence(shown) + note, nil
}

// query is one of the questions of a choice.
func (a question) query(i int, k chat.Query) string {
	var b strings.Builder
	if len(a.q.Queries) > 1 {
		fmt.Fprintf(&b, "%d. ", i+1)
	}
	if h := line(k.Header, labelLimit); h != "" {
		fmt.Fprintf(&b, "**%s** ", chat.Escape(h))
	}
	text, _ := visible(k.Text)
	b.WriteString(text)
	if h := hints(k.Options); h != "" {
		b.WriteString("\n\n" + h)
	}
	if chosen := a.got[k.ID]; len(chosen) > 0 {
		b.WriteString("\n\n→ " + chat.Escape(line(strings.Join(labelled(k, chosen), ", "), titleLimit)))
	}
	switch {
	case k.Multi:
		b.WriteString("\n\n_" + i18n.T(a.lang, "turn.ask.multi") + "_")
	case k.Words():
		b.WriteString("\n\n_" + i18n.T(a.lang, "turn.ask.free") + "_")
	}
	return b.String()
}

// hints lists the options that say more than fits on their button.
func hints(os []chat.Option) string {
	var b strings.Builder
	for _, o := range os {
		if o.Hint == "" && utf8.RuneCountInString(o.Label) <= labelLimit {
			continue
		}
		fmt.Fprintf(&b, "- **%s**", chat.Escape(line(o.Label, titleLimit)))
		if h := line(o.Hint, titleLimit); h != "" {
			b.WriteString(" – " + chat.Escape(h))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// buttons are the agent's own options, one name each: ask:<id>:<option>, or
// ask:<id>:<query>:<option>; ask:<id>:<query>:ok closes a query that takes
// several answers.
func (a question) buttons() [][]chat.Button {
	var rows [][]chat.Button
	prefix := "ask:" + strconv.FormatInt(a.id, 10) + ":"
	for i, o := range a.q.Options {
		rows = append(rows, []chat.Button{a.button(o, "", prefix+strconv.Itoa(i))})
	}
	for n, k := range a.q.Queries {
		label := ""
		if len(a.q.Queries) > 1 {
			label = strconv.Itoa(n+1) + ": "
		}
		for i, o := range k.Options {
			mark := label
			if slices.Contains(a.got[k.ID], o.Value()) {
				mark = "✓ " + label
			}
			rows = append(rows, []chat.Button{a.button(o, mark, prefix+strconv.Itoa(n)+":"+strconv.Itoa(i))})
		}
		if k.Multi {
			done := chat.Button{Label: label + i18n.T(a.lang, "turn.done"), Data: prefix + strconv.Itoa(n) + ":ok", Style: "primary"}
			rows = append(rows, []chat.Button{done})
		}
	}
	return rows
}

func (a question) button(o chat.Option, prefix, data string) chat.Button {
	b := chat.Button{Label: prefix + line(o.Label, labelLimit), Data: data}
	if o.Label == "" {
		b.Label = prefix + a.word(o.Effect)
	}
	switch o.Effect {
	case chat.EffectAllow:
		b.Style = "primary"
	case chat.EffectDeny:
		b.Style = "danger"
	case chat.EffectSession, chat.EffectAlways, chat.EffectChoose:
	}
	return b
}

func (a question) word(e chat.Effect) string {
	switch e {
	case chat.EffectAllow:
		return i18n.T(a.lang, "turn.allow")
	case chat.EffectSession:
		return i18n.T(a.lang, "turn.allow_session")
	case chat.EffectAlways:
		return i18n.T(a.lang, "turn.allow_always")
	case chat.EffectDeny:
		return i18n.T(a.lang, "turn.deny")
	case chat.EffectChoose:
	}
	return "?"
}
