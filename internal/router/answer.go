package router

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// answers finds out whether a message answers an open question.
type answers struct {
	desk *desk
	end  *ender
}

// take takes in as an answer to an open question, if it is one: the exact
// word in reply to a request, or the next plain words while a question waits
// for some. Everything else is an ordinary message, even when it sounds like
// an answer.
func (w answers) take(ctx context.Context, in chat.Inbound) (done bool, err error) {
	if strings.TrimSpace(in.Text) == "" || len(chat.Attached(in.Files)) > 0 {
		return false, nil // a file would be lost in an answer
	}
	if !in.Reply.Zero() {
		a, err := w.desk.Asks.AskOfMessage(ctx, in.Place.ID, in.Reply.ID)
		switch chat.CodeOf(err) {
		case chat.CodeNone:
			return w.replied(ctx, in, a)
		case chat.Missing:
			return false, nil
		default:
			return false, fmt.Errorf("find the request replied to: %w", err)
		}
	}
	open, err := w.desk.Asks.OpenAsks(ctx, in.Place.ID)
	if err != nil {
		return false, fmt.Errorf("read requests: %w", err)
	}
	for _, a := range open {
		// One that was asked after the message was stored is not what it answers.
		if !a.MayDecide(in.Sender, in.Role) || a.At.After(in.At) {
			continue
		}
		if ans, ok := inWords(a, in, false); ok {
			return w.give(ctx, in, a, ans, false)
		}
		// Which request is meant is not guessed, and the agent is not told "allow".
		if k := a.Question.Kind; verdict(in.Text) != "" && (k == chat.AskApproval || k == chat.AskPlan) {
			return true, w.end.tell(ctx, in, chat.InboundDone, "answer_reply")
		}
	}
	return false, nil
}

// replied is take for a reply to the message of a request.
func (w answers) replied(ctx context.Context, in chat.Inbound, a chat.Ask) (bool, error) {
	ans, ok := inWords(a, in, true)
	word := verdict(in.Text) != ""
	switch {
	case !word && (a.State != chat.AskOpen || !a.MayDecide(in.Sender, in.Role)):
		return false, nil // it talks about the request
	case ok, word:
		return w.give(ctx, in, a, ans, true)
	case a.Question.Kind == chat.AskChoice:
		return true, w.end.tell(ctx, in, chat.InboundDone, "answer_choose")
	}
	return false, nil
}

// verdict is the effect of a word that decides, in any language of the
// catalogue; empty for every other text.
func verdict(text string) chat.Effect {
	word := strings.ToLower(strings.TrimFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsPunct(c) }))
	for key, e := range map[string]chat.Effect{"router.words_allow": chat.EffectAllow, "router.words_deny": chat.EffectDeny} {
		for _, list := range i18n.Every(key) {
			if word != "" && slices.Contains(strings.Split(list, ","), word) {
				return e
			}
		}
	}
	return ""
}

// inWords is the answer that the text of in is to a; false when it is none. A
// request for permission takes a verdict in reply only.
func inWords(a chat.Ask, in chat.Inbound, reply bool) (chat.Answer, bool) {
	ans := chat.Answer{Effect: chat.EffectChoose, By: in.Sender}
	text := strings.TrimSpace(in.Text)
	switch q := a.Question; q.Kind {
	case chat.AskText:
		ans.Text = text
		return ans, true
	case chat.AskApproval, chat.AskPlan:
		e := verdict(text)
		o, has := q.With(e)
		ans.Option, ans.Effect = o.ID, e
		return ans, reply && (e == chat.EffectDeny || e == chat.EffectAllow && has)
	case chat.AskChoice:
		return choice(a, ans, text, reply)
	}
	return ans, false
}

// choice is inWords for a question with options: their words or numbers, or
// free text where that is accepted. It answers the first open part of it.
func choice(a chat.Ask, ans chat.Answer, text string, reply bool) (chat.Answer, bool) {
	q := a.Question
	n := q.Unanswered(a.Answer.Values)
	if n < 0 {
		o, ok := option(q.Options, text)
		ans.Option, ans.Effect = o.ID, o.Effect
		return ans, ok && reply
	}
	k := q.Queries[n]
	free := k.Free || len(k.Options) == 0
	if !free && !reply {
		return ans, false
	}
	values, ok := chosen(k, text)
	if !ok && !free {
		return ans, false
	}
	if !ok {
		values = []string{text}
	}
	ans.Values = map[string][]string{}
	for id, v := range a.Answer.Values {
		ans.Values[id] = v
	}
	ans.Values[k.ID] = values
	return ans, true
}

// chosen are the options that a text names, several where that is allowed.
func chosen(k chat.Query, text string) ([]string, bool) {
	parts := []string{text}
	if k.Multi {
		parts = strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",;、,;\n", c) })
	}
	var values []string
	for _, p := range parts {
		o, ok := option(k.Options, p)
		if !ok {
			return nil, false
		}
		values = append(values, o.Value())
	}
	return values, len(values) > 0
}

// option finds an option by its words or its number, counted from 1.
func option(os []chat.Option, text string) (chat.Option, bool) {
	text = strings.TrimSpace(text)
	i := slices.IndexFunc(os, func(o chat.Option) bool { return strings.EqualFold(o.Label, text) })
	if n, err := strconv.Atoi(text); i < 0 && err == nil && n >= 1 && n <= len(os) {
		i = n - 1
	}
	if i < 0 {
		return chat.Option{}, false
	}
	return os[i], true
}

// give stores an answer. Plain words that came too late for a question are an
// ordinary message; a reply to it is told that it was too late.
func (w answers) give(ctx context.Context, in chat.Inbound, a chat.Ask, ans chat.Answer, reply bool) (bool, error) {
	if len(ans.Values) > 0 && a.Question.Unanswered(ans.Values) >= 0 && a.State == chat.AskOpen {
		return w.fill(ctx, in, a, ans)
	}
	got, err := w.desk.Decide(ctx, chat.Decision{
		Ask: a.ID, Answer: ans, Place: in.Place, Role: in.Role, Inbound: in.ID, At: in.At,
	})
	switch code := chat.CodeOf(err); {
	case code == chat.CodeNone:
		return true, nil
	case code != chat.Conflict && code != chat.Expired && code != chat.Denied && code != chat.Missing:
		return false, fmt.Errorf("decide: %w", err)
	case !reply:
		return false, nil
	case code == chat.Conflict:
		who := got.Answer.By.Name
		if who == "" {
			who = got.Answer.By.ID
		}
		return true, w.end.tell(ctx, in, chat.InboundDone, "answer_decided", "name", who)
	case code == chat.Denied:
		return true, w.end.tell(ctx, in, chat.InboundRefused, "answer_denied")
	}
	return true, w.end.tell(ctx, in, chat.InboundDone, "answer_late")
}

// fill keeps the answer to one of several questions.
func (w answers) fill(ctx context.Context, in chat.Inbound, a chat.Ask, ans chat.Answer) (bool, error) {
	switch err := w.desk.Asks.Fill(ctx, a.ID, ans); chat.CodeOf(err) {
	case chat.CodeNone:
		n := a.Question.Unanswered(ans.Values)
		return true, w.end.tell(ctx, in, chat.InboundDone, "answer_next", "n", n+1, "question", a.Question.Queries[n].Text)
	case chat.Conflict:
		return false, nil
	default:
		return false, fmt.Errorf("keep a part of the answer: %w", err)
	}
}
