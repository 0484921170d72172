package feishu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	sim "cligate/internal/sim/feishu"
)

// From an entity down to a file: whatever the service does not take, the words
// arrive, once, and nothing goes on saying that more is to come.
func TestTheAnswerArrivesInWhateverFormIsTaken(t *testing.T) {
	t.Parallel()
	tooLong := sim.Fault{Kind: sim.Refuse, Code: 200860, Text: "card content exceeds the limit"}
	refused := sim.Fault{Kind: sim.Refuse, Code: 230099, Text: "ext=ErrCode: 200621; ErrMsg: parse card json err;"}
	on := func(f sim.Fault, method string, times int) sim.Fault {
		f.Method, f.Times = method, times
		return f
	}
	crowd := newCrowd(t)
	defer crowd.wait()
	for name, c := range map[string]struct {
		before, after func(s *sim.Server) // the live message, its end
		kinds         string              // of what is left, in order
	}{
		"an entity": {kinds: "interactive"},
		"no CardKit: an ordinary card is changed": {
			before: func(s *sim.Server) { s.Withdraw(appID, "cardkit:card:write") }, kinds: "interactive"},
		"no card at all: a text that makes room for a new one": {
			before: func(s *sim.Server) {
				s.Fail(on(refused, "card.create", 1))
				s.Fail(on(refused, "message.create", 1))
			}, kinds: "interactive"},
		"the end is refused once: plain words on the card": {
			after: func(s *sim.Server) { s.Fail(on(tooLong, "card.update", 1)) }, kinds: "interactive"},
		"the end is refused: words of their own": {
			after: func(s *sim.Server) { s.Fail(on(tooLong, "card.update", 0)) }, kinds: "interactive text"},
		"nothing but a file": {
			after: func(s *sim.Server) {
				s.Fail(on(tooLong, "card.update", 0))
				s.Fail(sim.Fault{Kind: sim.Refuse, Method: "message.create", Code: 230028, Text: "DLP", Times: 1})
			}, kinds: "interactive file"},
		"the right is taken away: the card goes, the words are said": {
			after: func(s *sim.Server) { s.Withdraw(appID, "cardkit:card:write") }, kinds: "interactive"},
	} {
		crowd.run(name, func(t *testing.T) {
			h := furnished(t)
			if c.before != nil {
				c.before(h.s)
			}
			l, tn := h.begin(1, "")
			h.stream(l, 10)
			h.until("something is shown", func() bool { return len(h.bot()) > 0 })
			h.stream(l, 10)
			h.s.Wait(2*time.Second, func() bool { return strings.Contains(h.bot()[0].Text, "Piece 9 of **it**. Piece 0") })
			if c.after != nil {
				c.after(h.s)
			}
			text := strings.TrimSpace(l.Text())
			l.End("done · 1s", chat.SignDone)
			h.end(tn, inWords(text))
			h.settled()
			var kinds []string
			shown := ""
			for _, m := range h.bot() {
				kinds = append(kinds, m.Type)
				if m.Open {
					t.Errorf("still open: %+v", m)
				}
				shown = m.Text + string(m.Body)
			}
			if got := strings.Join(kinds, " "); got != c.kinds {
				t.Errorf("%s, want %s: %+v", got, c.kinds, h.bot())
			}
			if shown = strings.NewReplacer("*", "", "&#42;", "").Replace(shown); !strings.Contains(shown, strings.ReplaceAll(text, "*", "")) {
				t.Errorf("not the answer: %q", shown)
			}
		})
	}
}

func TestAnOrdinaryCardChangesRarelyAndATextMoreRarely(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.Withdraw(appID, "cardkit:card:write")
	c := sender(t, s)
	now := time.Now()
	c.now = func() time.Time { return now }
	ref, err := c.send(t.Context(), row("live", growing("", "working")))
	must(t, err)
	edit := func(text string) error {
		_, err := c.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutProgress, Target: ref, Part: growing(text, "working")})
		return err
	}
	must(t, edit("one"))
	if err := edit("two"); chat.CodeOf(err) != chat.Wait || chat.AfterOf(err) <= 0 {
		t.Errorf("%v", err)
	}
	now = now.Add(1500 * time.Millisecond)
	must(t, edit("two"))
	if err := edit("three"); chat.CodeOf(err) != chat.Wait {
		t.Errorf("%v", err)
	}
	_, err = c.send(t.Context(), chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: answer("all")})
	must(t, err) // an end does not wait
}

func TestStreamingIsOpenedAnewBeforeTheServiceClosesIt(t *testing.T) {
	t.Parallel()
	s := service(t)
	c := sender(t, s)
	skew := time.Duration(0)
	c.now = func() time.Time { return time.Now().Add(skew) }
	ref, err := c.send(t.Context(), row("live", growing("", "working")))
	must(t, err)
	text := "begun"
	for range 12 { // half an hour and more
		text += " and on"
		_, err := c.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutProgress, Target: ref, Part: growing(text, "working")})
		must(t, err)
		skew += 3 * time.Minute
		s.Pass(3 * time.Minute)
	}
	for _, call := range s.Calls() {
		if !call.OK {
			t.Errorf("refused: %+v", call)
		}
	}
	if seen := s.Shown(direct)[0]; !seen.Open || !strings.Contains(seen.Text, text) {
		t.Errorf("%+v", seen)
	}
}

// A machine whose clock is set back must not use a number twice for long.
func TestANumberThatTheClockMakesTooLowIsRaised(t *testing.T) {
	t.Parallel()
	s := service(t)
	first := sender(t, s)
	ref, err := first.send(t.Context(), row("live", growing("", "working")))
	must(t, err)
	for _, text := range []string{"a", "a b", "a b c"} {
		first.now = func() time.Time { return time.Now().Add(time.Hour) }
		_, err := first.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutProgress, Target: ref, Part: growing(text, "working")})
		must(t, err)
	}
	next := sender(t, s)
	next.now = func() time.Time { return time.Now().Add(-time.Hour) }
	end := chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: answer("the end")}
	for try := 0; ; try++ {
		if _, err = next.send(t.Context(), end); err == nil {
			break
		}
		if try > 30 || chat.CodeOf(err) != chat.Conflict {
			t.Fatalf("try %d: %v", try, err)
		}
		s.Pass(time.Second) // the sender waits between two tries
	}
	if seen := s.Shown(direct)[0]; seen.Open || seen.Text != "the end" {
		t.Errorf("%+v", seen)
	}
}

// What an earlier process left is ended without its text being known, and doing
// so twice is the same.
func TestTheEndKeepsWhatACardShowsHoweverOftenItIsMade(t *testing.T) {
	t.Parallel()
	retry := [][]chat.Button{{{Label: "Retry", Data: "retry:1"}}}
	for name, c := range map[string]struct {
		bs   [][]chat.Button
		live [][]chat.Button
		kept bool
	}{
		"with an offer":           {retry, [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}, true},
		"without one":             {nil, [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}, true},
		"of a card of other form": {retry, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			first := sender(t, s)
			live := growing("what was said", "working")
			live.Buttons = c.live
			ref, err := first.send(t.Context(), row("live", live))
			must(t, err)
			_, err = first.send(t.Context(), chat.Out{Op: chat.OpEdit, Class: chat.OutProgress, Target: ref, Part: live})
			must(t, err)
			end := chat.Out{Op: chat.OpFinish, Class: chat.OutFinal, Target: ref, Part: form{}.render(chat.Reply{Kind: chat.ReplyNotice, Markdown: "It was interrupted.", Buttons: c.bs})[0]}
			end.Part.Keep = true
			for range 2 {
				s.Fail(sim.Fault{Kind: sim.Lose, Method: "card.settings", Times: 1})
				next := sender(t, s)
				for try := 0; ; try++ {
					s.Pass(time.Second) // the service's own pace
					if _, err := next.send(t.Context(), end); err == nil {
						break
					} else if try > 2 {
						t.Fatal(err)
					}
				}
				s.Heal()
			}
			seen := s.Shown(direct)[0]
			if seen.Open || strings.Count(seen.Text, "It was interrupted.") != 1 || strings.Contains(seen.Text, "what was said") != c.kept ||
				strings.Contains(seen.Text, "working") || len(seen.Buttons) != len(c.bs) {
				t.Errorf("%+v", seen)
			}
			if card := s.Cards()[seen.Entity]; card.Summary != "It was interrupted." {
				t.Errorf("summary %q", card.Summary)
			}
		})
	}
}

func TestAnAnswerThatEndsInAFileIsInItAsAWhole(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	l, tn := h.begin(1, "")
	paragraph := "Paragraph %d is " + strings.Repeat("of many words ", 25) + "\n\n"
	for i := range 40 {
		l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf(paragraph, i)})
	}
	h.until("there are two cards", func() bool { return len(h.bot()) > 1 })
	for i := range 120 { // more than cards are made for
		l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf(paragraph, 40+i)})
	}
	text := strings.TrimSpace(l.Text())
	l.End("done · 1s", chat.SignDone)
	h.end(tn, inWords(text))
	h.settled()
	b := h.bot()
	if last := b[len(b)-1]; last.Type != "file" || strings.TrimSpace(string(last.Body)) != text {
		t.Errorf("%d messages, the last one is %s of %d bytes, want %d", len(b), last.Type, len(last.Body), len(text))
	}
	h.closed()
}
