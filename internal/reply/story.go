package reply

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

const (
	tailBytes      = 1200  // of the answer, in a live message
	tailBytesLocal = 16000 // where nothing is between us and the reader
	mostSteps      = 8
	titleRunes     = 80
)

// story is what happened in a turn so far. Taking in an event costs no more
// than the event is long.
type story struct {
	look      chat.Look
	began     time.Time
	firstText time.Time
	text      strings.Builder
	runes     int    // of the text
	pending   bool   // a block of the answer is closed: the next text begins a new one
	fences    fences // of the text
	tools     steps
	plan      []chat.Step
	thoughts  thoughts
	note      string
	thinking  bool
	state     progress
}

// progress is how far the turn is, beside what the agent says.
type progress struct {
	sent    bool // the agent has the prompt
	waiting bool // for a person
}

func (s *story) take(e chat.Event) {
	switch e.Kind {
	case chat.EventText:
		s.say(e.Text)
	case chat.EventBreak:
		s.pending = s.text.Len() > 0
	case chat.EventThought:
		if !s.thinking {
			s.thoughts.add("\n") // another train of thought
		}
		s.thinking = true
		s.thoughts.add(e.Text)
	case chat.EventTool:
		if e.Tool != nil {
			s.tools.take(*e.Tool)
		}
		s.thinking = false
	case chat.EventPlan:
		s.plan = e.Plan
	case chat.EventRetry, chat.EventNotice:
		s.note = firstLine(e.Text)
		if e.Kind == chat.EventRetry {
			s.note = strings.TrimSpace(i18n.T(s.look.Lang, "reply.retry") + " " + s.note)
		}
	case chat.EventSent:
		s.state.sent = true
	case chat.EventSession, chat.EventUsage:
	}
}

func (s *story) say(text string) {
	if text == "" {
		return
	}
	if s.firstText.IsZero() {
		s.firstText = time.Now()
	}
	if s.pending {
		s.write(gap(s.text.String()))
		s.pending = false
	}
	s.write(text)
	s.thinking, s.note = false, ""
}

// gap is what separates the next block of text from what there is.
func gap(text string) string {
	switch {
	case strings.HasSuffix(text, "\n\n"):
		return ""
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return "\n\n"
}

func (s *story) write(text string) {
	s.fences.write(text)
	s.text.WriteString(text)
	s.runes += utf8.RuneCountInString(text)
}

// mood is everything that is shown beside the answer's text. A change of it is
// worth an edit.
func (s *story) mood() string {
	var sb strings.Builder
	if s.shows(chat.VerbositySteps) {
		for _, st := range s.steps() {
			sb.WriteString(st + "\n")
		}
		for _, t := range s.tools.last {
			sb.WriteString(toolLine(t) + "\n")
		}
		sb.WriteString(s.note + "\n")
	}
	return sb.String() + s.status()
}

// shows reports whether what belongs to verbosity v is shown.
func (s *story) shows(v chat.Verbosity) bool {
	return cmp.Or(s.look.Verbosity, chat.VerbositySteps) >= v
}

// size is how much text there is to show.
func (s *story) size() int {
	n := 0
	if s.shows(chat.VerbositySteps) {
		n += s.runes
	}
	if s.shows(chat.VerbosityAll) {
		n += s.thoughts.runes
	}
	return n
}

// reply is the live message as it should look now. One that only grows begins
// with the text at from.
func (s *story) reply(turn int64, t platform.Traits, from int) chat.Reply {
	r := chat.Reply{Kind: chat.ReplyProgress, Silent: true, Footer: s.status()}
	switch steps := s.shows(chat.VerbositySteps); {
	case t.Finishes && steps:
		r.Markdown, r.Status, r.Grows = s.since(from), s.doing(), true
	case t.Finishes:
	case steps:
		r.Markdown = s.body(t)
	default:
		r.Markdown, r.Footer = plainLine(r.Footer), ""
	}
	if s.shows(chat.VerbosityAll) {
		r.Details = s.details()
	}
	if t.Buttons {
		r.Buttons = [][]chat.Button{{{Label: i18n.T(s.look.Lang, "reply.stop"), Data: fmt.Sprintf("stop:%d", turn), Style: "danger"}}}
	}
	return r
}

// body is the steps and the text so far.
func (s *story) body(t platform.Traits) string {
	limit := tailBytes
	if t.Local {
		limit = tailBytesLocal
	}
	blocks := s.work()
	if tail := s.tail(limit); tail != "" {
		blocks = append(blocks, tail)
	}
	if s.note != "" {
		blocks = append(blocks, s.note)
	}
	if len(blocks) == 0 {
		return i18n.T(s.look.Lang, "reply.working", "agent", s.look.Agent)
	}
	return strings.Join(blocks, "\n\n")
}

// work is the plan and the newest tool calls.
func (s *story) work() []string {
	var blocks []string
	if steps := s.steps(); len(steps) > 0 {
		blocks = append(blocks, strings.Join(steps, "\n"))
	}
	if len(s.tools.last) > 0 {
		lines := make([]string, 0, len(s.tools.last))
		for _, tool := range s.tools.last {
			lines = append(lines, toolLine(tool))
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return blocks
}

// details are what only some readers want: the thinking and every tool call.
func (s *story) details() []chat.Panel {
	var out []chat.Panel
	if lines := s.thoughts.lines(); len(lines) > 0 {
		out = append(out, chat.Panel{Title: i18n.T(s.look.Lang, "reply.panel_thinking"), Lines: lines})
	}
	if lines := s.tools.log(); len(lines) > 0 {
		out = append(out, chat.Panel{Title: i18n.T(s.look.Lang, "reply.panel_tools"), Lines: lines})
	}
	return out
}

// status is the small print: what is going on, for how long, how much was done.
func (s *story) status() string {
	what := "reply.doing"
	switch {
	case s.state.waiting:
		what = "reply.waiting"
	case s.thinking:
		what = "reply.thinking"
	}
	line := i18n.T(s.look.Lang, what) + " · " + elapsed(time.Since(s.began))
	if s.tools.count > 0 {
		line += " · " + i18n.T(s.look.Lang, "reply.tools", "n", s.tools.count)
	}
	return line
}

// sign is what the message that asked for the turn shows.
func (s *story) sign() chat.Sign {
	switch {
	case s.state.waiting:
		return chat.SignWaiting
	case s.state.sent:
		return chat.SignWorking
	}
	return chat.SignAccepted
}

// elapsed rounds the more the longer it takes, so that the time alone does not
// cause many edits.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Truncate(5 * time.Second).String()
	case d < 10*time.Minute:
		d = d.Truncate(15 * time.Second)
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

func (s *story) steps() []string {
	var out []string
	from := 0
	for from < len(s.plan)-mostSteps && s.plan[from].Done {
		from++
	}
	for _, p := range s.plan[from:min(len(s.plan), from+mostSteps)] {
		box := "☐ "
		if p.Done {
			box = "☑ "
		}
		out = append(out, box+plainLine(p.Text))
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return chat.Clip(line, titleRunes)
}

// codeLine shows foreign text as code, so that nothing in it is markup.
func codeLine(s string) string {
	line := strings.ReplaceAll(firstLine(s), "`", "ˋ")
	if strings.TrimSpace(line) == "" {
		return ""
	}
	return "`" + line + "`"
}

// plainLine shows foreign text as text.
func plainLine(s string) string {
	return chat.Escape(firstLine(s))
}

// tail is the end of the answer so far, from the beginning of a line where
// there is one. Code that began earlier is opened again.
func (s *story) tail(limit int) string {
	text := strings.TrimRight(s.text.String(), " \n")
	if len(text) <= limit {
		return text
	}
	from := len(text) - limit
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 && i < limit/2 {
		from += i + 1
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return "…\n" + s.fences.openAt(from) + text[from:]
}
