package reply

import (
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
	lastTools      = 4
	mostSteps      = 8
	titleRunes     = 80
)

// story is what happened in a turn so far. Taking in an event costs no more
// than the event is long.
type story struct {
	lang, agent string
	began       time.Time
	firstText   time.Time
	text        strings.Builder
	pending     bool   // a block of the answer is closed: the next text begins a new one
	fences      fences // of the text
	tools       []chat.Tool
	toolCount   int
	plan        []chat.Step
	note        string
	thinking    bool
	waiting     bool
}

func (s *story) take(e chat.Event) {
	switch e.Kind {
	case chat.EventText:
		s.say(e.Text)
	case chat.EventBreak:
		s.pending = s.text.Len() > 0
	case chat.EventThought:
		s.thinking = true
	case chat.EventTool:
		if e.Tool != nil {
			s.tool(*e.Tool)
		}
		s.thinking = false
	case chat.EventPlan:
		s.plan = e.Plan
	case chat.EventRetry, chat.EventNotice:
		s.note = firstLine(e.Text)
		if e.Kind == chat.EventRetry {
			s.note = strings.TrimSpace(i18n.T(s.lang, "reply.retry") + " " + s.note)
		}
	case chat.EventSession, chat.EventSent, chat.EventUsage:
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
}

// tool takes in a tool call; only the last ones are kept.
func (s *story) tool(t chat.Tool) {
	for i := range s.tools {
		if s.tools[i].ID == t.ID {
			if t.Title == "" {
				t.Title = s.tools[i].Title
			}
			if t.Name == "" {
				t.Name = s.tools[i].Name
			}
			s.tools[i] = t
			return
		}
	}
	if t.State != chat.ToolRunning && t.State != "" && s.toolCount > 0 && t.Name == "" {
		return // the end of a call that is not shown any more
	}
	s.toolCount++
	s.tools = append(s.tools, t)
	if len(s.tools) > lastTools {
		s.tools = append(s.tools[:0], s.tools[1:]...)
	}
}

// mood is everything that is shown beside the answer's text.
func (s *story) mood() string {
	var sb strings.Builder
	for _, st := range s.steps() {
		sb.WriteString(st + "\n")
	}
	for _, t := range s.tools {
		sb.WriteString(toolLine(t) + "\n")
	}
	return sb.String() + s.note + "\n" + s.status()
}

// reply is the live message as it should look now.
func (s *story) reply(turn int64, t platform.Traits) chat.Reply {
	limit := tailBytes
	if t.Local {
		limit = tailBytesLocal
	}
	var blocks []string
	if steps := s.steps(); len(steps) > 0 {
		blocks = append(blocks, strings.Join(steps, "\n"))
	}
	if len(s.tools) > 0 {
		lines := make([]string, 0, len(s.tools))
		for _, tool := range s.tools {
			lines = append(lines, toolLine(tool))
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	if tail := s.tail(limit); tail != "" {
		blocks = append(blocks, tail)
	}
	if s.note != "" {
		blocks = append(blocks, s.note)
	}
	if len(blocks) == 0 {
		blocks = append(blocks, i18n.T(s.lang, "reply.working", "agent", s.agent))
	}
	r := chat.Reply{
		Kind: chat.ReplyProgress, Markdown: strings.Join(blocks, "\n\n"), Footer: s.status(), Silent: true,
	}
	if t.Buttons {
		r.Buttons = [][]chat.Button{{{Label: i18n.T(s.lang, "reply.stop"), Data: fmt.Sprintf("stop:%d", turn), Style: "danger"}}}
	}
	return r
}

// status is the small print: what is going on, for how long, how much was done.
func (s *story) status() string {
	what := "reply.doing"
	switch {
	case s.waiting:
		what = "reply.waiting"
	case s.thinking:
		what = "reply.thinking"
	}
	line := i18n.T(s.lang, what) + " · " + elapsed(time.Since(s.began))
	if s.toolCount > 0 {
		line += " · " + i18n.T(s.lang, "reply.tools", "n", s.toolCount)
	}
	return line
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

func toolLine(t chat.Tool) string {
	sign := "▸ "
	switch t.State {
	case chat.ToolDone:
		sign = "✓ "
	case chat.ToolFailed:
		sign = "✗ "
	case chat.ToolRunning:
	}
	if t.Title == "" || t.Title == t.Name {
		return sign + plainLine(t.Name)
	}
	if t.Name == "" {
		return sign + codeLine(t.Title)
	}
	return sign + plainLine(t.Name) + ": " + codeLine(t.Title)
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
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "~", `\~`, "|", `\|`).Replace(firstLine(s))
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
