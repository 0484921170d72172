package reply_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/fake"
	"cligate/internal/reply"
)

// failing makes a script that answers err n times for posts of the given text.
func failing(text string, n int, o fake.Outcome) func(chat.Out) fake.Outcome {
	var left atomic.Int64
	left.Store(int64(n))
	return func(out chat.Out) fake.Outcome {
		if strings.Contains(out.Part.Text, text) && left.Add(-1) >= 0 {
			return o
		}
		return fake.Outcome{}
	}
}

func coded(code chat.Code) error { return chat.E(code, "", nil) }

func TestAnOutageDelaysAndKeepsTheOrder(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		down := time.Now().Add(2 * time.Minute)
		h.tg.Script(func(chat.Out) fake.Outcome {
			if time.Now().Before(down) {
				return fake.Outcome{Err: coded(chat.Network)}
			}
			return fake.Outcome{}
		})
		for i := range 5 {
			h.say(p, fmt.Sprintf("n/%d", i), fmt.Sprintf("n%d", i))
		}
		sleep(3*time.Minute + 30*time.Second) // the last pause may be 75 s
		h.want("1", "n0", "n1", "n2", "n3", "n4")
		if n := len(h.tg.Calls()); n > 16 {
			t.Errorf("%d calls in an outage of 2 min", n)
		}
		if n := strings.Count(h.log(), "\n"); n != 2 {
			t.Errorf("%d lines of the log:\n%s", n, h.log())
		}
	})
}

func TestChatsOfAnAccountRecoverTogether(t *testing.T) {
	bubble(t, traits, func(h *house) {
		down := time.Now().Add(3 * time.Minute)
		h.tg.Script(func(chat.Out) fake.Outcome {
			if time.Now().Before(down) {
				return fake.Outcome{Err: coded(chat.Network)}
			}
			return fake.Outcome{}
		})
		for i := range 10 {
			h.say(h.place(fmt.Sprint(i), true), fmt.Sprintf("n/%d", i), "x")
			time.Sleep(10 * time.Second)
		}
		var first, last time.Time
		sleep(5 * time.Minute)
		for _, c := range h.tg.Calls() {
			if c.Err == nil {
				if first.IsZero() {
					first = c.At
				}
				last = c.At
			}
		}
		if len(h.tg.Messages("")) != 10 || last.Sub(first) > 2*time.Second {
			t.Errorf("%d messages, within %v", len(h.tg.Messages("")), last.Sub(first))
		}
	})
}

func TestAToldWaitIsObeyedAlsoAcrossARestart(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p, other := h.place("1", true), h.place("2", true)
		h.tg.Script(failing("first", 1, fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 40 * time.Second}}))
		began := time.Now()
		h.say(p, "a", "first")
		h.say(p, "b", "second")
		sleep(5 * time.Second)
		h.say(other, "c", "elsewhere")
		sleep(time.Second)
		h.want("2", "elsewhere")
		h.stop()
		h.start()
		sleep(30 * time.Second)
		h.want("1")
		sleep(time.Minute)
		h.want("1", "first", "second")
		for _, c := range h.tg.Calls()[1:] {
			if c.Out.Place.Chat == "1" && c.At.Sub(began) < 41*time.Second {
				t.Errorf("a call after %v", c.At.Sub(began))
			}
		}
	})
}

// A question that is closed at the start takes its unsent messages with it. The
// chat has to wait all the same.
func TestAToldWaitOutlivesTheRowThatWasToldIt(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		h.tg.Script(failing("question", 1, fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 40 * time.Second}}))
		began := time.Now()
		h.say(p, "a", "question")
		sleep(5 * time.Second)
		h.stop()
		o, err := h.db.Outbox().NextOut(h.t.Context(), "tg/1")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.db.Outbox().Bury(h.t.Context(), o.ID, chat.OutDropped, "the question is closed"); err != nil {
			t.Fatal(err)
		}
		h.start()
		h.say(p, "b", "what follows")
		sleep(2 * time.Minute)
		h.want("1", "what follows")
		for _, c := range h.tg.Calls()[1:] {
			if c.At.Sub(began) < 41*time.Second {
				t.Errorf("a call after %v", c.At.Sub(began))
			}
		}
	})
}

func TestAWaitToldToAnEditHoldsTheFinalAlsoAcrossARestart(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		var told time.Time
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Op == chat.OpEdit && told.IsZero() {
				told = time.Now()
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Minute}}
			}
			return fake.Outcome{}
		})
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 40, 100*time.Millisecond)
		h.finish(l, tn, "the answer")
		sleep(5 * time.Second)
		h.stop()
		h.start()
		sleep(3 * time.Minute)
		h.want("1", "done · 3s", "the answer")
		for _, c := range h.tg.Calls() {
			if c.At.After(told) && c.At.Sub(told) < 61*time.Second {
				t.Errorf("%s after %v", c.Out.Op, c.At.Sub(told))
			}
		}
	})
}

func TestAWaitToldToALiveMessageHoldsWhatFollowsAlsoAcrossARestart(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		var told time.Time
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Class == chat.OutProgress && o.Op == chat.OpPost && told.IsZero() {
				told = time.Now()
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Minute}}
			}
			return fake.Outcome{}
		})
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 20, 100*time.Millisecond)
		h.stop() // the live message is never shown
		h.start()
		h.say(tn.Place, "a", "what follows")
		sleep(3 * time.Minute)
		h.want("1", "what follows")
		for _, c := range h.tg.Calls() {
			if c.At.After(told) && c.At.Sub(told) < 61*time.Second {
				t.Errorf("%s after %v", c.Out.Op, c.At.Sub(told))
			}
		}
	})
}

func TestEditsAreHalfAsFrequentAfterAWait(t *testing.T) {
	bubble(t, traits, func(h *house) {
		tn := turnOf(h.place("1", true), 1)
		told := false
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Op == chat.OpEdit && !told {
				told = true
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Second}}
			}
			return fake.Outcome{}
		})
		l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
		stream(l, 250, 100*time.Millisecond)
		if n := len(h.tg.Calls()); n < 6 || n > 9 {
			t.Errorf("%d calls in 25 s", n)
		}
		h.finish(l, tn, "over")
		sleep(time.Minute)
	})
}

func TestAParkedChatWaitsUntilItSpeaks(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		blocked := true
		h.tg.Script(func(chat.Out) fake.Outcome {
			if blocked {
				return fake.Outcome{Err: coded(chat.Park)}
			}
			return fake.Outcome{}
		})
		h.say(p, "a", "first")
		h.say(p, "b", "second")
		sleep(time.Hour)
		if n := len(h.tg.Calls()); n != 1 {
			t.Errorf("%d calls to a chat that cannot be reached", n)
		}
		blocked = false
		h.voice.Wake(p)
		sleep(time.Hour)
		h.want("1")
		h.place("1", true) // somebody writes
		h.say(p, "c", "third")
		sleep(time.Minute)
		h.want("1", "first", "second", "third")
	})
}

func TestAMessageWhoseTargetIsGoneIsSentOnceAsNew(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		edit := func(key string, class chat.OutClass) chat.Out {
			return chat.Out{
				Key: key, Place: p, Class: class, Op: chat.OpEdit, Target: chat.Ref{ID: "4711"}, Part: chat.Part{Text: key},
			}
		}
		h.enqueue([]chat.Out{edit("final", chat.OutFinal), edit("cosmetic", chat.OutProgress)})
		sleep(time.Minute)
		h.want("1", "final")
	})
}

func TestThirtyChatsStreamWithinTheAccountsBudget(t *testing.T) {
	bubble(t, traits, func(h *house) {
		const n = 30
		done := make(chan struct{})
		for i := range n {
			tn := turnOf(h.place(fmt.Sprint(i), true), int64(i+1))
			l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
			go func() { // ends by itself
				stream(l, 200, 100*time.Millisecond)
				h.finish(l, tn, fmt.Sprintf("answer %d", i))
				done <- struct{}{}
			}()
		}
		for range n {
			<-done
		}
		ended := time.Now()
		sleep(3 * time.Minute)
		for i := range n {
			h.want(fmt.Sprint(i), "done · 3s", fmt.Sprintf("answer %d", i))
		}
		for _, c := range h.tg.Calls() {
			if c.Out.Class == chat.OutFinal && c.At.Sub(ended) > 5*time.Second {
				t.Errorf("a final came after %v", c.At.Sub(ended))
			}
		}
	})
}

func TestTenTurnsThatEndAtOnceInOneGroupStayWithinItsBudget(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("g", false)
		var lives []func()
		for i := range 10 {
			tn := turnOf(p, int64(i+1))
			l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
			l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("text %d", i)})
			lives = append(lives, func() { h.finish(l, tn, fmt.Sprintf("answer %d", i)) })
		}
		sleep(2 * time.Minute)
		for _, end := range lives {
			end()
		}
		sleep(5 * time.Minute)
		var finals []string
		for _, m := range h.tg.Messages("g") {
			if m.Class == chat.OutFinal {
				finals = append(finals, m.Part.Text)
			} else if m.Part.Text != "done · 3s" {
				t.Errorf("left: %q", m.Part.Text)
			}
		}
		if len(finals) != 10 || finals[0] != "answer 0" || finals[9] != "answer 9" {
			t.Errorf("finals: %q", finals)
		}
	})
}

func TestChatsNeverGetEachOthersWords(t *testing.T) {
	bubble(t, traits, func(h *house) {
		places := make([]chat.Place, 10)
		for i := range places {
			places[i] = h.place(fmt.Sprint(i), i%2 == 0)
		}
		h.tg.Script(func(o chat.Out) fake.Outcome {
			return fake.Outcome{Delay: time.Duration(len(o.Part.Text)*37%900) * time.Millisecond}
		})
		for round := range 3 {
			for i, p := range places {
				tn := turnOf(p, int64(round*10+i+1))
				l := h.voice.Begin(tn, chat.Look{Lang: "en", Agent: "demo"})
				l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("[%d] partial", i)})
				time.Sleep(time.Duration(300+i*100) * time.Millisecond)
				h.finish(l, tn, fmt.Sprintf("[%d] answer %d", i, round))
			}
		}
		sleep(10 * time.Minute)
		for i := range places {
			var answers []string
			for _, m := range h.tg.Messages(fmt.Sprint(i)) {
				if m.Class == chat.OutFinal {
					answers = append(answers, m.Part.Text)
				}
			}
			want := fmt.Sprintf("[%d] answer 0|[%d] answer 1|[%d] answer 2", i, i, i)
			if strings.Join(answers, "|") != want {
				t.Errorf("chat %d: %q", i, answers)
			}
		}
	})
}

func TestNoWakeUpIsLost(t *testing.T) {
	fast := traits
	fast.PerChat, fast.PerAccount = platform.Rate{}, platform.Rate{}
	bubble(t, fast, func(h *house) {
		p := h.place("1", true)
		done := make(chan struct{})
		for w := range 4 {
			go func() { // ends by itself
				for i := range 50 {
					h.say(p, fmt.Sprintf("%d/%d", w, i), "x")
				}
				done <- struct{}{}
			}()
		}
		for range 4 {
			<-done
		}
		synctest.Wait()
		if n := len(h.tg.Messages("1")); n != 200 {
			t.Errorf("%d of 200 messages", n)
		}
	})
}

// late is a ledger in which a row is stored just after it was found empty.
type late struct {
	reply.Ledger
	missed func()
}

// NextOut implements reply.Outbox.
func (l late) NextOut(ctx context.Context, channel string) (chat.Out, error) {
	o, err := l.Ledger.NextOut(ctx, channel)
	if chat.CodeOf(err) == chat.Missing {
		l.missed()
	}
	return o, err
}

func TestARowThatComesAsTheSenderLeavesIsSentAtOnce(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		h.stop()
		n := 0
		h.ledger = late{h.db.Outbox(), func() {
			if n++; n <= 3 {
				h.say(p, fmt.Sprintf("n/%d", n), fmt.Sprintf("n%d", n))
			}
		}}
		h.start()
		h.say(p, "n/0", "n0")
		sleep(5 * time.Second)
		h.want("1", "n0", "n1", "n2", "n3")
	})
}

func TestAForgottenWakeUpIsADelayOnly(t *testing.T) {
	bubble(t, traits, func(h *house) {
		outs := h.voice.Compose(h.place("1", true), 0, "n", chat.OutNotice, chat.Reply{Markdown: "hello"})
		if err := h.db.Outbox().Enqueue(h.t.Context(), outs); err != nil {
			t.Fatal(err)
		}
		sleep(2 * time.Minute)
		h.want("1", "hello")
	})
}

func TestRowsOfAnAccountThatIsNotConfiguredWait(t *testing.T) {
	bubble(t, traits, func(h *house) {
		ms := []chat.Inbound{{Message: chat.Message{
			Key: "x", Kind: chat.KindText, Sender: chat.Person{ID: "7"},
			Place: chat.Place{Platform: "fake", Account: "old", Chat: "1", Direct: true},
		}}}
		if _, err := h.db.Inbox().Record(h.t.Context(), "old", "", ms); err != nil {
			t.Fatal(err)
		}
		h.say(ms[0].Place, "a", "hello")
		sleep(time.Hour)
		o, err := h.db.Outbox().NextOut(h.t.Context(), ms[0].Place.Channel())
		if err != nil || o.State != chat.OutPending || o.Part.Text != "hello" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

func TestFlushWaitsForWhatCanLeave(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p, q := h.place("1", true), h.place("2", true)
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Place.Chat == "2" {
				return fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: time.Hour}}
			}
			return fake.Outcome{Delay: 3 * time.Second}
		})
		h.say(p, "a", "first")
		h.say(p, "b", "second")
		h.say(q, "c", "waits")
		began := time.Now()
		h.voice.Flush(h.t.Context())
		h.want("1", "first", "second")
		if d := time.Since(began); d > 7*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestAnInvisibleAnswerIsStillAnswered(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		for i, text := range []string{"```\n```", "  \n", ""} {
			outs := h.voice.Compose(p, int64(i+1), fmt.Sprintf("final/%d", i), chat.OutFinal, chat.Reply{Markdown: text})
			if len(outs) < 1 || strings.TrimSpace(outs[0].Part.Text) == "" || outs[0].Class != chat.OutFinal {
				t.Errorf("%q gave %+v", text, outs)
			}
		}
		if outs := h.voice.Compose(p, 0, "n", chat.OutNotice, chat.Reply{Markdown: " "}); len(outs) != 0 {
			t.Errorf("an empty notice gave %+v", outs)
		}
	})
}

func TestKeysAreNumberedThroughAllReplies(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		long := strings.Repeat("some words in a row\n\n", 500)
		outs := h.voice.Compose(p, 5, "final/5", chat.OutFinal, chat.Reply{Markdown: long}, chat.Reply{Markdown: "note"})
		for i, o := range outs[:len(outs)-1] {
			if o.Key != fmt.Sprintf("final/5/%d", i+1) || o.Seq != i+1 || o.Turn != 5 || o.Place.ID != p.ID {
				t.Errorf("row %d: %+v", i, o)
			}
		}
		if last := outs[len(outs)-1]; last.Key != "final/5/end" || last.Op != chat.OpFinish || len(outs) < 4 {
			t.Errorf("%d rows, the last is %+v", len(outs), last)
		}
	})
}
