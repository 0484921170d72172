package receive

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// wellFormed reports whether data could be a button of ours at all.
func wellFormed(data string) bool {
	verb, _, ok := strings.Cut(data, ":")
	if !ok || verb == "" || len(data) > maxData || !utf8.ValidString(data) {
		return false
	}
	return !strings.ContainsFunc(verb, func(r rune) bool { return r < 'a' || r > 'z' }) &&
		!strings.ContainsFunc(data, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// inVain is what a press shows that causes nothing, to whoever pressed and to
// nobody else; known says that they have a role. Programs get no answer ever.
func inVain(m chat.Message, known bool) chat.Ack {
	if m.Kind != chat.KindClick || m.Sender.Bot || !plainID(m.Sender.ID) {
		return chat.Ack{}
	}
	key := "receive.click_stranger"
	if known {
		key = "receive.click_gone"
	}
	return chat.Ack{Alert: true, Toast: i18n.T(m.Sender.Lang, key)}
}

// target is what an ask button's data names: option of query n, or of the
// question itself (n < 0); done closes a query of several choices; send is what
// becomes of the form that comes with the press.
type target struct {
	ask       int64
	n, option int
	done      bool
	send      string
}

// parse reads ask:<id>:<option>, ask:<id>:<query>:<option>,
// ask:<id>:<query>:ok, ask:<id>:form and ask:<id>:why. Numbers have one form
// only.
func parse(data string) (target, bool) {
	part := strings.Split(data, ":")
	if len(data) > maxData || len(part) < 3 || len(part) > 4 || part[0] != askVerb {
		return target{}, false
	}
	id, ok := count(part[1], 1<<62)
	if !ok || id == 0 {
		return target{}, false
	}
	t := target{ask: id, n: -1}
	if len(part) == 3 && (part[2] == chat.SendForm || part[2] == chat.SendWhy) {
		t.send = part[2]
		return t, true
	}
	if len(part) == 4 {
		n, ok := count(part[2], 1000)
		if !ok {
			return target{}, false
		}
		t.n = int(n)
		if part[3] == done {
			t.done = true
			return t, true
		}
	}
	o, ok := count(part[len(part)-1], 1000)
	t.option = int(o)
	return t, ok
}

func count(s string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= most && strconv.FormatInt(n, 10) == s
}

// size is the number of bytes that a form carries.
func size(form map[string][]string) int {
	n := 0
	for k, vs := range form {
		n += len(k)
		for _, v := range vs {
			n += len(v)
		}
	}
	return n
}

// answer is what the press in, which names t, makes of a: a whole answer, or one
// more piece. Errors: Invalid (a has no such button), Nothing (an empty form).
func answer(a chat.Ask, t target, in chat.Inbound) (ans chat.Answer, complete bool, err error) {
	switch {
	case t.send != "":
		return sent(a, t, in)
	case t.n < 0:
		if t.option >= len(a.Question.Options) {
			return chat.Answer{}, false, chat.E(chat.Invalid, "", nil)
		}
		o := a.Question.Options[t.option]
		return chat.Answer{Option: o.ID, Effect: o.Effect, By: in.Sender}, true, nil
	}
	q := a.Question
	if t.n >= len(q.Queries) || (!t.done && t.option >= len(q.Queries[t.n].Options)) {
		return chat.Answer{}, false, chat.E(chat.Invalid, "", nil)
	}
	k := q.Queries[t.n]
	ans = chat.Answer{Effect: chat.EffectChoose, By: in.Sender, Values: map[string][]string{}}
	for id, v := range a.Answer.Values {
		ans.Values[id] = slices.Clone(v)
	}
	switch {
	case t.done:
		ans.Values[k.ID] = append([]string{}, ans.Values[k.ID]...)
	case k.Multi:
		ans.Values[k.ID] = toggle(ans.Values[k.ID], k.Options[t.option].Value())
		return ans, false, nil
	default:
		ans.Values[k.ID] = []string{k.Options[t.option].Value()}
	}
	return ans, q.Unanswered(ans.Values) < 0, nil
}

// sent is answer for a form.
func sent(a chat.Ask, t target, in chat.Inbound) (ans chat.Answer, complete bool, err error) {
	q := a.Question
	switch ask := q.Kind == chat.AskApproval || q.Kind == chat.AskPlan; {
	case ask && t.send == chat.SendWhy:
		o, _ := q.With(chat.EffectDeny) // without one the effect says it
		why := strings.TrimSpace(strings.Join(in.Form[chat.FieldWhy], "\n"))
		return chat.Answer{Option: o.ID, Effect: chat.EffectDeny, Text: why, By: in.Sender}, true, nil
	case ask, t.send != chat.SendForm, q.Kind == chat.AskChoice && len(q.Queries) == 0:
		return ans, false, chat.E(chat.Invalid, "", nil)
	}
	ans, err = q.Filled(in.Form, a.Answer)
	ans.By = in.Sender
	return ans, q.Unanswered(ans.Values) < 0, err
}

func toggle(vs []string, v string) []string {
	if i := slices.Index(vs, v); i >= 0 {
		return slices.Delete(vs, i, i+1)
	}
	return append(vs, v)
}
