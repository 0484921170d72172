package feishu

import (
	"fmt"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/render"
	sim "cligate/internal/sim/feishu"
)

func TestEveryButtonArrivesHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	for name, many := range map[string]int{"one a row": 1, "five a row": 5, "all in one row": 250} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := chat.Reply{Kind: chat.ReplyNotice, Markdown: "Sessions: " + strings.Repeat("很多字，", 1400)}
			for i := 0; i < 250; i += many {
				var bs []chat.Button
				for k := i; k < i+many; k++ {
					bs = append(bs, chat.Button{Label: fmt.Sprint("会话 ", k), Data: fmt.Sprint("use:", k)})
				}
				r.Buttons = append(r.Buttons, bs)
			}
			s := service(t)
			s.Without(sim.RuleRate)
			c, n := sender(t, s), 0
			parts := form{}.render(r)
			for i, p := range parts {
				_, err := c.send(t.Context(), row(fmt.Sprint("part ", i), p))
				must(t, err)
			}
			for _, m := range s.Shown(direct) {
				for _, b := range m.Buttons {
					if b.Value["data"] != fmt.Sprint("use:", n) {
						t.Fatalf("%v is not the button %d", b.Value, n)
					}
					n++
				}
				if len(m.Buttons) > 0 && m.Type != "interactive" {
					t.Error("buttons on no card")
				}
			}
			if n != 250 {
				t.Errorf("%d buttons", n)
			}
			for _, call := range s.Calls() {
				if !call.OK {
					t.Errorf("refused: %+v", call)
				}
			}
		})
	}
}

// Whatever stands on a card beside the answer leaves it within the service's
// limits.
func TestACardIsNeverOverItsBudget(t *testing.T) {
	t.Parallel()
	for name, char := range map[string]string{"letters": "x", "Chinese": "汉", "marks": "*", "quotes": `"`, "ends of lines": "x\n\n", "breaks": "\\\"\t", "emoji": "😀"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			long := strings.Repeat(char, 9000/len(char))
			var lines []string
			for i := range 60 {
				lines = append(lines, fmt.Sprint(i, " ", long[:len(char)*(i*7%300)]))
			}
			panel := chat.Panel{Title: long, Lines: lines}
			ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: long, Footer: strings.Repeat(char, 390/len(char)), Details: []chat.Panel{panel, panel, panel},
				Buttons: [][]chat.Button{{{Label: long, Data: "a:1"}, {Label: " \n", Data: "a:2"}}}})
			last := ms[len(ms)-1]
			if last.Type != "interactive" || len(last.Buttons) != 2 || !strings.Contains(last.Raw, "collapsible_panel") {
				t.Errorf("%.300s", last.Raw)
			}
		})
	}
}

// Also when every share is used up at once.
func TestACardThatIsFullInEveryWayIsAccepted(t *testing.T) {
	t.Parallel()
	s := service(t)
	for name, char := range map[string]string{"letters": "x", "Chinese": "汉", "marks": "*", "quotes": `"`, "breaks": "\\ ", "brackets": `\[\*`, "emoji": "😀"} {
		n := 6000
		for len(split(render.Parse(strings.Repeat(char, n)), targetUnits)) > 1 {
			n -= 25
		}
		line := strings.Repeat(char, 400/len(char))
		panel := chat.Panel{Title: line, Lines: []string{line, line, line, line, line, line, line}}
		for _, kind := range []chat.ReplyKind{chat.ReplyAnswer, chat.ReplyProgress} {
			parts := form{}.render(chat.Reply{Kind: kind, Markdown: strings.Repeat(char, n), Status: strings.Repeat(line+"\n\n", 40), Footer: line,
				Details: []chat.Panel{panel, panel, panel}, Buttons: [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}})
			if len(parts) > 2 || len(parts[len(parts)-1].Buttons) != 1 {
				t.Errorf("%s: %d parts", name, len(parts))
			}
			for _, p := range parts {
				raw, err := text(card(p, someThread, true))
				must(t, err)
				if no := s.Judge(raw); no != "" || !fits(p) {
					t.Errorf("%s, %s: %d bytes: %s", name, kind, len(raw), no)
				}
			}
		}
	}
}

func TestPanelsGoBeforeACardIsTooLarge(t *testing.T) {
	t.Parallel()
	full := format{Markdown: strings.Repeat("x", 25<<10), Panels: []chat.Panel{
		{Title: "Thinking", Lines: []string{strings.Repeat("y", 2500)}}, {Title: "Tools", Lines: []string{strings.Repeat("z", 2000)}}}}
	got := slim(full)
	if len(got.Panels) != 1 || got.Panels[0].Title != "Tools" || got.Markdown != full.Markdown || !fits(chat.Part{Text: "x", Format: encode(got)}) {
		t.Errorf("%d panels", len(got.Panels))
	}
}

func TestTheNewestLinesOfAPanelStay(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("    line %d %s", i, strings.Repeat("_*", i)))
	}
	out := panels([]chat.Panel{{Title: "Log", Lines: lines}, {Title: "Empty"}})
	if len(out) != 1 || !strings.HasPrefix(out[0].Lines[len(out[0].Lines)-1], "    line 99 ") || len(out[0].Lines) < 3 {
		t.Fatalf("%+v", out)
	}
	size := 0
	for _, l := range out[0].Lines {
		size += weight(plainly(l))
	}
	if size > panelsBytes {
		t.Errorf("%d bytes", size)
	}
}

func TestALongFooterIsTextAndAShortOneSmallPrint(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("very *small* print ", 60))
	ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: "answer", Footer: long})
	if got := held(t, ms).Words; !strings.Contains(strings.Join(strings.Fields(got), " "), long) {
		t.Errorf("%q", got)
	}
	ms = deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: "answer", Footer: "Opus · 12 s · 3k tokens · $0.02"})
	if !strings.Contains(ms[0].Raw, `"text_size":"notation"`) || !strings.Contains(held(t, ms).Words, "Opus · 12 s · 3k tokens · $0.02") {
		t.Errorf("%s", ms[0].Raw)
	}
}
