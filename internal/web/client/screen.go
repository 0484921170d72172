package client

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
)

// screen writes for a person. On a terminal the running turn has one line that
// is rewritten in place; elsewhere only what stays is written. What others
// wrote cannot steer the terminal: control characters are shown, not obeyed.
type screen struct {
	out    io.Writer
	tty    bool
	width  int
	lang   string
	status bool // the last line is a status line
	err    error
}

func (s *screen) print(format string, args ...any) {
	if s.err != nil {
		return
	}
	_, s.err = fmt.Fprintf(s.out, format, args...)
}

// say writes lines that stay.
func (s *screen) say(text string) {
	s.clear()
	s.print("%s\n", plain(text))
}

// note writes words of our own beside the talk.
func (s *screen) note(key string, args ...any) {
	s.say("-- " + i18n.T(s.lang, "web."+key, args...))
}

func (s *screen) clear() {
	if s.status {
		s.print("\r\x1b[2K")
		s.status = false
	}
}

// working shows the newest line of a running turn.
func (s *screen) working(text string) {
	if !s.tty {
		return
	}
	line := ""
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			line = l
		}
	}
	s.print("\r\x1b[2K\x1b[2m%s\x1b[0m", cut(plain("… "+line), s.width-1))
	s.status = true
}

func (s *screen) prompt() {
	if s.tty && !s.status {
		s.print("> ")
	}
}

// message writes a message of ours.
func (s *screen) message(m api.Message) {
	text := m.Text
	if m.Kind == string(chat.ReplyAsk) {
		text = "? " + text
	}
	if m.Footer != "" {
		text += "\n" + m.Footer
	}
	if m.File != nil {
		text = strings.TrimSpace(text + "\n" + i18n.T(s.lang, "web.cli_file", "name", m.File.Name, "size", m.File.Size))
	}
	s.say(text)
	if line := offers(m); line != "" {
		s.say("  " + line)
	}
}

// flat are a message's buttons in reading order.
func flat(m api.Message) []chat.Button {
	var all []chat.Button
	for _, row := range m.Buttons {
		all = append(all, row...)
	}
	return all
}

// plain keeps text from being taken for commands by a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// cut shortens a line to a number of columns.
func cut(s string, columns int) string {
	if columns <= 0 || uniseg.StringWidth(s) <= columns {
		return s
	}
	var b strings.Builder
	width := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if width += g.Width(); width > columns-1 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}
