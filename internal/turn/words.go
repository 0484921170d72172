package turn

import (
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

const (
	detailLimit = 600 // runes of an error's detail that are shown
	sameAgain   = 3   // equal failures in a row, from which on a way out is named
)

// sentence says how a turn ended that did not succeed.
func (n *run) sentence(e ending) string {
	detail := escaped(line(e.detail, detailLimit))
	if detail == "" && e.reason == chat.AgentError {
		detail = i18n.T(n.lang, "turn.no_detail")
	}
	s := strings.TrimSpace(i18n.T(n.lang, "error."+string(e.reason),
		"agent", n.session.Agent, "detail", detail, "id", n.errorID()))
	if e.times >= sameAgain {
		s += "\n\n" + i18n.T(n.lang, "turn.again", "n", e.times)
	}
	return s
}

// errorID is what a user can quote and an operator finds in the log.
func (n *run) errorID() string { return fmt.Sprintf("t%d", n.turn.ID) }

// count counts equal failures of a session, one after the other.
func (r *Runner) count(session int64, e ending) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.state != chat.TurnFailed {
		delete(r.again, session)
		return 0
	}
	w := r.again[session]
	if w.code != e.reason {
		w = row{code: e.reason}
	}
	w.n++
	r.again[session] = w
	return w.n
}

// offers are the buttons of a turn that did not succeed.
func (n *run) offers(e ending) []chat.Button {
	switch {
	case n.turn.Origin == chat.OriginAgent: // there is no prompt to repeat
		if e.state == chat.TurnInterrupted || e.reason == chat.Crashed {
			return []chat.Button{n.button("cont")}
		}
		return nil
	case e.state == chat.TurnInterrupted:
		return n.buttons("cont", "retry", "drop")
	case e.reason == chat.Crashed, e.reason == chat.TimedOut, e.reason == chat.Stalled:
		return n.buttons("cont", "retry")
	case e.state == chat.TurnFailed && e.reason != chat.ContextFull:
		return n.buttons("retry")
	}
	return nil
}

func (n *run) buttons(verbs ...string) []chat.Button {
	bs := make([]chat.Button, 0, len(verbs))
	for _, v := range verbs {
		bs = append(bs, n.button(v))
	}
	return bs
}

func (n *run) button(verb string) chat.Button {
	b := chat.Button{Label: i18n.T(n.lang, "turn.button."+verb), Data: fmt.Sprintf("%s:%d", verb, n.turn.ID)}
	switch verb {
	case "cont":
		b.Style = "primary"
	case "stop":
		b.Style = "danger"
	}
	return b
}

// line is what remains of the live message.
func (n *run) line(e ending, took time.Duration, tools int) string {
	parts := []string{i18n.T(n.lang, "turn.line."+string(e.state)), span(took)}
	if tools > 0 {
		parts = append(parts, n.tools(tools))
	}
	return strings.Join(parts, " · ")
}

func (n *run) tools(k int) string {
	switch k {
	case 0:
		return i18n.T(n.lang, "turn.tools.none")
	case 1:
		return i18n.T(n.lang, "turn.tools.one")
	}
	return i18n.T(n.lang, "turn.tools.many", "n", k)
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
