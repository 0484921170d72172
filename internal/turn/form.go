package turn

import (
	"slices"
	"strconv"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// form is the request as fields, for services that have forms: what buttons
// cannot say. nil = buttons say it all.
func (a question) form() *chat.Form {
	send := func(key, verb, style string) []chat.Button {
		return []chat.Button{{Label: i18n.T(a.lang, key), Data: "ask:" + strconv.FormatInt(a.id, 10) + ":" + verb, Style: style}}
	}
	switch a.q.Kind {
	case chat.AskApproval, chat.AskPlan:
		return &chat.Form{
			Fields: []chat.Field{{Name: chat.FieldWhy, Hint: i18n.T(a.lang, "turn.ask.why")}},
			Send:   send("turn.deny_why", chat.SendWhy, "danger"),
		}
	case chat.AskText:
		return &chat.Form{
			Fields: []chat.Field{{Name: chat.FieldText, Hint: i18n.T(a.lang, "turn.ask.words")}},
			Send:   send("turn.send", chat.SendForm, "primary"), Whole: true,
		}
	case chat.AskChoice:
	}
	if len(a.q.Queries) == 0 {
		return nil
	}
	if k := a.q.Queries[0]; len(a.q.Queries) == 1 && !k.Multi {
		if !k.Words() {
			return nil
		}
		return &chat.Form{ // one tap on a button, or words
			Fields: []chat.Field{a.words(0, k, "")}, Send: send("turn.send", chat.SendForm, ""), Whole: len(k.Options) == 0,
		}
	}
	f := &chat.Form{Send: send("turn.send", chat.SendForm, "primary"), Whole: true}
	for n, k := range a.q.Queries {
		label := line(k.Header, labelLimit)
		if label == "" {
			label = line(k.Text, labelLimit)
		}
		if len(a.q.Queries) > 1 {
			label = strconv.Itoa(n+1) + ". " + label
		}
		if len(k.Options) > 0 {
			f.Fields = append(f.Fields, a.choice(n, k, label))
			label = ""
		}
		if k.Words() {
			f.Fields = append(f.Fields, a.words(n, k, label))
		}
	}
	return f
}

// choice is the field of a query's options.
func (a question) choice(n int, k chat.Query, label string) chat.Field {
	key := "turn.ask.pick"
	if k.Multi {
		key = "turn.ask.pick_several"
	}
	f := chat.Field{Name: chat.FieldOf(n, false), Label: label, Hint: i18n.T(a.lang, key), Multi: k.Multi}
	for i, o := range k.Options {
		shown := line(o.Label, labelLimit)
		if shown == "" {
			shown = line(o.Value(), labelLimit)
		}
		f.Options = append(f.Options, shown)
		if slices.Contains(a.got[k.ID], o.Value()) {
			f.Values = append(f.Values, strconv.Itoa(i))
		}
	}
	return f
}

// words is the field in which a query is answered in words of one's own.
func (a question) words(n int, k chat.Query, label string) chat.Field {
	key := "turn.ask.words"
	if len(k.Options) > 0 {
		key = "turn.ask.or_words"
	}
	f := chat.Field{Name: chat.FieldOf(n, true), Label: label, Hint: i18n.T(a.lang, key)}
	for _, v := range a.got[k.ID] {
		if !slices.ContainsFunc(k.Options, func(o chat.Option) bool { return o.Value() == v }) {
			f.Values = append(f.Values, v)
		}
	}
	return f
}
