package telegram

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	fakebot "cligate/internal/sim/telegram"
)

// deliver renders r and sends all parts to a server. It returns what the
// server holds.
func deliver(t *testing.T, r chat.Reply) []fakebot.Message {
	t.Helper()
	a, srv, log := strict(t, Config{})
	parts := a.Render(r)
	checkParts(t, r, parts)
	for _, p := range parts {
		if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), p)); err != nil {
			t.Fatalf("refused: %v\n%s", err, p.Text)
		}
	}
	got := srv.Visible(testToken, ann)
	if len(got) != len(parts) {
		t.Fatalf("%d messages of %d parts", len(got), len(parts))
	}
	for i, m := range got {
		if m.Text != parts[i].Text {
			t.Errorf("the server holds %q, sent was %q", m.Text, parts[i].Text)
		}
		if n := len(decodeEntities(t, parts[i])); n != len(m.Entities) {
			t.Errorf("the server holds %d entities, sent were %d\n%s", len(m.Entities), n, marked(m))
		}
	}
	for _, c := range srv.Calls() {
		if c.Method == "sendMessage" && c.Params["link_preview_options"] != `{"is_disabled":true}` {
			t.Error("a link may be shown with a preview")
		}
	}
	if s := log.String(); strings.Contains(s, "refused") || strings.Contains(s, "too long") {
		t.Error(s)
	}
	return got
}

// marked is the text of a message with its formatting in place: ‹bold:…›. What
// the service made of words by itself has an exclamation mark.
func marked(m fakebot.Message) string {
	open, end := map[int]string{}, map[int]int{}
	for _, e := range m.Entities {
		arg := ""
		if e.URL+e.Language != "" {
			arg = " " + e.URL + e.Language
		}
		open[e.Offset] += "‹" + e.Type + arg + ":"
		end[e.Offset+e.Length]++
	}
	for _, e := range m.Found {
		open[e.Offset] += "‹!" + e.Type + ":"
		end[e.Offset+e.Length]++
	}
	var sb strings.Builder
	at := 0
	for _, r := range m.Text {
		sb.WriteString(strings.Repeat("›", end[at]) + open[at])
		sb.WriteRune(r)
		at += len(utf16.Encode([]rune{r}))
	}
	return sb.String() + strings.Repeat("›", end[at])
}

func golden(ms []fakebot.Message) string {
	var sb strings.Builder
	for i, m := range ms {
		fmt.Fprintf(&sb, "=== message %d: %d units, %d entities", i+1, len(utf16.Encode([]rune(m.Text))), len(m.Entities))
		if m.File != "" {
			fmt.Fprintf(&sb, ", file %s of %d bytes", m.File, len(m.FileBody))
		}
		sb.WriteString(" ===\n" + marked(m) + "\n")
	}
	return sb.String()
}

// unwanted are the words that the service made commands, mentions, tags or
// links to strangers of.
func unwanted(m fakebot.Message) []string {
	var out []string
	units := utf16.Encode([]rune(m.Text))
	for _, e := range m.Found {
		s := string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
		if e.Type != "url" || !strings.ContainsAny(s, "/") && !slices.ContainsFunc([]string{".com", ".org", ".net", ".io", ".dev"}, func(d string) bool { return strings.HasSuffix(s, d) }) {
			out = append(out, e.Type+" "+s)
		}
	}
	return out
}

func TestRealAnswersLookAsTheyShould(t *testing.T) {
	t.Parallel()
	for name, md := range corpus.Real(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
			for _, m := range ms {
				if bad := unwanted(m); len(bad) > 0 {
					t.Errorf("words that nobody meant as such: %q", bad)
				}
			}
			wholeAnswer(t, md, ms)
			file := filepath.Join("testdata", "golden", name+".txt")
			got := golden(ms)
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs:\n%s", file, got)
			}
		})
	}
}
