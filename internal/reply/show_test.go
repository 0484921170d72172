package reply_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/fake"
	"cligate/internal/reply"
)

// reacting are the traits of a service with reactions.
func reacting() platform.Traits {
	t := traits
	t.React = true
	return t
}

// busy plays a turn with everything that can be shown.
func busy(l *reply.Live) {
	l.Event(chat.Event{Kind: chat.EventSent})
	l.Event(chat.Event{Kind: chat.EventThought, Text: "first I think\naloud"})
	l.Event(chat.Event{Kind: chat.EventPlan, Plan: []chat.Step{{Text: "look", Done: true}, {Text: "change"}}})
	for i := range 6 {
		l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: fmt.Sprint(i), Name: "Bash", Title: fmt.Sprintf("step %d", i), State: chat.ToolDone}})
	}
	l.Event(chat.Event{Kind: chat.EventText, Text: "so far so good"})
}

func TestWhatIsShownOfARunningTurnIsChosen(t *testing.T) {
	for v, c := range map[chat.Verbosity]struct{ there, not []string }{
		chat.VerbosityStatus: {[]string{"working", "steps: 6"}, []string{"so far", "step 5", "change", "think"}},
		chat.VerbositySteps:  {[]string{"working", "☑ look", "☐ change", "✓ Bash: step 5", "so far so good"}, []string{"step 1", "think aloud"}},
		chat.VerbosityAll:    {[]string{"so far so good", "panel Thinking: first I think|aloud", "panel Tools: ✓ Bash: step 0|"}, nil},
	} {
		t.Run(string(v), func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				tn := turnOf(h.place("1", true), 1)
				l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo", Verbosity: v})
				busy(l)
				sleep(5 * time.Second)
				got := strings.Join(h.tg.Texts("1"), "\n")
				for _, w := range c.there {
					if !strings.Contains(got, w) {
						t.Errorf("no %q in\n%s", w, got)
					}
				}
				for _, w := range c.not {
					if strings.Contains(got, w) {
						t.Errorf("%q in\n%s", w, got)
					}
				}
				if b := h.tg.Messages("1")[0].Part.Buttons; len(b) != 1 || b[0][0].Data != "stop:1" {
					t.Errorf("no way to stop it: %v", b)
				}
				h.finish(l, tn, "the answer")
				sleep(time.Minute)
				h.want("1", "done · 3s", "the answer")
			})
		})
	}
}

func TestAQuietChatSeesTheAnswerOnly(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo", Verbosity: chat.VerbosityFinal})
		busy(l)
		stream(l, 300, 100*time.Millisecond)
		if n := len(h.tg.Calls()); n != 0 {
			t.Errorf("%d calls", n)
		}
		if len(h.tg.Signals()) == 0 {
			t.Error("no sign of life either")
		}
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.want("1", "the answer")
	})
}

func TestALineIsNotEditedForTextThatItDoesNotShow(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo", Verbosity: chat.VerbosityStatus})
		stream(l, 280, 100*time.Millisecond)
		if n := len(h.tg.Calls()); n > 7 { // the time that passed, every 5 s
			t.Errorf("%d calls in 28 s", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

// asked is a turn that a message of the place asked for.
func asked(p chat.Place, id int64) chat.Turn {
	t := turnOf(p, id)
	t.ReplyTo = chat.Ref{ID: fmt.Sprint(900 + id), Chat: p.Chat, Num: 900 + id}
	t.CreatedAt = time.Now()
	return t
}

// signs are the reactions that the service was asked for.
func (h *house) signs() []string {
	var out []string
	for _, c := range h.tg.Signals() {
		if s, ok := strings.CutPrefix(c.Out.Part.Text, string(chat.SignalReact)); ok {
			out = append(out, c.Out.Target.ID+s)
		}
	}
	return out
}

func (h *house) wantSigns(want ...string) {
	h.t.Helper()
	if got := h.signs(); !slices.Equal(got, want) {
		h.t.Errorf("signs %q, want %q", got, want)
	}
}

func TestAMessageShowsHowItsTurnStands(t *testing.T) {
	for name, c := range map[string]struct {
		play func(h *house, l *reply.Live)
		end  chat.Sign
		want []string
	}{
		"works": {func(_ *house, l *reply.Live) {
			l.Event(chat.Event{Kind: chat.EventSent})
			sleep(5 * time.Second)
		}, chat.SignDone, []string{"901✍", "901👌"}},
		"the agent takes long to start": {func(_ *house, l *reply.Live) {
			sleep(5 * time.Second)
			l.Event(chat.Event{Kind: chat.EventSent})
			sleep(5 * time.Second)
		}, chat.SignFailed, []string{"901👀", "901💔"}},
		"waits for a person": {func(_ *house, l *reply.Live) {
			l.Event(chat.Event{Kind: chat.EventSent})
			sleep(2 * time.Second)
			l.Waiting(true)
			sleep(2 * time.Second)
		}, chat.SignStopped, []string{"901✍", "901🤔", "901🫡"}},
		"waits for a person again and again": {func(_ *house, l *reply.Live) {
			l.Event(chat.Event{Kind: chat.EventSent})
			for i := range 20 {
				l.Waiting(i%2 == 1)
				sleep(2 * time.Second)
			}
		}, chat.SignDone, []string{"901✍", "901🤔", "901👌"}},
		"answered at once": {func(*house, *reply.Live) { sleep(300 * time.Millisecond) }, chat.SignDone, nil},
		"queued, then answered at once": {func(h *house, _ *reply.Live) {
			h.voice.Sign(asked(h.place("1", true), 1), chat.SignQueued, nil)
			sleep(300 * time.Millisecond)
		}, chat.SignDone, []string{"901😴", "901👌"}},
		"back to the queue at the end of the daemon": {func(_ *house, l *reply.Live) {
			l.Event(chat.Event{Kind: chat.EventSent})
			sleep(2 * time.Second)
		}, chat.SignNone, []string{"901✍"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, reacting(), func(h *house) {
				tn := asked(h.place("1", true), 1)
				l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
				c.play(h, l)
				l.End("line", c.end)
				sleep(time.Minute)
				h.wantSigns(c.want...)
			})
		})
	}
}

func TestASignThatCannotBeShownIsToldOnceAndCostsNoFurtherCall(t *testing.T) {
	bubble(t, reacting(), func(h *house) {
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Part.Text == string(chat.SignalReact) {
				return fake.Outcome{Err: chat.E(chat.Unsupported, "", nil)}
			}
			return fake.Outcome{}
		})
		tn := asked(h.place("1", true), 1)
		var told atomic.Int64
		h.voice.Sign(tn, chat.SignQueued, func() { told.Add(1) })
		sleep(time.Second)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 50, 100*time.Millisecond)
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.wantSigns("901😴")
		if told.Load() != 1 {
			t.Errorf("told %d times", told.Load())
		}
		h.want("1", "done · 3s", "the answer")
	})
}

func TestWithoutReactionsNothingIsShownAndThatIsTold(t *testing.T) {
	bubble(t, reacting(), func(h *house) {
		h.stop()
		h.cfg.NoReactions = true
		h.start()
		tn := asked(h.place("1", true), 1)
		var told atomic.Int64
		h.voice.Sign(tn, chat.SignQueued, func() { told.Add(1) })
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 50, 100*time.Millisecond)
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.wantSigns()
		if told.Load() != 1 {
			t.Errorf("told %d times", told.Load())
		}
	})
}

func TestASignOfAnEarlierLifeIsReplaced(t *testing.T) {
	bubble(t, reacting(), func(h *house) {
		p := h.place("1", true)
		a, b := asked(p, 1), asked(p, 2)
		h.voice.Sign(a, chat.SignQueued, nil)
		h.voice.Sign(b, chat.SignQueued, nil)
		sleep(10 * time.Second)
		h.stop()
		h.start()
		l := h.voice.Begin(a, chat.Look{Lang: "en", Agent: "demo"})
		h.finish(l, a, "answered at once") // though nothing is known here of its sign
		h.voice.Sign(b, chat.SignFailed, nil)
		sleep(time.Minute)
		got := h.signs()
		slices.Sort(got)
		if want := []string{"901👌", "901😴", "902💔", "902😴"}; !slices.Equal(got, want) {
			t.Errorf("signs %q", got)
		}
	})
}

func TestSignsWaitWhereTheChatHasToWait(t *testing.T) {
	bubble(t, reacting(), func(h *house) {
		var refused atomic.Bool
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Part.Text == string(chat.SignalReact) && refused.CompareAndSwap(false, true) {
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 20 * time.Second}}
			}
			return fake.Outcome{}
		})
		p := h.place("1", true)
		began := time.Now()
		h.voice.Sign(asked(p, 1), chat.SignQueued, nil)
		sleep(time.Second)
		h.say(p, "n/1", "a notice")
		h.voice.Sign(asked(p, 2), chat.SignQueued, nil)
		sleep(time.Minute)
		for _, c := range append(h.tg.Calls(), h.tg.Signals()[1:]...) {
			if c.At.Sub(began) < 20*time.Second {
				t.Errorf("%q %v after the start", c.Out.Part.Text, c.At.Sub(began))
			}
		}
		h.wantSigns("901😴", "902😴")
	})
}

func TestAWaitToldToAnEditIsObeyedByTheNextProcessThoughNoRowKnowsOfIt(t *testing.T) {
	bubble(t, traits, func(h *house) {
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Op == chat.OpEdit {
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 40 * time.Second}}
			}
			return fake.Outcome{}
		})
		p := h.place("1", true)
		tn := turnOf(p, 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 60, 100*time.Millisecond)
		calls := h.tg.Calls()
		told := calls[len(calls)-1]
		if chat.CodeOf(told.Err) != chat.Wait {
			t.Fatalf("the last call is %+v", told)
		}
		h.stop()
		h.start()
		h.say(p, "n/1", "words of the next process")
		sleep(2 * time.Minute)
		after := h.tg.Calls()[len(calls):]
		if len(after) != 1 || after[0].At.Sub(told.At) < 40*time.Second {
			t.Errorf("calls of the next process: %+v", after)
		}
	})
}

func TestWordsOvertakeTheFirstPostOfALiveMessage(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		for i := range 4 { // the budget is used up
			h.say(p, fmt.Sprintf("n/%d", i), "notice")
		}
		l := h.voice.Begin(turnOf(p, 1), chat.Look{Lang: "en", Agent: "demo"})
		sleep(1100 * time.Millisecond) // its post is stored, and waits
		h.say(p, "n/9", "more words")
		sleep(10 * time.Second)
		got := h.tg.Texts("1")
		if len(got) != 6 || got[4] != "more words" {
			t.Errorf("shows %q", got)
		}
		h.finish(l, turnOf(p, 1), "over")
		sleep(time.Minute)
	})
}

func TestManyToolCallsAreShownAtThePaceOfEdits(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		for i := range 50 {
			tool := chat.Tool{ID: fmt.Sprint(i), Name: "Bash", Title: fmt.Sprintf("step %d", i), State: chat.ToolRunning}
			l.Event(chat.Event{Kind: chat.EventTool, Tool: &tool})
			sleep(50 * time.Millisecond)
			tool.State = chat.ToolDone
			l.Event(chat.Event{Kind: chat.EventTool, Tool: &tool})
			sleep(50 * time.Millisecond)
		}
		if n := len(h.tg.Calls()); n < 3 || n > 4 {
			t.Errorf("%d calls in 5 s", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}
