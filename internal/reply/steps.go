package reply

import (
	"strings"

	"cligate/internal/chat"
)

const (
	lastTools    = 4  // tool calls in the message itself
	loggedTools  = 40 // in its log: more than any service shows
	thoughtBytes = 4000
)

// steps are the tool calls of a turn. Only the newest are kept.
type steps struct {
	last  []chat.Tool // those of the message, the newest last
	older []chat.Tool // those before them, for the log
	count int
}

// take takes in a call, or what became of one.
func (s *steps) take(t chat.Tool) {
	if update(s.last, t) || update(s.older, t) {
		return
	}
	if t.State != chat.ToolRunning && t.State != "" && s.count > 0 && t.Name == "" {
		return // the end of a call that is not known any more
	}
	s.count++
	s.last = append(s.last, t)
	if len(s.last) > lastTools {
		s.older = append(s.older, s.last[0])
		s.last = append(s.last[:0], s.last[1:]...)
	}
	if len(s.older) > loggedTools {
		s.older = append(s.older[:0], s.older[1:]...)
	}
}

// update changes the call with t's id, if it is among ts. What t does not say
// stays as it was.
func update(ts []chat.Tool, t chat.Tool) bool {
	for i, old := range ts {
		if old.ID != t.ID {
			continue
		}
		if t.Title == "" {
			t.Title = old.Title
		}
		if t.Name == "" {
			t.Name = old.Name
		}
		ts[i] = t
		return true
	}
	return false
}

// log is one plain line for each call, the newest last.
func (s *steps) log() []string {
	var out []string
	for _, t := range append(s.older[:len(s.older):len(s.older)], s.last...) {
		line := toolSign(t.State) + firstLine(t.Name)
		switch title := firstLine(t.Title); {
		case title == "" || title == firstLine(t.Name):
		case t.Name == "":
			line += title
		default:
			line += ": " + title
		}
		out = append(out, line)
	}
	return out
}

func toolSign(s chat.ToolState) string {
	switch s {
	case chat.ToolDone:
		return "✓ "
	case chat.ToolFailed:
		return "✗ "
	case chat.ToolRunning:
	}
	return "▸ "
}

// toolLine is a call as Markdown.
func toolLine(t chat.Tool) string {
	sign := toolSign(t.State)
	if t.Title == "" || t.Title == t.Name {
		return sign + plainLine(t.Name)
	}
	if t.Name == "" {
		return sign + codeLine(t.Title)
	}
	return sign + plainLine(t.Name) + ": " + codeLine(t.Title)
}

// thoughts are the end of what the agent thinks aloud.
type thoughts struct {
	tail  []byte
	runes int // of all of it
}

func (t *thoughts) add(text string) {
	t.runes += len([]rune(text))
	t.tail = append(t.tail, text...)
	if len(t.tail) > 2*thoughtBytes {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-thoughtBytes:]...)
	}
}

// lines are the last lines, without empty ones. The first may be cut.
func (t *thoughts) lines() []string {
	var out []string
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(t.tail), ""), "\n") {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return out
}
