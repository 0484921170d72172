package turn

import (
	"context"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Faces shows asks as they are now, to whoever presses their buttons.
type Faces struct{ r *Runner }

// Faces returns the Faces of the turns that r runs.
func (r *Runner) Faces() Faces { return Faces{r} }

// Face is the message of a that carries its buttons: with what is answered so
// far while a is open, with how it ended and without buttons afterwards. An
// error comes from the ledger.
func (f Faces) Face(ctx context.Context, a chat.Ask) (chat.Reply, error) {
	q, err := f.r.question(ctx, a)
	if err != nil {
		return chat.Reply{}, err
	}
	if a.State != chat.AskOpen {
		q.got = nil // how it ended says it
		return q.settled(outcome(a, q.lang)), nil
	}
	rs := q.replies()
	return rs[len(rs)-1], nil
}

// question is a stored ask, in the language of its conversation.
func (r *Runner) question(ctx context.Context, a chat.Ask) (question, error) {
	s, err := r.books.Threads.SessionByID(ctx, a.Session)
	if err != nil {
		return question{}, err
	}
	c, err := r.books.Threads.ConversationByID(ctx, s.Conversation)
	if err != nil {
		return question{}, err
	}
	return question{
		id: a.ID, q: a.Question, digest: a.Digest, agent: r.cfg.Title(s.Agent), lang: language(c, a.Asker), got: a.Answer.Values,
	}, nil
}

// outcome is one line about how a closed ask ended.
func outcome(a chat.Ask, lang string) string {
	by := chat.Escape(line(a.Decider(), labelLimit))
	said := chat.Escape(line(strings.Join(given(a), ", "), titleLimit))
	switch {
	case a.State == chat.AskExpired:
		return i18n.T(lang, "turn.ask.expired")
	case a.State != chat.AskAnswered:
		return i18n.T(lang, "turn.ask.void")
	case a.Answer.Effect == chat.EffectAllow:
		return i18n.T(lang, "turn.ask.allowed", "by", by)
	case a.Answer.Effect == chat.EffectSession:
		return i18n.T(lang, "turn.ask.allowed_session", "by", by)
	case a.Answer.Effect == chat.EffectAlways:
		return i18n.T(lang, "turn.ask.allowed_always", "by", by)
	case a.Answer.Effect == chat.EffectDeny && said == "":
		return i18n.T(lang, "turn.ask.denied", "by", by)
	case a.Answer.Effect == chat.EffectDeny:
		return i18n.T(lang, "turn.ask.denied_why", "by", by, "reason", said)
	}
	if said == "" {
		said = "–"
	}
	return i18n.T(lang, "turn.ask.answered", "by", by, "answer", said)
}

// given is what somebody answered, in the order of the questions.
func given(a chat.Ask) []string {
	var ws []string
	if a.Answer.Effect == chat.EffectChoose || a.Answer.Effect == "" {
		for _, o := range a.Question.Options {
			if o.ID == a.Answer.Option && o.ID != "" {
				ws = append(ws, o.Label)
			}
		}
	}
	if a.Answer.Text != "" {
		ws = append(ws, a.Answer.Text)
	}
	for _, k := range a.Question.Queries {
		ws = append(ws, labelled(k, a.Answer.Values[k.ID])...)
	}
	return ws
}

// labelled are the words for chosen values; free text is its own.
func labelled(k chat.Query, values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if j := slices.IndexFunc(k.Options, func(o chat.Option) bool { return o.Value() == v && o.Label != "" }); j >= 0 {
			out[i] = k.Options[j].Label
		}
	}
	return out
}
