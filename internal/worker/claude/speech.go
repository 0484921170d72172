package claude

import (
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// notice tells something in our own words. It is the answer, too, where there
// will be no other.
func (rd *reader) notice(key string, args ...any) {
	if rd.run == nil {
		return
	}
	text := i18n.T(i18n.Default, key, args...)
	rd.run.emit(chat.Event{Kind: chat.EventNotice, Text: text})
	rd.run.unsigned = text
}

// compacted tells that the conversation is shorter now.
func (rd *reader) compacted(m compactMsg) {
	if m.Data.Before == 0 || m.Data.After == 0 {
		rd.notice("claude.compacted")
		return
	}
	rd.notice("claude.compacted_from", "before", m.Data.Before, "after", m.Data.After)
	if rd.run != nil {
		rd.run.usage.Used = m.Data.After
	}
}

// assistant takes a finished block. Text outside any run is told as a turn of
// its own.
func (rd *reader) assistant(m chatMsg, parent string) {
	if rd.run != nil {
		rd.run.assistant(m, parent)
		if t := rd.run.turn; t != nil && parent == "" && m.has("tool_use") {
			t.enter(phaseTools)
		}
		return
	}
	if parent != "" || m.Message.Model == synthetic || !m.hasText() {
		return
	}
	r := rd.uninvited(rd.known.current())
	r.assistant(m, "")
	if r.end != nil {
		r.end(nil)
	}
}

func (m chatMsg) has(kind string) bool {
	return slices.ContainsFunc(m.Message.Content, func(b block) bool { return b.Type == kind })
}

func (m chatMsg) hasText() bool {
	for _, b := range m.Message.Content {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			return true
		}
	}
	return false
}
