package feishu

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	sim "cligate/internal/sim/feishu"
)

func sender(t *testing.T, s *sim.Server) *courier {
	t.Helper()
	r := client(t, s)
	return newCourier(r, uploads{rest: r}, slog.New(slog.DiscardHandler))
}

func row(key string, p chat.Part) chat.Out {
	return chat.Out{ID: 1, Key: key, Place: chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}, Op: chat.OpPost, Class: chat.OutFinal, Part: p}
}

func answer(md string) chat.Part {
	return form{}.render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})[0]
}

func growing(md, status string) chat.Part {
	return form{}.render(chat.Reply{Kind: chat.ReplyProgress, Markdown: md, Footer: status,
		Buttons: [][]chat.Button{{{Label: "Stop", Data: "stop:1", Style: "danger"}}}})[0]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerIsACardAndARefusedOneIsTextAllTheSame(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := sender(t, s)
	_, err := c.send(t.Context(), row("a", answer("**Done**: see `main.go`")))
	must(t, err)
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "message.create", Times: 1, Code: 230099, Text: "ext=ErrCode: 11310; ErrMsg: x;"})
	_, err = c.send(t.Context(), row("b", answer("second")))
	must(t, err)
	plain := answer("third")
	plain.Format = nil
	_, err = c.send(t.Context(), row("c", plain))
	must(t, err)
	seen := s.Shown(direct)
	if len(seen) != 3 || seen[0].Type != "interactive" || seen[1].Type != "post" || seen[2].Type != "text" {
		t.Fatalf("%+v", seen)
	}
	for i, want := range []string{"**Done**: see `main.go`", "second", "third"} {
		if seen[i].Text != want {
			t.Errorf("%d: %q", i, seen[i].Text)
		}
	}
}

func TestARowIsShownOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	for _, p := range []chat.Part{answer("words"), {Text: "plain"}, {File: &chat.OutFile{Name: "a.md", Body: []byte("x")}}, growing("so far", "working")} {
		s := service(t)
		c := sender(t, s)
		o := row("same", p)
		s.Fail(sim.Fault{Kind: sim.Lose, Method: "message.create", Times: 1})
		_, err := c.send(t.Context(), o)
		if chat.CodeOf(err) != chat.Uncertain {
			t.Fatalf("%v", err)
		}
		o.Unsure = &chat.Unsure{}
		ref, err := sender(t, s).send(t.Context(), o)
		must(t, err)
		seen := s.Shown(direct)
		if len(seen) != 1 || seen[0].ID != ref.ID {
			t.Fatalf("%+v", seen)
		}
		if seen[0].Entity != "" { // the entity that is changed is the one that is shown
			_, err := c.send(t.Context(), chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: answer("the end")})
			must(t, err)
			if seen := s.Shown(direct)[0]; seen.Text != "the end" || seen.Open {
				t.Errorf("%+v", seen)
			}
		}
	}
}

func TestALiveCardGrowsAndIsClosed(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := sender(t, s)
	ref, err := c.send(t.Context(), row("live", growing("", "working · 0s")))
	must(t, err)
	for i, text := range []string{"one", "one two", "one two three"} {
		_, err := c.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutProgress, Target: ref, Part: growing(text, fmt.Sprintf("working · %ds", i+1))})
		must(t, err)
		seen := s.Shown(direct)[0]
		if !seen.Open || !strings.Contains(seen.Text, text) || len(seen.Buttons) != 1 {
			t.Fatalf("%+v", seen)
		}
		s.Pass(250 * time.Millisecond) // the service's own pace
	}
	end := answer("one two three four")
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: end})
	must(t, err)
	seen := s.Shown(direct)
	if len(seen) != 1 || seen[0].Open || seen[0].Text != "one two three four" || len(seen[0].Buttons) != 0 {
		t.Fatalf("%+v", seen)
	}
	if card := s.Cards()[seen[0].Entity]; card.Summary != "one two three four" {
		t.Errorf("summary %q", card.Summary)
	}
	whole := 0
	for _, call := range s.Calls() {
		if call.Method == "card.update" {
			whole++
		}
	}
	if whole != 2 { // the first change, of which nothing is known yet, and the last
		t.Errorf("%d whole cards", whole)
	}
}

// What is changed of a card that has ended, also by a process that knows nothing
// of it, does not open it again.
func TestACardThatHasEndedStaysSoWhenItsButtonsGo(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		s := service(t)
		c := sender(t, s)
		ref, err := c.send(t.Context(), row("live", growing("one", "working · 0s")))
		must(t, err)
		end := answer("interrupted")
		end.Keep = keep
		end.Buttons = [][]chat.Button{{{Label: "Retry", Data: "retry:1"}}}
		_, err = c.send(t.Context(), chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: end})
		must(t, err)
		before := s.Shown(direct)[0]
		if before.Open || len(before.Buttons) != 1 {
			t.Fatalf("%+v", before)
		}
		end.Buttons = nil
		_, err = c.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutNotice, Target: ref, Part: end})
		must(t, err)
		for _, call := range s.Calls() {
			if !call.OK {
				t.Errorf("refused: %+v", call)
			}
		}
		s.Pass(time.Second)
		_, err = sender(t, s).send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutNotice, Target: ref, Part: end})
		must(t, err)
		if seen := s.Shown(direct)[0]; seen.Open || len(seen.Buttons) != 0 || seen.Text != before.Text {
			t.Errorf("kept %t: %+v became %+v", keep, before, seen)
		}
	}
}

func TestALiveCardIsClosedByTheNextProcess(t *testing.T) {
	t.Parallel()
	s := service(t)
	first := sender(t, s)
	ref, err := first.send(t.Context(), row("live", growing("", "working")))
	must(t, err)
	for i := range 3 {
		_, err := first.send(t.Context(), chat.Out{Op: chat.OpEdit, Target: ref, Part: growing(fmt.Sprint("text ", i), "working")})
		must(t, err)
	}
	s.Pass(11 * time.Minute) // streaming has ended by itself meanwhile
	_, err = sender(t, s).send(t.Context(), chat.Out{Op: chat.OpFinish, Target: ref, Part: answer("interrupted")})
	must(t, err)
	if seen := s.Shown(direct)[0]; seen.Open || seen.Text != "interrupted" {
		t.Errorf("%+v", seen)
	}
}

// Whatever the service says to a frame, the end arrives.
func TestTheEndArrivesWhateverBecameOfTheFrames(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]sim.Fault{
		"a rate":            {Kind: sim.Refuse, Code: 230020, Text: "limit", Times: 2},
		"a wrong number":    {Kind: sim.Refuse, Code: 300317, Text: "sequence number compare failed", Times: 2},
		"streaming over":    {Kind: sim.Refuse, Code: 200850, Text: "card streaming timeout", Times: 1},
		"streaming closed":  {Kind: sim.Refuse, Code: 300309, Text: "streaming mode is closed", Times: 1},
		"commit then drop":  {Kind: sim.Lose, Times: 2},
		"nothing gets over": {Kind: sim.Drop, Times: 2},
		"a foreign page":    {Kind: sim.BadPage, Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			c := sender(t, s)
			ref, err := c.send(t.Context(), row("live", growing("", "working")))
			must(t, err)
			s.Fail(f)
			end := chat.Out{Op: chat.OpEdit, Target: ref, Part: growing("some", "working")}
			_, _ = c.send(t.Context(), end)
			end.Op, end.Part = chat.OpFinish, answer("all of it")
			for try := 0; ; try++ {
				_, err = c.send(t.Context(), end)
				if err == nil {
					break
				}
				if code := chat.CodeOf(err); try > 5 || code != chat.Wait && code != chat.Network && code != chat.Conflict && code != chat.Uncertain {
					t.Fatalf("try %d: %v", try, err)
				}
			}
			if seen := s.Shown(direct)[0]; seen.Open || seen.Text != "all of it" {
				t.Errorf("%+v", seen)
			}
			for _, call := range s.Calls() {
				if call.Code == 300317 && !strings.HasPrefix(call.Error, "fault") {
					t.Errorf("a number was used twice: %+v", call)
				}
			}
		})
	}
}

func TestWithoutCardKitAnOrdinaryCardGrows(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.Withdraw(appID, "cardkit:card:write")
	c := sender(t, s)
	ref, err := c.send(t.Context(), row("live", growing("", "working")))
	must(t, err)
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpEdit, Target: ref, Part: growing("some", "working")})
	must(t, err)
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpFinish, Target: ref, Part: answer("all")})
	must(t, err)
	if seen := s.Shown(direct); len(seen) != 1 || seen[0].Text != "all" || seen[0].Open || seen[0].Entity != "" {
		t.Errorf("%+v", seen)
	}
}

func TestRepliesGoToTheirThreadAndFilesKeepTheirName(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.AddChat("oc_topics", sim.Topic, "Topics", []string{appID}, anna)
	root, _ := s.Say(sim.Say{App: appID, Chat: "oc_topics", From: anna, Text: "question", Quiet: true})
	c := sender(t, s)
	o := row("a", answer("answer"))
	o.Place.Chat, o.Place.Direct, o.Place.Thread = "oc_topics", false, root
	_, err := c.send(t.Context(), o)
	must(t, err)
	o.Key, o.Part = "f", chat.Part{File: &chat.OutFile{Name: "报告.md", Body: []byte("# all of it")}}
	_, err = c.send(t.Context(), o)
	must(t, err)
	seen := s.Shown("oc_topics")
	if len(seen) != 3 || seen[1].Thread == "" || seen[1].Thread != seen[0].Thread || seen[2].Thread != seen[0].Thread {
		t.Fatalf("%+v", seen)
	}
	if seen[2].File != "报告.md" || string(seen[2].Body) != "# all of it" {
		t.Errorf("%+v", seen[2])
	}
}

func TestLongAnswersAreCardsWithinTheLimitsOrAFile(t *testing.T) {
	t.Parallel()
	table := "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
	for name, md := range map[string]string{
		"twelve tables":   strings.Repeat("words\n\n"+table, 12),
		"60 KB":           strings.Repeat(strings.Repeat("word ", 40)+"\n\n", 300),
		"CJK":             strings.Repeat("这是一个很长的回答，包含许多汉字。", 800),
		"special marks":   strings.Repeat("*_~`<>[]#|$! ", 900),
		"foreign at":      `hello <at id="ou_stranger"></at> and ![x](https://example.com/x.png) and [f](file:///etc)`,
		"table in quote":  "> " + strings.ReplaceAll(table, "\n", "\n> "),
		"a table in code": "```\n" + strings.Repeat(table, 8) + "```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			c := sender(t, s)
			for i, p := range (form{}).render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md}) {
				if _, err := c.send(t.Context(), row(fmt.Sprint(i), p)); err != nil {
					t.Errorf("part %d: %v", i, err)
				}
			}
			for _, call := range s.Calls() {
				if !call.OK {
					t.Errorf("refused: %+v", call)
				}
			}
		})
	}
}

func TestButtonsCarryTheirNames(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := sender(t, s)
	p := form{}.render(chat.Reply{Kind: chat.ReplyAsk, Markdown: "May I?", Buttons: [][]chat.Button{
		{{Label: "Allow", Data: "ask:1:allow", Style: "primary"}, {Label: "Deny", Data: "ask:1:deny", Style: "danger"}, {Label: "Copy", Copy: "x"}}}})[0]
	ref, err := c.send(t.Context(), row("a", p))
	must(t, err)
	bs := s.Shown(direct)[0].Buttons
	if len(bs) != 2 || bs[0].Label != "Allow" || bs[0].Value["data"] != "ask:1:allow" {
		t.Fatalf("%+v", bs)
	}
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpEdit, Target: ref, Part: form{}.render(chat.Reply{Kind: chat.ReplyNotice, Markdown: "Allowed by Anna"})[0]})
	must(t, err)
	if seen := s.Shown(direct)[0]; seen.Text != "Allowed by Anna" || len(seen.Buttons) != 0 {
		t.Errorf("%+v", seen)
	}
}

func TestAUUIDIsShortAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	if a, b := uuid("turn/1/1"), uuid("turn/1/2"); len(a) > 50 || a == b || a != uuid("turn/1/1") {
		t.Errorf("%q, %q", a, b)
	}
	if !json.Valid(encode(format{Markdown: "x"})) {
		t.Error("no JSON")
	}
}
