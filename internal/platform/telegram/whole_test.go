package telegram

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	fakebot "cligate/internal/sim/telegram"
)

// held is everything that a server holds of an answer.
func held(ms []fakebot.Message) corpus.Held {
	var sb strings.Builder
	var h corpus.Held
	for i, m := range ms {
		if i == 0 {
			h.First = m.Text
		}
		if m.File != "" && h.File == nil {
			h.Name, h.File = m.File, m.FileBody
		}
		units := utf16.Encode([]rune(m.Text))
		at := 0
		for _, e := range m.Entities {
			switch e.Type {
			case "pre":
				sb.WriteString(string(utf16.Decode(units[at:e.Offset])) + " " + e.Language + " ")
				at = e.Offset
				for i, l := range strings.Split(string(utf16.Decode(units[e.Offset:e.Offset+e.Length])), "\n") {
					h.Code = append(h.Code, corpus.Line{Text: l, Cut: i == 0})
				}
			case "text_link":
				if end := e.Offset + e.Length; end > at {
					sb.WriteString(string(utf16.Decode(units[at:end])) + " " + e.URL + " ")
					at = end
				}
			}
		}
		sb.WriteString(string(utf16.Decode(units[at:])) + "\n")
	}
	h.Words = sb.String()
	return h
}

// wholeAnswer checks that the server holds every word and every line of code of
// an answer, in order.
func wholeAnswer(t *testing.T, md string, ms []fakebot.Message) {
	t.Helper()
	if what := notWhole(md, ms); what != "" {
		t.Error(what)
	}
}

// notWhole says what of an answer a server does not hold, empty when it holds
// everything.
func notWhole(md string, ms []fakebot.Message) string { return held(ms).Missing(md, strip) }

// A check that never fails proves nothing.
func TestALostWordOrLineOfAMessageIsNoticed(t *testing.T) {
	t.Parallel()
	md := "some words here\n\n```go\nfunc main() {\n\tone()\n\ttwo()\n}\n```\n\n| a | b |\n|---|---|\n| cell | other |\n"
	ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
	if what := notWhole(md, ms); what != "" {
		t.Fatal(what)
	}
	for _, cut := range []string{"words ", "    two()\n", "cell ", "some words here"} {
		m := ms[0]
		i := strings.Index(m.Text, cut)
		at, n := len(utf16.Encode([]rune(m.Text[:i]))), len(cut)
		m.Text = m.Text[:i] + m.Text[i+len(cut):]
		m.Entities = slices.Clone(m.Entities)
		for i := range m.Entities {
			if e := &m.Entities[i]; e.Offset > at {
				e.Offset -= n
			} else if e.Offset+e.Length > at {
				e.Length -= n
			}
		}
		if notWhole(md, []fakebot.Message{m}) == "" {
			t.Errorf("nobody misses %q", cut)
		}
	}
	long := strings.Repeat("one two three. ", 2000)
	ms = deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: long})
	ms[1].FileBody = ms[1].FileBody[:20000]
	if notWhole(long, ms) == "" {
		t.Error("nobody misses the end of a file")
	}
}
