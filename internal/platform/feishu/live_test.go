package feishu

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	out "cligate/internal/reply"
	sim "cligate/internal/sim/feishu"
	"cligate/internal/store"
)

// house is a voice with a ledger, an adapter and a service: all that a turn's
// words go through on their way out.
type house struct {
	t     *testing.T
	s     *sim.Server
	db    *store.DB
	place chat.Place
	voice *out.Voice
	stop  func()

	liveFor time.Duration // 0 = as the adapter says
	later   time.Duration // how far the adapter's clock is ahead
}

// hasty is an adapter whose live messages grow for a shorter time.
type hasty struct {
	*Adapter
	liveFor time.Duration
}

// Traits implements platform.Adapter.
func (h hasty) Traits() platform.Traits {
	t := h.Adapter.Traits()
	t.LiveFor = h.liveFor
	return t
}

func furnished(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, s: service(t)}
	var err error
	h.db, err = store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1})
	must(t, err)
	t.Cleanup(func() { must(t, h.db.Close()) })
	id, _ := h.s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "a question", Quiet: true})
	ms := []chat.Inbound{{Message: chat.Message{Key: "in/1", Kind: chat.KindText, Text: "a question", Sender: chat.Person{ID: anna},
		Place: chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}, Ref: chat.Ref{ID: id, Chat: direct}}, Role: chat.RoleOwner}}
	_, err = h.db.Inbox().Record(t.Context(), "feishu", "", ms)
	must(t, err)
	h.place = ms[0].Place
	h.start()
	return h
}

// start makes a new process on the same ledger.
func (h *house) start() {
	h.t.Helper()
	a := adapter(h.t, h.s, nil)
	a.out.now = func() time.Time { return time.Now().Add(h.later) }
	var p platform.Adapter = a
	if h.liveFor > 0 {
		p = hasty{a, h.liveFor}
	}
	var err error
	h.voice, err = out.New(h.db.Outbox(), map[string]platform.Adapter{"feishu": p}, out.Config{
		Quiet: time.Millisecond, QuietText: time.Millisecond, Drain: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	must(h.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		_ = h.voice.Run(ctx)
	}()
	h.stop = sync.OnceFunc(func() { cancel(); <-done })
	h.t.Cleanup(h.stop)
}

func (h *house) begin(id int64, v chat.Verbosity) (*out.Live, chat.Turn) {
	t := chat.Turn{ID: id, Place: h.place, State: chat.TurnRunning}
	return h.voice.Begin(t, chat.Look{Lang: "en", Agent: "demo", Verbosity: v}), t
}

func (h *house) end(t chat.Turn, rs ...chat.Reply) {
	h.t.Helper()
	outs := h.voice.Compose(h.place, t.ID, fmt.Sprintf("final/%d", t.ID), chat.OutFinal, rs...)
	must(h.t, h.db.Outbox().Enqueue(context.WithoutCancel(h.t.Context()), outs))
	h.voice.Wake(h.place)
}

func inWords(text string) chat.Reply { return chat.Reply{Kind: chat.ReplyAnswer, Markdown: text} }

// bot is what the bot has said.
func (h *house) bot() (seen []sim.Seen) {
	for _, m := range h.s.Shown(direct) {
		if m.FromBot && !m.Recalled {
			seen = append(seen, m)
		}
	}
	return seen
}

// until waits for what is to be seen.
func (h *house) until(what string, ok func() bool) {
	h.t.Helper()
	if !h.s.Wait(90*time.Second, ok) {
		h.t.Errorf("never: %s; shown %+v", what, h.bot())
	}
}

// settled waits until nothing is left to send.
func (h *house) settled() {
	h.t.Helper()
	h.until("everything is sent", func() bool {
		_, err := h.db.Outbox().NextOut(context.WithoutCancel(h.t.Context()), h.place.Channel())
		return chat.CodeOf(err) == chat.Missing
	})
}

// closed checks that no card is left open, and that no text was painted anew.
func (h *house) closed() {
	h.t.Helper()
	for id, c := range h.s.Cards() {
		switch {
		case c.Streaming:
			h.t.Errorf("card %s still streams: %s", id, c.JSON)
		case c.Message != "" && strings.Contains(c.JSON, "stop:"):
			h.t.Errorf("card %s still offers to stop: %s", id, c.JSON)
		case c.Summary == "" || c.Summary == "…":
			h.t.Errorf("card %s has no summary", id)
		case c.Repaints > 0:
			h.t.Errorf("card %s was painted anew %d times", id, c.Repaints)
		}
	}
	streamed := map[string][]time.Time{}
	for _, call := range h.s.Calls() {
		if call.Method != "element.content" {
			continue
		}
		at := append(streamed[call.Message], call.At)
		streamed[call.Message] = at
		if n := len(at); call.Message != "" && n > 5 && at[n-1].Sub(at[n-6]) < time.Second {
			h.t.Errorf("6 updates of card %s within %v", call.Message, at[n-1].Sub(at[n-6]))
		}
	}
	for _, v := range h.s.Violations() {
		h.t.Errorf("beyond a budget: %s", v.Key)
	}
}

// stream is an answer that comes in pieces.
func (h *house) stream(l *out.Live, n int) string {
	for i := range n {
		l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("Piece %d of **it**. ", i)})
	}
	return strings.TrimSpace(l.Text())
}

// streaming waits until a card shows text and streams.
func (h *house) streaming() {
	h.t.Helper()
	h.until("a card streams", func() bool {
		for _, m := range h.bot() {
			if m.Open && strings.Contains(m.Text, "Piece") {
				return true
			}
		}
		return false
	})
}

// crowd runs tests beside each other that mostly wait, more of them than there
// are processors.
type crowd struct {
	t    *testing.T
	room chan struct{}
	wg   sync.WaitGroup
}

func newCrowd(t *testing.T) *crowd { return &crowd{t: t, room: make(chan struct{}, 16)} }

func (c *crowd) run(name string, f func(t *testing.T)) {
	c.wg.Go(func() {
		c.room <- struct{}{}
		defer func() { <-c.room }()
		c.t.Run(name, f) //nolint:paralleltest // it is, with more room
	})
}

func (c *crowd) wait() { c.wg.Wait() }

func TestAnAnswerIsOneCardWithItsLogAndItsSmallPrint(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	l, tn := h.begin(1, chat.VerbosityAll)
	l.Event(chat.Event{Kind: chat.EventThought, Text: "thinking aloud"})
	l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "a", Name: "Bash", Title: "go test", State: chat.ToolRunning}})
	h.until("the tool is seen", func() bool { b := h.bot(); return len(b) == 1 && strings.Contains(b[0].Text, "go test") })
	h.stream(l, 3)
	h.streaming()
	if raw := h.bot()[0].Raw; !strings.Contains(raw, `"element_id":"work"`) || !strings.Contains(raw, `"element_id":"text"`) {
		t.Errorf("the tools have no element of their own: %s", raw)
	}
	text := h.stream(l, 3)
	l.End("done · 1s", chat.SignDone)
	h.end(tn, chat.Reply{Kind: chat.ReplyAnswer, Markdown: text, Footer: "5 tokens"})
	h.settled()
	b := h.bot()
	if len(b) != 1 || b[0].Open || len(b[0].Buttons) != 0 {
		t.Fatalf("%+v", b)
	}
	for _, want := range []string{text, "done · 1s", "5 tokens", "Thinking", "thinking aloud", "Tools", "go test"} {
		if strings.Count(b[0].Text, want) != 1 {
			t.Errorf("%q is there %d times: %s", want, strings.Count(b[0].Text, want), b[0].Text)
		}
	}
	if strings.Contains(b[0].Raw, `"element_id":"work"`) {
		t.Errorf("work goes on in an answer: %s", b[0].Raw)
	}
	h.closed()
}

// Whatever is refused while a burst of deltas goes out, and whatever call it is:
// the answer is one card, complete and closed.
func TestABurstEndsClosedAndCompleteWhicheverCallIsRefused(t *testing.T) {
	t.Parallel()
	crowd := newCrowd(t)
	defer crowd.wait()
	for name, f := range map[string]sim.Fault{
		"too many in the chat":  {Kind: sim.Refuse, Code: 230020, Text: "limit", Times: 3},
		"too many of a kind":    {Kind: sim.Refuse, Status: 429, Code: 99991400, Text: "limit", Times: 3, Reset: 1},
		"a number too low":      {Kind: sim.Refuse, Code: 300317, Text: "sequence number compare failed", Times: 3},
		"the stream is closed":  {Kind: sim.Refuse, Code: 300309, Text: "streaming mode is closed", Times: 2},
		"the stream is over":    {Kind: sim.Refuse, Code: 200850, Text: "card streaming timeout", Times: 2},
		"done, and nobody says": {Kind: sim.Lose, Times: 2},
		"nothing gets over":     {Kind: sim.Drop, Times: 2},
		"a foreign page":        {Kind: sim.BadPage, Times: 2},
	} {
		for _, method := range []string{"card.create", "message.create", "card.update", "element.content", "card.batch", "card.settings"} {
			if f.Code >= 300000 && !strings.HasPrefix(method, "card.u") && !strings.HasPrefix(method, "card.s") && !strings.HasPrefix(method, "card.b") && method != "element.content" {
				continue // not an answer of that call
			}
			crowd.run(method+"/"+name, func(t *testing.T) {
				h := furnished(t)
				fault := f
				fault.Method = method
				h.s.Fail(fault)
				l, tn := h.begin(1, "")
				for range 6 { // a burst, and one frame after the other
					h.stream(l, 40)
					size := len(l.Text())
					h.s.Wait(700*time.Millisecond, func() bool { b := h.bot(); return len(b) > 0 && len(b[0].Text) >= size })
				}
				text := strings.TrimSpace(l.Text())
				l.End("done · 1s", chat.SignDone)
				h.end(tn, inWords(text))
				h.settled()
				if b := h.bot(); len(b) != 1 || !strings.HasPrefix(b[0].Text, text) || !strings.Contains(b[0].Text, "done · 1s") || b[0].Open {
					t.Errorf("%d messages: %+v", len(b), b)
				}
				h.closed()
			})
		}
	}
}

// The process dies in each of its calls; the next one closes the card, with
// what it shows and what is known.
func TestNoCardIsLeftOpenByAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	crowd := newCrowd(t)
	defer crowd.wait()
	for _, kind := range []sim.FaultKind{sim.Hang, sim.Deaf} { // carried out or not
		for _, method := range []string{"card.create", "message.create", "card.update", "element.content", "card.batch", "card.settings", ""} {
			for _, ended := range []bool{false, true} {
				crowd.run(fmt.Sprintf("%s %s ended %v", kind, method, ended), func(t *testing.T) {
					h := furnished(t)
					l, tn := h.begin(1, "")
					h.stream(l, 30)
					if method != "card.create" && method != "message.create" {
						h.streaming()
					}
					f := h.s.Fail(sim.Fault{Kind: kind, Method: method})
					l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: "a", Name: "Bash", Title: "make", State: chat.ToolRunning}})
					text := h.stream(l, 30)
					if ended {
						l.End("done · 1s", chat.SignDone)
						h.end(tn, inWords(text))
					}
					h.s.Wait(3*time.Second, func() bool { return h.s.Used(f) > 0 })
					h.stop()
					h.s.Heal()
					h.start()
					if !ended {
						h.end(tn, chat.Reply{Kind: chat.ReplyNotice, Markdown: "It was interrupted.", Buttons: [][]chat.Button{{{Label: "Retry", Data: "retry:1"}}}})
					}
					h.settled()
					b := h.bot()
					switch {
					case len(b) != 1 || b[0].Open:
						t.Errorf("%d messages: %+v", len(b), b)
					case ended && !strings.Contains(b[0].Text, text):
						t.Errorf("not complete: %q", b[0].Text)
					case !ended && (!strings.Contains(b[0].Text, "It was interrupted.") || len(b[0].Buttons) != 1 || strings.Contains(b[0].Text, "working")):
						t.Errorf("%q, %+v", b[0].Text, b[0].Buttons)
					case !ended && method != "card.create" && method != "message.create" && !strings.Contains(b[0].Text, "Piece 3 "):
						t.Errorf("what was shown is gone: %q", b[0].Text)
					}
					h.closed()
					l.End("", chat.SignNone)
				})
			}
		}
	}
}

func TestACardThatIsFullOrOldGoesOnInAnotherOne(t *testing.T) {
	t.Parallel()
	table := "| a | b |\n| --- | --- |\n| %d | 2 |\n\nwords\n\n"
	for name, c := range map[string]struct {
		piece   string
		n       int
		liveFor time.Duration
	}{
		"too much text":   {piece: "Paragraph %d is " + strings.Repeat("of many words ", 20) + "\n\n", n: 50},
		"too many tables": {piece: table, n: 5},
		"too old":         {piece: "Paragraph %d.\n\n", n: 10, liveFor: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			h.stop()
			h.liveFor = c.liveFor
			h.start()
			l, tn := h.begin(1, "")
			for i := range c.n {
				l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf(c.piece, i)})
				if i%5 == 0 || c.n < 20 {
					h.s.Wait(500*time.Millisecond, func() bool { return false })
				}
			}
			h.until("there are two cards", func() bool { return len(h.bot()) > 1 })
			l.End("done · 1s", chat.SignDone)
			h.end(tn, inWords(strings.TrimSpace(l.Text())))
			h.settled()
			var all strings.Builder
			for _, m := range h.bot() {
				all.WriteString(m.Text + "\n")
			}
			for i := range c.n {
				want, _, _ := strings.Cut(fmt.Sprintf(c.piece, i), "words")
				want = strings.TrimSpace(want)
				if n := strings.Count(all.String(), want); n != 1 {
					t.Errorf("%q is there %d times", want, n)
				}
			}
			h.closed()
			for _, call := range h.s.Calls() {
				if !call.OK {
					t.Errorf("refused: %+v", call)
				}
			}
		})
	}
}

func TestALiveCardStreamsOnWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	l, tn := h.begin(1, "")
	h.stream(l, 3)
	h.streaming()
	h.s.Pass(601 * time.Second) // nobody tells us
	h.stream(l, 30)
	h.until("it streams on", func() bool { b := h.bot(); return b[0].Open && strings.Contains(b[0].Text, "Piece 29") })
	l.End("done · 1s", chat.SignDone)
	h.end(tn, inWords(strings.TrimSpace(l.Text())))
	h.settled()
	h.closed()
	refused := 0
	for _, c := range h.s.Calls() {
		if !c.OK {
			refused++
		}
	}
	if refused > 1 {
		t.Errorf("%d refused calls for one that was too late", refused)
	}
}

// The service finds a message by its uuid for an hour. What became of an older
// one, nobody knows: it is sent again, and says so.
func TestARowOfUnknownOutcomeIsSentAgainMarkedOnceTheServiceHasForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		want  int
	}{"within the hour": {30 * time.Minute, 1}, "later": {2 * time.Hour, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			h.s.Fail(sim.Fault{Kind: sim.Hang, Method: "message.create"})
			must(t, h.voice.Say(t.Context(), h.place, "n", chat.Reply{Kind: chat.ReplyNotice, Markdown: "the words"}))
			h.until("it is sent", func() bool { return len(h.bot()) == 1 })
			h.stop()
			h.s.Heal()
			h.s.Pass(c.after)
			h.later = c.after
			h.start()
			h.settled()
			b := h.bot()
			if len(b) != c.want {
				t.Fatalf("%d copies: %+v", len(b), b)
			}
			if c.want == 2 && (!strings.Contains(b[1].Text, "the words") || !strings.Contains(b[1].Text, "Sent again")) {
				t.Errorf("not marked: %q", b[1].Text)
			}
		})
	}
}
