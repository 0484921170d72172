package reply_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/fake"
	"cligate/internal/reply"
)

// growing are the traits of a service like Feishu.
func growing() platform.Traits {
	return platform.Traits{
		Edits: true, Buttons: true, Settles: true, React: true, Finishes: true, LiveFor: 8 * time.Minute,
		PerChat:       platform.Rate{Every: 250 * time.Millisecond, Burst: 4},
		PerGroup:      platform.Rate{Every: 250 * time.Millisecond, Burst: 4},
		PerAccount:    platform.Rate{Every: 65 * time.Millisecond, Burst: 20},
		ProgressEvery: 400 * time.Millisecond, ProgressEveryGroup: 400 * time.Millisecond,
	}
}

func look(v chat.Verbosity) chat.Look { return chat.Look{Lang: "en", Agent: "demo", Verbosity: v} }

func TestALiveMessageThatGrowsBecomesTheAnswer(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		p := h.place("1", true)
		tn := asked(p, 1)
		l := h.voice.Begin(tn, look(""))
		l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "a", Name: "Bash", Title: "go test", State: chat.ToolRunning}})
		sleep(time.Second)
		if m := h.tg.Messages("1"); len(m) != 1 || m[0].Part.ReplyTo != tn.ReplyTo {
			t.Errorf("the live message answers nothing: %+v", m)
		}
		stream(l, 100, 50*time.Millisecond)
		text := l.Text()
		l.End("done · 6s", chat.SignDone)
		h.enqueue(h.voice.Compose(p, 1, "final/1", chat.OutFinal,
			chat.Reply{Kind: chat.ReplyNotice, Markdown: "before"}, chat.Reply{Kind: chat.ReplyAnswer, Markdown: text, Footer: "5 tokens"}))
		sleep(time.Minute)
		h.want("1", strings.TrimSpace(text)+"\n\ndone · 6s\n5 tokens", "before")
		if m := h.tg.Messages("1"); len(m[0].Part.Buttons) != 0 {
			t.Errorf("it can still be stopped: %+v", m[0].Part.Buttons)
		}
		calls := h.tg.Calls()
		for i := range calls {
			if i >= 5 && calls[i].At.Sub(calls[i-5].At) < time.Second {
				t.Errorf("6 calls within %v", calls[i].At.Sub(calls[i-5].At))
			}
		}
		if len(calls) < 10 {
			t.Errorf("%d calls in 6 s: that is no growing", len(calls))
		}
	})
}

func TestTheAnswerIsANewMessageWhereNothingGrew(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		p := h.place("1", true)
		quick := turnOf(p, 1)
		h.finish(h.voice.Begin(quick, look("")), quick, "quick")
		sleep(time.Minute)
		silent := turnOf(p, 2)
		l := h.voice.Begin(silent, look(chat.VerbosityFinal))
		stream(l, 100, 100*time.Millisecond)
		h.finish(l, silent, "silent")
		// The row of a turn of an earlier process that never showed anything.
		h.enqueue(h.voice.Compose(p, 3, "final/3", chat.OutFinal, chat.Reply{Markdown: "interrupted"}))
		sleep(time.Minute)
		h.want("1", "quick", "silent", "interrupted")
		for _, m := range h.tg.Messages("1") {
			if m.Edits != 0 {
				t.Errorf("changed: %+v", m)
			}
		}
	})
}

func TestToolsStandBesideTheTextThatGrows(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, look(chat.VerbosityAll))
		busy(l)
		sleep(2 * time.Second)
		for _, c := range h.tg.Calls() {
			if !strings.HasPrefix(c.Out.Part.Text, "so far so good") {
				t.Errorf("the text is not the beginning: %q", c.Out.Part.Text)
			}
		}
		if got := h.tg.Texts("1")[0]; !strings.Contains(got, "✓ Bash: `step 5`") || !strings.Contains(got, "☐ change") {
			t.Errorf("shows %q", got)
		}
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		if got := h.tg.Texts("1"); len(got) != 1 || !strings.Contains(got[0], "panel Thinking: first I think|aloud") || !strings.Contains(got[0], "panel Tools: ✓ Bash: step 0|") {
			t.Errorf("the log is gone: %q", got)
		}
	})
}

// paragraphs is an answer that is told in pieces.
func paragraphs(l *reply.Live, n int, every time.Duration) {
	for i := range n {
		l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("Paragraph %04d of an answer that is long.\n\n", i)})
		sleep(every)
	}
}

func TestALongAnswerGoesOnInFurtherMessages(t *testing.T) {
	for name, every := range map[string]time.Duration{"by its length": 100 * time.Millisecond, "by its age": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, growing(), func(h *house) {
				tn := turnOf(h.place("1", true), 1)
				l := h.voice.Begin(tn, look(""))
				paragraphs(l, 200, every)
				if n := len(h.tg.Messages("1")); n < 2 {
					t.Errorf("%d messages", n)
				}
				text := l.Text()
				h.finish(l, tn, strings.TrimRight(text, "\n"))
				sleep(time.Minute)
				wantWhole(t, h, text)
			})
		})
	}
}

// wantWhole checks that the messages of chat 1 show text, each word once.
func wantWhole(t *testing.T, h *house, text string) {
	t.Helper()
	all := strings.Join(h.tg.Texts("1"), "\n\n")
	for _, word := range []string{"… goes on below", "done · 3s", "working"} {
		all = strings.ReplaceAll(all, word, "")
	}
	if got, want := strings.Fields(all), strings.Fields(text); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%d words shown, want %d:\n%s", len(got), len(want), all)
	}
	for _, m := range h.tg.Messages("1") {
		if len(m.Part.Buttons) != 0 {
			t.Errorf("a message is not closed: %q", m.Part.Text)
		}
	}
}

func TestATurnThatWaitsForAPersonMakesNoMessages(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, look(""))
		paragraphs(l, 3, time.Second)
		l.Waiting(true)
		sleep(3 * time.Hour)
		if n := len(h.tg.Messages("1")); n > 2 {
			t.Errorf("%d messages", n)
		}
		text := l.Text()
		h.finish(l, tn, strings.TrimRight(text, "\n"))
		sleep(time.Minute)
		wantWhole(t, h, text)
	})
}

func TestCodeThatGoesOnInAnotherMessageStaysCode(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, look(""))
		l.Event(chat.Event{Kind: chat.EventText, Text: "```go\n"})
		for i := range 300 {
			l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("    line%d()\n", i)})
			sleep(50 * time.Millisecond)
		}
		l.Event(chat.Event{Kind: chat.EventText, Text: "```\nthe end"})
		text := l.Text()
		h.finish(l, tn, text)
		sleep(time.Minute)
		ms := h.tg.Messages("1")
		if len(ms) < 2 {
			t.Fatalf("%d messages", len(ms))
		}
		all := strings.Join(h.tg.Texts("1"), "\n")
		for i := range 300 {
			if strings.Count(all, fmt.Sprintf("    line%d()", i)) != 1 {
				t.Errorf("line %d is there %d times", i, strings.Count(all, fmt.Sprintf("    line%d()", i)))
			}
		}
	})
}

func TestWhatClosesAMessageIsRetriedUntilItDoes(t *testing.T) {
	for _, code := range []chat.Code{chat.Network, chat.Uncertain, chat.Internal, chat.Conflict, chat.Wait} {
		for _, answer := range []string{"the answer", ""} {
			t.Run(fmt.Sprintf("%s/%q", code, answer), func(t *testing.T) {
				bubble(t, growing(), func(h *house) {
					tn := turnOf(h.place("1", true), 1)
					l := h.voice.Begin(tn, look(""))
					stream(l, 20, 100*time.Millisecond)
					healed := time.Now().Add(20 * time.Minute)
					h.tg.Script(func(o chat.Out) fake.Outcome {
						if o.Op == chat.OpFinish && time.Now().Before(healed) {
							return fake.Outcome{Err: &chat.Error{Code: code, After: time.Second}}
						}
						return fake.Outcome{}
					})
					l.End("done · 3s", chat.SignDone)
					var rs []chat.Reply
					if answer != "" {
						rs = append(rs, chat.Reply{Kind: chat.ReplyAnswer, Markdown: answer})
					}
					h.enqueue(h.voice.Compose(tn.Place, 1, "final/1", chat.OutFinal, rs...))
					sleep(time.Hour)
					h.want("1", strings.TrimSpace(answer+"\n\ndone · 3s"))
				})
			})
		}
	}
}

func TestAMessageThatCannotBeClosedIsRemovedAndTheWordsAreSaid(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, look(""))
		stream(l, 20, 100*time.Millisecond)
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Op == chat.OpFinish {
				return fake.Outcome{Err: chat.E(chat.GiveUp, "a right is missing", nil)}
			}
			return fake.Outcome{}
		})
		h.finish(l, tn, "the answer")
		sleep(time.Hour)
		h.want("1", "the answer\n\ndone · 3s")
		if len(h.dead) != 0 {
			t.Errorf("dead: %q", h.dead)
		}
	})
}

func TestAnAnswerWhoseLiveMessageIsGoneIsANewOne(t *testing.T) {
	for name, doubt := range map[string]bool{"for certain": false, "after a try that may have arrived": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, growing(), func(h *house) {
				tn := turnOf(h.place("1", true), 1)
				l := h.voice.Begin(tn, look(""))
				stream(l, 20, 100*time.Millisecond)
				tries := 0
				h.tg.Script(func(o chat.Out) fake.Outcome {
					if o.Op != chat.OpFinish {
						return fake.Outcome{}
					}
					if tries++; tries == 1 && doubt {
						return fake.Outcome{Err: chat.E(chat.Uncertain, "", nil)}
					}
					return fake.Outcome{Err: chat.E(chat.Gone, "", nil)}
				})
				h.finish(l, tn, "the answer")
				sleep(time.Hour)
				got := h.tg.Texts("1")
				if len(got) != 2 || !strings.Contains(got[1], "the answer") || strings.Contains(got[1], "Sent again") != doubt {
					t.Errorf("shows %q", got)
				}
			})
		})
	}
}

func TestEditsThatAreRefusedHoldNobodyElse(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		p := h.place("1", true)
		tn := turnOf(p, 1)
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Op == chat.OpEdit {
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Minute}}
			}
			return fake.Outcome{}
		})
		l := h.voice.Begin(tn, look(""))
		stream(l, 50, 100*time.Millisecond)
		h.say(p, "n", "notice")
		sleep(time.Second)
		if got := h.tg.Texts("1"); len(got) != 2 || got[1] != "notice" {
			t.Errorf("the notice waits: %q", got)
		}
		h.finish(l, tn, "the answer")
		sleep(2 * time.Second)
		if got := h.tg.Texts("1"); got[0] != "the answer\n\ndone · 3s" {
			t.Errorf("the answer waits: %q", got)
		}
		edits := 0
		for _, c := range h.tg.Calls() {
			if c.Out.Op == chat.OpEdit {
				edits++
			}
		}
		if edits != 1 {
			t.Errorf("%d edits in a minute that was to be waited", edits)
		}
	})
}

// A process is killed at each step of a last word; the next one closes the
// message, once.
func TestAKilledProcessLeavesNoMessageOpen(t *testing.T) {
	for name, c := range map[string]struct {
		end  bool                                  // the turn's end is committed
		then func(o chat.Out) (fake.Outcome, bool) // what the last call of the process comes to
	}{
		"while it grows":                {then: func(chat.Out) (fake.Outcome, bool) { return fake.Outcome{}, false }},
		"before the last word leaves":   {end: true, then: func(o chat.Out) (fake.Outcome, bool) { return fake.Outcome{Delay: time.Hour}, o.Op == chat.OpFinish }},
		"behind it, before the receipt": {end: true, then: func(o chat.Out) (fake.Outcome, bool) { return fake.Outcome{Hang: true}, o.Op == chat.OpFinish }},
		"while the first form is sent":  {then: func(o chat.Out) (fake.Outcome, bool) { return fake.Outcome{Hang: true}, o.Op == chat.OpPost }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, growing(), func(h *house) {
				p := h.place("1", true)
				tn := turnOf(p, 1)
				h.cfg.Drain = time.Millisecond
				h.stop()
				h.start()
				h.tg.Script(func(o chat.Out) fake.Outcome { oc, _ := pick(c.then(o)); return oc })
				l := h.voice.Begin(tn, look(""))
				stream(l, 20, 100*time.Millisecond)
				if c.end {
					h.finish(l, tn, "the answer")
					sleep(time.Second)
				}
				h.stop()
				h.tg.Script(nil)
				h.start()
				want := "the answer\n\ndone · 3s"
				if !c.end {
					want = "interrupted"
					h.enqueue(h.voice.Compose(p, 1, "final/1", chat.OutFinal, chat.Reply{Kind: chat.ReplyNotice, Markdown: want}))
				}
				sleep(time.Minute)
				h.want("1", want)
				l.End("", chat.SignNone)
			})
		})
	}
}

func pick(o fake.Outcome, strikes bool) (fake.Outcome, bool) {
	if strikes {
		return o, true
	}
	return fake.Outcome{}, false
}

// A turn that goes back to the queue has no last word; the message that a dead
// process showed of it is closed all the same, and it begins another one.
func TestALiveMessageOfATurnThatGoesBackToTheQueueIsClosed(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		p := h.place("1", true)
		tn := h.queued(p)
		l := h.voice.Begin(tn, look(""))
		stream(l, 20, 100*time.Millisecond)
		h.stop()
		for range 2 { // also when it happens again
			h.start()
			sleep(time.Minute)
			h.stop()
		}
		h.start()
		h.want("1", "Interrupted by a restart.")
		again := h.voice.Begin(tn, look(""))
		stream(again, 20, 100*time.Millisecond)
		h.finish(again, tn, "the answer")
		sleep(time.Minute)
		h.want("1", "Interrupted by a restart.", "the answer\n\ndone · 3s")
		l.End("", chat.SignNone)
	})
}

// queued is a turn in the ledger that waits to run.
func (h *house) queued(p chat.Place) chat.Turn {
	h.t.Helper()
	ctx := h.t.Context()
	p, c, err := h.db.Places().Ensure(ctx, p)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.db.Sessions().StartSession(ctx, chat.NewSession{Conversation: c, Agent: "demo", Workspace: "/w"})
	if err != nil {
		h.t.Fatal(err)
	}
	tn, err := h.db.Turns().NewTurn(ctx, chat.NewTurn{Conversation: c, Session: s.ID, Place: p})
	if err != nil {
		h.t.Fatal(err)
	}
	return tn
}

func TestALineIsAllThatAQuietChatSeesUntilTheAnswer(t *testing.T) {
	bubble(t, growing(), func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		l := h.voice.Begin(tn, look(chat.VerbosityStatus))
		busy(l)
		sleep(2 * time.Second)
		if got := h.tg.Texts("1"); len(got) != 1 || strings.Contains(got[0], "so far") || strings.Contains(got[0], "Bash") || !strings.Contains(got[0], "working") {
			t.Errorf("shows %q", got)
		}
		h.finish(l, tn, "the answer")
		sleep(time.Minute)
		h.want("1", "the answer\n\ndone · 3s")
	})
}

// The ledger fails while a message is closed and another one begun: no word is
// lost, none is there twice.
func TestALedgerThatFailsLosesNoPieceOfALongAnswer(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, growing(), func(h *house) {
				h.stop()
				h.ledger = &full{Ledger: h.db.Outbox(), rnd: rand.New(rand.NewPCG(seed, 3))}
				h.start()
				tn := turnOf(h.place("1", true), 1)
				l := h.voice.Begin(tn, look(""))
				paragraphs(l, 250, 50*time.Millisecond)
				text := l.Text()
				h.finish(l, tn, strings.TrimRight(text, "\n"))
				sleep(10 * time.Minute)
				wantWhole(t, h, text)
			})
		})
	}
}

// full is a ledger that takes rows every now and then, and does not always say
// so.
type full struct {
	reply.Ledger
	mu  sync.Mutex
	rnd *rand.Rand
}

// Enqueue implements reply.Outbox.
func (f *full) Enqueue(ctx context.Context, outs []chat.Out) error {
	f.mu.Lock()
	n := f.rnd.IntN(4)
	f.mu.Unlock()
	if n < 2 {
		return errDisk
	}
	if err := f.Ledger.Enqueue(ctx, outs); err != nil || n > 2 {
		return err
	}
	return errDisk // stored all the same
}
