package telegram

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"cligate/internal/chat"
	"cligate/internal/render"
)

func rendered(t *testing.T, r chat.Reply) chat.Part {
	t.Helper()
	parts := (&form{}).render(r)
	if len(parts) == 0 {
		t.Fatalf("nothing of %+v", r)
	}
	return parts[len(parts)-1]
}

// pieces are the texts that carry a style.
func pieces(t *testing.T, p chat.Part, style string) []string {
	t.Helper()
	units := utf16.Encode([]rune(p.Text))
	var out []string
	for _, e := range decodeEntities(t, p) {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(units) {
			t.Fatalf("%+v is outside of %d units", e, len(units))
		}
		if e.Type == style {
			out = append(out, string(utf16.Decode(units[e.Offset:e.Offset+e.Length])))
		}
	}
	return out
}

func TestPanelsAreFoldedQuotesBelowTheText(t *testing.T) {
	t.Parallel()
	p := rendered(t, chat.Reply{
		Kind: chat.ReplyProgress, Markdown: "so **far** 😀", Footer: "working · 5s",
		Details: []chat.Panel{
			{Title: "Thinking", Lines: []string{"first I look 😀", "then @everyone and /etc/passwd"}},
			{Title: "Tools", Lines: []string{"✓ Bash: go test ./...", "▸ Read: a.go"}},
			{Title: "Nothing"},
		},
	})
	want := "so far 😀\n\nThinking\nfirst I look 😀\nthen @everyone and /etc/passwd\n\nTools\n✓ Bash: go test ./...\n▸ Read: a.go\n\nworking · 5s"
	if p.Text != want {
		t.Errorf("%q\nwant %q", p.Text, want)
	}
	if got := pieces(t, p, "expandable_blockquote"); len(got) != 2 || !strings.HasPrefix(got[0], "Thinking\n") || !strings.HasSuffix(got[1], "Read: a.go") {
		t.Errorf("quotes %q", got)
	}
	if got := pieces(t, p, "code"); strings.Join(got, " ") != "@everyone /etc/passwd a.go" {
		t.Errorf("words that the service would make something of: %q", got)
	}
	if got := pieces(t, p, "bold"); len(got) != 1 || got[0] != "far" {
		t.Errorf("bold %q", got)
	}
}

func TestOnlyTheNewestOfAPanelIsShown(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("line %03d", i))
	}
	for name, panels := range map[string][]chat.Panel{
		"one":  {{Title: "Tools", Lines: lines}},
		"two":  {{Title: "Thinking", Lines: lines}, {Title: "Tools", Lines: lines}},
		"wide": {{Title: "Thinking", Lines: []string{strings.Repeat("wide 😀 ", 900) + "line 199"}}},
		"both": {{Title: "Thinking", Lines: []string{strings.Repeat("x", 5000) + "line 199"}}, {Title: "Tools", Lines: lines}},
	} {
		p := rendered(t, chat.Reply{Kind: chat.ReplyProgress, Markdown: "text", Details: panels})
		all := strings.Join(pieces(t, p, "expandable_blockquote"), "\n")
		if n := strings.Count(all, "\n") + 1; n > foldLines || n < 2 {
			t.Errorf("%s: %d lines", name, n)
		}
		if n := render.Units(all); n > foldUnits {
			t.Errorf("%s: %d units", name, n)
		}
		if n := strings.Count(all, "line 199"); n != len(panels) {
			t.Errorf("%s: the newest line is there %d times:\n%s", name, n, all)
		}
	}
}

func TestNoPanelBreaksAMessage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	bits := []string{"a", "/cmd ", "@me ", "😀", "\t", "\r", "\n", "\x00", "\u202e", "**b** ", "`c` ", "> q\n", "你好", " ", strings.Repeat("w", 300), "- i\n", "\xff"}
	text := func(n int) string {
		var sb strings.Builder
		for range r.IntN(n) {
			sb.WriteString(bits[r.IntN(len(bits))])
		}
		return sb.String()
	}
	for i := range 400 {
		reply := chat.Reply{Kind: chat.ReplyProgress, Markdown: text(80), Footer: text(4)}
		for range r.IntN(4) {
			reply.Details = append(reply.Details, chat.Panel{Title: text(3), Lines: []string{text(30), text(30)}})
		}
		for _, p := range (&form{}).render(reply) {
			es := decodeEntities(t, p)
			if n := render.Units(p.Text); n > maxText || len(es) > 100 {
				t.Fatalf("%d: %d units, %d entities", i, n, len(es))
			}
			if p.Text != clean(p.Text) || strings.TrimSpace(p.Text) == "" {
				t.Fatalf("%d: the service would change %q", i, p.Text)
			}
			end := -1
			for _, e := range es {
				if !strings.HasSuffix(e.Type, "blockquote") {
					continue
				}
				if e.Offset < end {
					t.Fatalf("%d: a quote inside a quote", i)
				}
				end = e.Offset + e.Length
			}
			pieces(t, p, "")
		}
	}
}

func TestAClipboardButtonHasATextThatFits(t *testing.T) {
	t.Parallel()
	button := func(copied string) chat.Reply {
		return chat.Reply{Kind: chat.ReplyNotice, Markdown: "run it", Buttons: [][]chat.Button{{{Label: "Copy", Copy: copied}}}}
	}
	for copied, there := range map[string]bool{
		"go test ./...":          true,
		strings.Repeat("é", 256): true,
		strings.Repeat("é", 257): false,
		" leading":               false,
		"a\tb":                   false,
		strings.Repeat("😀", 256): true,
	} {
		p := rendered(t, button(copied))
		if got := len(p.Buttons) == 1; got != there {
			t.Errorf("%.20q: there %v", copied, got)
		}
		if there && !strings.Contains(newDraft(chat.Place{}, p).post().params["reply_markup"], `"copy_text":{"text":`) {
			t.Errorf("%.20q: sent as %s", copied, newDraft(chat.Place{}, p).post().params["reply_markup"])
		}
		if there && strings.Contains(newDraft(chat.Place{}, p).post().params["reply_markup"], "callback_data") {
			t.Errorf("%.20q: does two things", copied)
		}
	}
}
