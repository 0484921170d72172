package telegram

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/render"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// show writes parts in a form that a person can read.
func show(t *testing.T, parts []chat.Part) string {
	t.Helper()
	var sb strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&sb, "=== part %d", i+1)
		if p.Silent {
			sb.WriteString(" silent")
		}
		if !p.ReplyTo.Zero() {
			fmt.Fprintf(&sb, " reply:%s", p.ReplyTo.ID)
		}
		if p.File != nil {
			fmt.Fprintf(&sb, " file:%s:%d", p.File.Name, len(p.File.Body))
		}
		sb.WriteString("\n" + p.Text + "\n")
		for _, e := range decodeEntities(t, p) {
			piece := string(utf16.Decode(utf16.Encode([]rune(p.Text))[e.Offset : e.Offset+e.Length]))
			fmt.Fprintf(&sb, "  %s %q %s%s\n", e.Type, piece, e.URL, e.Language)
		}
		for _, row := range p.Buttons {
			shown := make([]string, len(row))
			for i, b := range row {
				shown[i] = fmt.Sprintf("{%s %s %s}", b.Label, b.Data, b.Style)
				if b.Copy != "" {
					shown[i] = fmt.Sprintf("{%s copies %q}", b.Label, b.Copy)
				}
			}
			fmt.Fprintf(&sb, "  buttons %v\n", shown)
		}
	}
	return sb.String()
}

func decodeEntities(t *testing.T, p chat.Part) []entity {
	t.Helper()
	var es []entity
	if classic, _ := opened(p); len(classic) > 0 {
		if err := json.Unmarshal(classic, &es); err != nil {
			t.Fatal(err)
		}
	}
	return es
}

func TestRenderedReplies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: string(src), Footer: "claude · 12 s", ReplyTo: chat.Ref{ID: "7", Chat: "11"},
				Buttons: [][]chat.Button{{{Label: "Retry", Data: "retry:1"}}}}
			if strings.Contains(file, "progress") {
				r = chat.Reply{Kind: chat.ReplyProgress, Markdown: string(src)}
			}
			a, srv, log := strict(t, Config{})
			parts := a.Render(r)
			got := show(t, parts)
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs:\n%s", golden, got)
			}
			for _, p := range parts {
				if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), p)); err != nil {
					t.Fatalf("the server refuses %q: %v", p.Text, err)
				}
			}
			for i, m := range srv.Visible(testToken, ann) {
				if m.Text != parts[i].Text || len(m.Entities) != len(decodeEntities(t, parts[i])) {
					t.Errorf("the server made %q of %q", m.Text, parts[i].Text)
				}
			}
			if strings.Contains(log.String(), "refused") {
				t.Error(log.String())
			}
		})
	}
}

// checkParts verifies the limits that every reply keeps.
func checkParts(t *testing.T, r chat.Reply, parts []chat.Part) {
	t.Helper()
	if len(parts) > maxParts+1 {
		t.Errorf("%d parts", len(parts))
	}
	for i, p := range parts {
		units := utf16.Encode([]rune(p.Text))
		if len(units) > maxText {
			t.Errorf("part %d has %d units", i, len(units))
		}
		if p.File == nil && strings.TrimSpace(p.Text) == "" {
			t.Errorf("part %d is empty", i)
		}
		if p.File != nil && len(units) > maxCaption {
			t.Errorf("caption of %d units", len(units))
		}
		if !utf8.ValidString(p.Text) || clean(p.Text) != p.Text {
			t.Errorf("part %d is not clean: %q", i, p.Text)
		}
		es := decodeEntities(t, p)
		if len(es) > targetEntities {
			t.Errorf("part %d has %d entities", i, len(es))
		}
		for _, e := range es {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(units) ||
				low(units, e.Offset) || low(units, e.Offset+e.Length) {
				t.Errorf("part %d: entity %+v in %d units", i, e, len(units))
			}
		}
		if i > 0 && (!p.ReplyTo.Zero() || !p.Silent) {
			t.Errorf("part %d replies or notifies", i)
		}
		if i < len(parts)-1 && len(p.Buttons) > 0 {
			t.Errorf("part %d has buttons", i)
		}
	}
	if len(parts) > 0 && parts[0].ReplyTo != r.ReplyTo {
		t.Error("the first part does not reply")
	}
}

func low(units []uint16, i int) bool {
	return i < len(units) && units[i] >= 0xdc00 && units[i] <= 0xdfff
}

func TestLongAnswersKeepTheLimitsAndEveryWord(t *testing.T) {
	t.Parallel()
	word := func(n int, sep string) string {
		var sb strings.Builder
		for i := range n {
			fmt.Fprintf(&sb, "w%d%s", i, sep)
		}
		return sb.String()
	}
	var codes strings.Builder
	for i := range 300 {
		fmt.Fprintf(&codes, "`c%d` and ", i)
	}
	for name, md := range map[string]string{
		"words":       word(3000, " "),
		"lines":       word(2000, "\n"),
		"paragraphs":  word(1200, "\n\n"),
		"emoji":       strings.Repeat("😀", 5000),
		"families":    strings.Repeat("👨‍👩‍👧‍👦", 1000),
		"chinese":     strings.Repeat("你好世界。", 1500),
		"code block":  "```go\n" + word(1800, "\n") + "```",
		"one line":    "```\n" + strings.Repeat("x", 9000) + "\n```",
		"codes":       codes.String(),
		"one word":    strings.Repeat("x", 20000),
		"very long":   word(40000, " "),
		"tabs":        "```\n" + strings.Repeat("\t\tx\n", 800) + "```",
		"paths":       strings.Repeat("see /etc/hosts and @user ", 400),
		"many quotes": strings.Repeat("> q\n\ntext\n\n", 300),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, srv, log := strict(t, Config{})
			r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: "the footer", ReplyTo: chat.Ref{ID: "3", Chat: "11"},
				Buttons: [][]chat.Button{{{Label: "a", Data: "b"}}}}
			parts := a.Render(r)
			checkParts(t, r, parts)
			all := ""
			for _, p := range parts {
				all += p.Text + " "
				if p.File != nil {
					all += string(p.File.Body)
				}
				if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), p)); err != nil {
					t.Fatalf("refused: %v", err)
				}
			}
			if !strings.Contains(all, "the footer") {
				t.Error("the footer is lost")
			}
			for i := range 300 {
				if w := fmt.Sprintf("w%d", i*4); strings.Contains(md, w+" ") && !strings.Contains(all, w) {
					t.Fatalf("%s is lost", w)
				}
			}
			if n := strings.Count(md, "😀"); n > 0 && strings.Count(all, "😀") != n {
				t.Errorf("%d of %d emoji", strings.Count(all, "😀"), n)
			}
			if s := log.String(); strings.Contains(s, "level=WARN") || strings.Contains(s, "level=ERROR") {
				t.Error(s)
			}
			if n := len(srv.Visible(testToken, ann)); n != len(parts) {
				t.Errorf("%d messages of %d parts", n, len(parts))
			}
		})
	}
}

func TestAVeryLongAnswerIsItsBeginningAndADocument(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	md := strings.Repeat("one two three\tfour\n\n", 3000)
	parts := a.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: "foot", Buttons: [][]chat.Button{{{Label: "a", Data: "b"}}}})
	if len(parts) != 2 || parts[1].File == nil || len(parts[1].Buttons) != 1 {
		t.Fatalf("%d parts", len(parts))
	}
	if string(parts[1].File.Body) != md || parts[1].Text != "foot" || !strings.HasSuffix(parts[0].Text, "…") {
		t.Error("the document is not the whole text")
	}
}

func TestRepliesWithoutText(t *testing.T) {
	t.Parallel()
	a, log := open(t, Config{})
	if parts := a.Render(chat.Reply{Markdown: " \n\t "}); len(parts) != 0 {
		t.Errorf("blank: %+v", parts)
	}
	parts := a.Render(chat.Reply{Buttons: [][]chat.Button{{{Label: "a", Data: "b"}, {Label: "c", Data: strings.Repeat("d", 65)}, {Label: "", Data: "e"}}, {{Label: "no data"}}}})
	if len(parts) != 1 || parts[0].Text == "" || len(parts[0].Buttons) != 1 || len(parts[0].Buttons[0]) != 2 {
		t.Errorf("buttons only: %+v", parts)
	}
	if !strings.Contains(log.String(), "button left out") {
		t.Error("the left out button is not in the log")
	}
	f := &chat.OutFile{Name: "x.txt", Body: []byte("x")}
	parts = a.Render(chat.Reply{File: f, Silent: true, ReplyTo: chat.Ref{ID: "1"}})
	if len(parts) != 1 || parts[0].File != f || !parts[0].Silent || parts[0].ReplyTo.ID != "1" {
		t.Errorf("file only: %+v", parts)
	}
	parts = a.Render(chat.Reply{Markdown: "see", File: f, Footer: "foot"})
	if len(parts) != 2 || parts[0].Text != "see\n\nfoot" || parts[1].File != f {
		t.Errorf("text and file: %+v", parts)
	}
	parts = a.Render(chat.Reply{Footer: "foot"})
	if len(parts) != 1 || parts[0].Text != "foot" {
		t.Errorf("footer only: %+v", parts)
	}
}

func TestOurOwnWordsKeepTheirCommands(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	for kind, want := range map[chat.ReplyKind]int{chat.ReplyNotice: 0, chat.ReplyAnswer: 1} {
		parts := a.Render(chat.Reply{Kind: kind, Markdown: "send /new to start over"})
		if es := decodeEntities(t, parts[0]); len(es) != want {
			t.Errorf("%s: %+v", kind, es)
		}
	}
}

func TestTabsStandWhereTheyStood(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\tx": "    x", "ab\tc": "ab  c", "abcd\te": "abcd    e", "a\n\tb": "a\n    b", "你\tx": "你   x",
		"a\u2028b\u202ec": "abc", "a\r\nb\rc": "a\nb\nc", "a\x00b\x1bc": "a b c", "a\xffb": "a\ufffdb",
		"a\u030ab\u030a": "åb",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTrimmingKeepsTheOffsets(t *testing.T) {
	t.Parallel()
	p, _ := part(render.Text{Plain: " \n hi you \n", Spans: []render.Span{{Start: 3, End: 5, Style: render.Bold}, {Start: 6, End: 11, Style: render.Italic}}})
	if p.Text != "hi you" || string(p.Format) != `[{"type":"bold","offset":0,"length":2},{"type":"italic","offset":3,"length":3}]` {
		t.Errorf("%q %s", p.Text, p.Format)
	}
	p, _ = part(render.Text{Plain: "  x\n", Spans: []render.Span{{Start: 0, End: 3, Style: render.Pre, Arg: "go\" onclick"}}})
	if p.Text != "x" || string(p.Format) != `[{"type":"pre","offset":0,"length":1}]` {
		t.Errorf("%q %s", p.Text, p.Format)
	}
}
