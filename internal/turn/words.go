package turn

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

const (
	detailLimit = 600 // runes of an error's detail that are shown
	sameAgain   = 3   // equal failures in a row, from which on a way out is named
)

// words is how a turn is spoken of.
type words struct {
	turn  chat.Turn
	agent string // its name for people
	can   func(a worker.Ability) bool
	lang  string
	rich  chat.Choice // the form of what the agent says
	back  string      // the model that is taken again, where the agent knows no such one
	aside string      // names the session that speaks, where another one is current
}

func (r *Runner) words(t chat.Turn, agent, lang string) words {
	return words{turn: t, agent: r.cfg.Title(agent), lang: lang, can: func(a worker.Ability) bool { return r.cfg.Can(agent, a) }}
}

// last is the last word: what was received, how it ended, what can be done.
func (w words) last(e ending, text string, tools int) []chat.Reply {
	own := w.turn.Origin == chat.OriginAgent
	switch done := e.state == chat.TurnSucceeded; {
	case done && text == "" && own: // nobody asked, and there is nothing to say
		return nil
	case done && text == "":
		return []chat.Reply{w.notice(i18n.T(w.lang, "turn.empty", "agent", w.agent, "tools", w.tools(tools)))}
	case done:
		return []chat.Reply{w.said(text, "")}
	}
	end := w.notice(w.sentence(e), w.offers(e)...)
	if e.held > 0 {
		end.Buttons = append(end.Buttons, w.heldRow())
	}
	if text == "" {
		return []chat.Reply{end}
	}
	return []chat.Reply{w.said(text, i18n.T(w.lang, "turn.partial")), end}
}

// said is text of the agent's.
func (w words) said(text, mark string) chat.Reply {
	if w.turn.Origin == chat.OriginAgent {
		mark = strings.TrimSpace(i18n.T(w.lang, "turn.background") + " " + mark)
	}
	mark = strings.TrimSpace(w.aside + " " + mark)
	return chat.Reply{Kind: chat.ReplyAnswer, Markdown: text, Footer: mark, Rich: w.rich}
}

func (w words) notice(text string, bs ...chat.Button) chat.Reply {
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: text}
	if len(bs) > 0 {
		r.Buttons = [][]chat.Button{bs}
	}
	return r
}

// sentence says how a turn ended that did not succeed.
func (w words) sentence(e ending) string {
	detail := chat.Escape(line(i18n.Detail(w.lang, e.about), detailLimit))
	if detail == "" && e.reason == chat.AgentError {
		detail = i18n.T(w.lang, "turn.no_detail")
	}
	key := "error." + string(e.reason)
	if e.reason == chat.NoSession {
		key = "turn.lost_ask"
	}
	if strings.Contains(i18n.T(w.lang, key), "{detail} ") {
		detail = stopped(detail)
	}
	s := strings.Join(strings.FieldsFunc(i18n.T(w.lang, key, "agent", w.agent, "detail", detail, "id", w.errorID()), isBlank), " ")
	if after := chat.AfterOf(e.err); e.reason == chat.Quota && after > 0 {
		s += "\n\n" + i18n.T(w.lang, "turn.available", "at", time.Now().Add(after).Format("2006-01-02 15:04 MST"), "time", span(after))
	}
	if w.back != "" {
		s += "\n\n" + i18n.T(w.lang, "turn.model_back", "model", chat.Escape(w.back))
	}
	if e.times >= sameAgain {
		s += "\n\n" + i18n.T(w.lang, "turn.again", "n", e.times)
	}
	if e.held > 0 {
		s += "\n\n" + i18n.T(w.lang, "turn.held", "n", e.held)
	}
	return s
}

func isBlank(r rune) bool { return r == ' ' }

// stopped is a sentence with its full stop, so that another may follow.
func stopped(s string) string {
	if s == "" || strings.ContainsRune(".!?。!?:", []rune(s)[len([]rune(s))-1]) {
		return s
	}
	if r, _ := utf8.DecodeLastRuneInString(s); unicode.Is(unicode.Han, r) {
		return s + "。"
	}
	return s + "."
}

// heldRow lets what was held run, or not.
func (w words) heldRow() []chat.Button {
	session := w.turn.Session
	return []chat.Button{
		{Label: i18n.T(w.lang, "turn.button.run"), Data: fmt.Sprintf("run:%d", session)},
		{Label: i18n.T(w.lang, "turn.button.clear"), Data: fmt.Sprintf("clear:%d", session), Style: "danger"},
	}
}

// errorID is what a user can quote and an operator finds in the log.
func (w words) errorID() string { return fmt.Sprintf("t%d", w.turn.ID) }

// offers are the buttons of a turn that did not succeed.
func (w words) offers(e ending) []chat.Button {
	switch {
	case w.turn.Origin == chat.OriginAgent: // there is no prompt to repeat
		if e.state == chat.TurnInterrupted || e.reason == chat.Crashed {
			return w.buttons("cont")
		}
		return nil
	case e.state == chat.TurnInterrupted:
		return w.buttons("cont", "retry", "drop")
	case e.reason == chat.Crashed, e.reason == chat.TimedOut, e.reason == chat.Stalled:
		return w.buttons("cont", "retry")
	case e.reason == chat.NoSession:
		return []chat.Button{
			{Label: i18n.T(w.lang, "turn.button.renew"), Data: fmt.Sprintf("renew:%d", w.turn.ID), Style: "primary"},
			{Label: i18n.T(w.lang, "turn.button.renew_empty"), Data: fmt.Sprintf("renew:%d:empty", w.turn.ID)},
		}
	case e.reason == chat.ContextFull && w.can(worker.Compact):
		return w.buttons("compact", "retry")
	case e.state == chat.TurnFailed && e.reason != chat.ContextFull:
		return w.buttons("retry")
	}
	return nil
}

func (w words) buttons(verbs ...string) []chat.Button {
	bs := make([]chat.Button, 0, len(verbs))
	for _, v := range verbs {
		b := chat.Button{Label: i18n.T(w.lang, "turn.button."+v), Data: fmt.Sprintf("%s:%d", v, w.turn.ID)}
		switch v {
		case "cont", "compact":
			b.Style = "primary"
		case "stop":
			b.Style = "danger"
		}
		bs = append(bs, b)
	}
	return bs
}

// stalling tells that the agent is silent.
func (w words) stalling(quiet time.Duration) chat.Reply {
	text := i18n.T(w.lang, "turn.stalling", "agent", w.agent, "time", span(quiet))
	if w.turn.Origin == chat.OriginAgent {
		return w.notice(text)
	}
	return w.notice(text, w.buttons("stop")...)
}

// filling tells that the context is nearly full, and what can be done.
func (w words) filling(percent int64) chat.Reply {
	if w.can(worker.Compact) {
		return w.notice(i18n.T(w.lang, "turn.filling_compact", "agent", w.agent, "percent", percent), w.buttons("compact")...)
	}
	return w.notice(i18n.T(w.lang, "turn.filling", "agent", w.agent, "percent", percent))
}

// line is what remains of the live message.
func (w words) line(e ending, took time.Duration, tools int) string {
	if e.state == chat.TurnQueued {
		return i18n.T(w.lang, "turn.line.requeued")
	}
	parts := []string{i18n.T(w.lang, "turn.line."+string(e.state)), span(took)}
	if tools > 0 {
		parts = append(parts, w.tools(tools))
	}
	return strings.Join(parts, " · ")
}

func (w words) tools(k int) string {
	switch k {
	case 0:
		return i18n.T(w.lang, "turn.tools.none")
	case 1:
		return i18n.T(w.lang, "turn.tools.one")
	}
	return i18n.T(w.lang, "turn.tools.many", "n", k)
}

// span is a time as people read it.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
}

// failures counts equal failures of a session, one after the other.
type failures struct {
	mu   sync.Mutex
	rows map[int64]streak // by session
}

type streak struct {
	code chat.Code
	n    int
}

// count notes an end and returns how often the session ended so, in a row.
func (f *failures) count(session int64, e ending) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.state != chat.TurnFailed {
		delete(f.rows, session)
		return 0
	}
	s := f.rows[session]
	if s.code != e.reason {
		s = streak{code: e.reason}
	}
	s.n++
	f.rows[session] = s
	return s.n
}
