package reply

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

func TestTheTailOpensCodeThatBeganEarlier(t *testing.T) {
	t.Parallel()
	code := strings.Repeat("x := 1 // a line\n", 200)
	for name, c := range map[string]struct{ text, want string }{
		"in a block":      {"intro\n```go\n" + code, "…\n```go\nx := 1"},
		"in a long fence": {"````md\n```\n" + code, "…\n````md\nx := 1"},
		"with tildes":     {"~~~\n```\n" + code, "…\n~~~\nx := 1"},
		"after a block":   {"```go\ncode\n```\n" + code, "…\nx := 1"},
		"no fence":        {"``` is said in a line\n" + "```\n" + code, "…\nx := 1"},
		"short":           {"```go\nx", "```go\nx"},
	} {
		for _, size := range []int{1, 7, 10_000} { // however the text comes
			var s story
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				s.take(chat.Event{Kind: chat.EventText, Text: rest[:n]})
				rest = rest[n:]
			}
			if got := s.tail(tailBytes); !strings.HasPrefix(got, c.want) || len(got) > tailBytes+50 {
				t.Errorf("%s, in pieces of %d: %.60q", name, size, got)
			}
		}
	}
}

func TestTheTailNeverCutsACharacter(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		var s story
		s.take(chat.Event{Kind: chat.EventText, Text: strings.Repeat("a", n) + strings.Repeat("中😀", 1000)})
		if got := s.tail(tailBytes); !utf8.ValidString(got) {
			t.Errorf("%.40q", got)
		}
	}
}

func TestBlocksOfTheAnswerAreParagraphs(t *testing.T) {
	t.Parallel()
	var s story
	for _, e := range []chat.Event{
		{Kind: chat.EventBreak}, {Kind: chat.EventText, Text: "a"}, {Kind: chat.EventText, Text: "b"},
		{Kind: chat.EventBreak}, {Kind: chat.EventBreak}, {Kind: chat.EventText, Text: ""}, {Kind: chat.EventText, Text: "c"},
		{Kind: chat.EventBreak},
	} {
		s.take(e)
	}
	if got := s.text.String(); got != "ab\n\nc" {
		t.Errorf("%q", got)
	}
}

func TestForeignTextInProgressIsNoMarkup(t *testing.T) {
	t.Parallel()
	s := story{lang: "en", agent: "demo", began: time.Now()}
	s.take(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "1", Name: "Ba*sh", Title: "echo `x` **y**\nsecond line", State: chat.ToolFailed}})
	s.take(chat.Event{Kind: chat.EventPlan, Plan: []chat.Step{{Text: "do [x](y) <b>", Done: true}, {Text: "then"}}})
	got := s.reply(7, platform.Traits{Buttons: true}).Markdown
	for _, want := range []string{`✗ Ba\*sh: ` + "`echo ˋxˋ **y**`", `☑ do \[x](y) \<b>`, "☐ then"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "second line") {
		t.Errorf("more than a line: %q", got)
	}
}

func TestProgressStaysSmallHoweverMuchHappens(t *testing.T) {
	t.Parallel()
	s := story{lang: "en", agent: "demo", began: time.Now()}
	var plan []chat.Step
	for i := range 500 {
		plan = append(plan, chat.Step{Text: fmt.Sprint("step ", i), Done: i < 300})
		s.take(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: fmt.Sprint(i), Name: "T", Title: strings.Repeat("long ", 100)}})
		s.take(chat.Event{Kind: chat.EventText, Text: strings.Repeat("text ", 100)})
	}
	s.take(chat.Event{Kind: chat.EventPlan, Plan: plan})
	r := s.reply(7, platform.Traits{})
	if len(r.Markdown) > 2500 || !strings.Contains(r.Markdown, "step 300") || !strings.Contains(r.Footer, "500") {
		t.Errorf("%d bytes: %q", len(r.Markdown), r.Markdown)
	}
}

func TestTakingInAnEventCostsNoMoreThanTheEvent(t *testing.T) { // not parallel: it counts allocations
	var s story
	piece := chat.Event{Kind: chat.EventText, Text: "some text of an answer\n"}
	for range 1000 {
		s.take(piece)
	}
	small := testing.AllocsPerRun(1000, func() { s.take(piece) })
	for range 100_000 {
		s.take(piece)
	}
	if large := testing.AllocsPerRun(1000, func() { s.take(piece); _ = s.tail(tailBytes) }); large > small+10 {
		t.Errorf("%v allocations after 1,000 events, %v after 100,000", small, large)
	}
}
