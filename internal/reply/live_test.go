package reply_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/fake"
)

func TestAQuickAnswerCostsOneCall(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		tn := turnOf(p, 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		time.Sleep(500 * time.Millisecond)
		l.Event(chat.Event{Kind: chat.EventText, Text: "four"})
		time.Sleep(200 * time.Millisecond)
		h.finish(l, tn, l.Text())
		sleep(time.Minute)
		h.want("1", "four")
		if n := len(h.tg.Calls()) + len(h.tg.Signals()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestProgressAppearsAfterTheQuietPeriod(t *testing.T) {
	for _, c := range []struct {
		rule        string
		text, shown time.Duration
	}{
		{"without text", time.Hour, 800 * time.Millisecond},
		{"soon after the first text", 100 * time.Millisecond, 350 * time.Millisecond},
		{"text late in the quiet period", 700 * time.Millisecond, 800 * time.Millisecond},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				tn := turnOf(h.place("1", true), 1)
				began := time.Now()
				l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
				go func() { // ends by itself
					time.Sleep(c.text)
					l.Event(chat.Event{Kind: chat.EventText, Text: "some text"})
				}()
				sleep(2 * time.Second)
				calls := h.tg.Calls()
				if len(calls) == 0 || calls[0].At.Sub(began).Round(10*time.Millisecond) != c.shown {
					t.Errorf("first call: %+v", calls)
				}
				if b := calls[0].Out.Part.Buttons; len(b) != 1 || b[0][0].Data != "stop:1" {
					t.Errorf("buttons: %v", b)
				}
				h.finish(l, tn, "over")
				sleep(2 * time.Hour)
			})
		})
	}
}

func TestTheFinalFollowsTheProgressWhichShrinksToOneLine(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "a", Name: "Bash", Title: "go test ./...", State: chat.ToolRunning}})
		sleep(time.Second)
		if got := h.tg.Texts("1"); len(got) != 1 || !strings.Contains(got[0], "Bash: go test ./...") {
			t.Errorf("progress shows %q", got)
		}
		stream(l, 100, 50*time.Millisecond)
		text := l.Text()
		h.finish(l, tn, text)
		sleep(time.Minute)
		h.want("1", "done · 3s", strings.TrimSpace(text))
		m := h.tg.Messages("1")
		if len(m[0].Part.Buttons) != 0 || m[0].Part.Silent == m[1].Part.Silent {
			t.Errorf("the line has buttons, or the final makes no sound: %+v", m)
		}
	})
}

func TestEditsAreLatestWinsAndPaced(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 2000, 2650*time.Microsecond)
		h.finish(l, tn, "over")
		sleep(time.Minute)
		calls := h.tg.Calls()
		for i := range calls {
			if i >= 3 && calls[i].At.Sub(calls[i-3].At) < time.Second {
				t.Errorf("4 calls within %v", calls[i].At.Sub(calls[i-3].At))
			}
			if i >= 5 && calls[i].At.Sub(calls[i-5].At) < 3*time.Second {
				t.Errorf("6 calls within %v", calls[i].At.Sub(calls[i-5].At))
			}
		}
		if len(calls) < 5 || len(calls) > 9 {
			t.Errorf("%d calls in 5 s", len(calls))
		}
	})
}

func TestEditsGetRarerInALongTurn(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		from := func() int { return len(h.tg.Calls()) }
		stream(l, 200, 100*time.Millisecond) // 20 s
		a := from()
		stream(l, 400, 100*time.Millisecond) // until 60 s
		b := from()
		stream(l, 3000, 100*time.Millisecond) // until 6 min
		c := from()
		stream(l, 600, 100*time.Millisecond) // until 7 min
		d := from()
		if a < 10 || a > 15 || b-a > 15 || c-b < 40 || d-c > 7 || d-c < 5 {
			t.Errorf("calls: %d in 20 s, %d in the next 40 s, %d in the next 5 min, %d in the last", a, b-a, c-b, d-c)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestASilentToolShowsTheElapsedTime(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "a", Name: "Bash", Title: "make", State: chat.ToolRunning}})
		sleep(90 * time.Second)
		if got := h.tg.Texts("1"); !strings.Contains(got[0], "1m 30s") && !strings.Contains(got[0], "1m 15s") {
			t.Errorf("shows %q", got)
		}
		if n := len(h.tg.Calls()); n > 25 {
			t.Errorf("%d calls", n)
		}
		if n := len(h.tg.Signals()); n < 20 || n > 24 {
			t.Errorf("%d signs of life in 90 s", n)
		}
		l.Waiting(true)
		sleep(5 * time.Second)
		before := len(h.tg.Signals())
		if got := h.tg.Texts("1"); !strings.Contains(got[0], "waiting for you") {
			t.Errorf("shows %q", got)
		}
		sleep(time.Minute)
		if n := len(h.tg.Signals()); n != before {
			t.Errorf("%d signs of life while waiting", n-before)
		}
		h.finish(l, tn, "over")
		sleep(time.Hour)
		if n := len(h.tg.Signals()); n != before {
			t.Errorf("%d signs of life after the end", n-before)
		}
	})
}

func TestProgressGoesOnWhenARequestIsDecided(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 50, 100*time.Millisecond)
		l.Waiting(true)
		sleep(time.Minute)
		if got := h.tg.Texts("1"); !strings.Contains(got[0], "waiting for you") {
			t.Errorf("shows %q", got)
		}
		signs := len(h.tg.Signals())
		l.Waiting(false)
		l.Event(chat.Event{Kind: chat.EventText, Text: "now I go on"})
		sleep(15 * time.Second)
		if got := h.tg.Texts("1"); strings.Contains(got[0], "waiting for you") || !strings.Contains(got[0], "now I go on") {
			t.Errorf("shows %q", got)
		}
		if len(h.tg.Signals()) == signs {
			t.Error("no sign of life any more")
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestTypingStopsAtTheFirstError(t *testing.T) {
	bubble(t, traits, func(h *house) {
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Part.Text == "typing" {
				return fake.Outcome{Err: chat.E(chat.Park, "", nil)}
			}
			return fake.Outcome{}
		})
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		sleep(time.Minute)
		if n := len(h.tg.Signals()); n != 1 {
			t.Errorf("%d signs of life", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestFailingEditsNeverMakeAMessage(t *testing.T) {
	for _, code := range []chat.Code{chat.Network, chat.Gone, chat.GiveUp, chat.Degrade, chat.Internal, chat.Uncertain} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				var failed atomic.Int64
				h.tg.Script(func(o chat.Out) fake.Outcome {
					if o.Op == chat.OpEdit {
						failed.Add(1)
						return fake.Outcome{Err: chat.E(code, "", nil)}
					}
					return fake.Outcome{}
				})
				tn := turnOf(h.place("1", true), 1)
				l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
				stream(l, 300, 100*time.Millisecond)
				if n := len(h.tg.Calls()); n > 9 {
					t.Errorf("%d calls in 30 s", n)
				}
				for before, i := failed.Load(), 0; failed.Load() == before && i < 5000; i++ { // just after a failure
					stream(l, 1, 50*time.Millisecond)
				}
				h.finish(l, tn, "the answer")
				sleep(100 * time.Millisecond)
				if m := h.tg.Messages("1"); len(m) != 2 || m[1].Part.Text != "the answer" {
					t.Errorf("the final waits for an edit: %+v", m)
				}
				sleep(2 * time.Minute)
				h.want("1", "done · 3s", "the answer")
			})
		})
	}
}

func TestAnUnsentProgressMessageIsDroppedWhenTheTurnIsOver(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		for i := range 3 { // uses the budget up
			h.say(p, fmt.Sprintf("n/%d", i), "notice")
		}
		synctest.Wait()
		tn := turnOf(p, 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		time.Sleep(900 * time.Millisecond) // stored, and waits for the budget
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.want("1", "notice", "notice", "notice", "the answer")
		if n := len(h.tg.Calls()); n != 4 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestATurnThatEndsWhileItsProgressIsBeingSentShrinksIt(t *testing.T) {
	bubble(t, traits, func(h *house) {
		h.tg.Script(func(o chat.Out) fake.Outcome { return fake.Outcome{Delay: 2 * time.Second} })
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		time.Sleep(1500 * time.Millisecond)
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.want("1", "done · 3s", "the answer")
	})
}

func TestALiveMessageOfADeadProcessIsTakenOverOrEnded(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		a, b := turnOf(p, 1), turnOf(p, 2)
		h.voice.Begin(a, chat.Look{Lang: "en", Agent: "demo"}).Event(chat.Event{Kind: chat.EventText, Text: "from the first life"})
		h.voice.Begin(b, chat.Look{Lang: "en", Agent: "demo"})
		sleep(5 * time.Second)
		h.stop()
		h.start() // the turns are not ended: the process was killed
		l := h.voice.Begin(a, chat.Look{Lang: "en", Agent: "demo"})
		h.enqueue(h.voice.Compose(p, b.ID, "final/2", chat.OutFinal, chat.Reply{Markdown: "interrupted"}))
		sleep(time.Second)
		l.Event(chat.Event{Kind: chat.EventText, Text: "from the second life"})
		sleep(5 * time.Second)
		got := h.tg.Texts("1")
		if len(got) != 3 || !strings.Contains(got[0], "second life") || got[1] != "This turn is over." || got[2] != "interrupted" {
			t.Errorf("shows %q", got)
		}
		h.finish(l, a, "the answer")
		sleep(time.Minute)
		h.want("1", "done · 3s", "This turn is over.", "interrupted", "the answer")
	})
}

func TestOneProgressMessageHoweverOftenTheTextGrows(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("g", false), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "zh", Agent: "demo"})
		stream(l, 600, 100*time.Millisecond)
		if n := len(h.tg.Messages("g")); n != 1 {
			t.Errorf("%d messages", n)
		}
		if n := len(h.tg.Calls()); n > 12 { // a group: one edit in 6 s
			t.Errorf("%d calls in a minute", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestALocalReaderSeesTheTextAsItComes(t *testing.T) {
	local := traits
	local.Local, local.ProgressEvery = true, 100*time.Millisecond
	local.PerChat.Every, local.PerAccount.Every = 0, 0
	bubble(t, local, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 100, 50*time.Millisecond)
		if n := len(h.tg.Calls()); n < 40 || n > 52 {
			t.Errorf("%d calls in 5 s", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestWhatNobodyCanSeeIsNoEdit(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		l.Event(chat.Event{Kind: chat.EventText, Text: "text"})
		for range 45 {
			l.Event(chat.Event{Kind: chat.EventText, Text: strings.Repeat("\n", 50)})
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(h.tg.Calls()); n != 1 {
			t.Errorf("%d calls in 4.5 s", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestWordsDoNotWaitForProgress(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("g", false)
		var ends []func()
		for i := range 8 { // more than the group's budget allows
			tn := turnOf(p, int64(i+1))
			l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
			ends = append(ends, func() { h.finish(l, tn, "over") })
			go stream(l, 1200, 100*time.Millisecond) // ends by itself
		}
		sleep(time.Minute)
		for i := range 3 {
			h.say(p, fmt.Sprintf("n/%d", i), "notice")
			sleep(100 * time.Millisecond)
			if got := h.tg.Texts("g"); got[len(got)-1] != "notice" || len(got) != 9+i {
				t.Errorf("the notice waits: %q", got)
			}
			sleep(20 * time.Second)
		}
		sleep(time.Minute)
		for _, end := range ends {
			end()
		}
		sleep(5 * time.Minute)
	})
}
