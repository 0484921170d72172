package reply_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/fake"
)

// inTopic makes a place in a topic of a group that the ledger knows.
func (h *house) inTopic(thread string) chat.Place {
	h.t.Helper()
	h.turns++
	ms := []chat.Inbound{{Message: chat.Message{
		Key: fmt.Sprintf("in/g/%d", h.turns), Kind: chat.KindText, Text: "hello", Sender: chat.Person{ID: "7"},
		Place: chat.Place{Platform: "fake", Account: "tg", Chat: "g", Thread: thread, Title: "Plums", Space: "g"},
		Ref:   chat.Ref{ID: fmt.Sprint(h.turns), Chat: "g", Num: int64(h.turns)},
	}, Role: chat.RoleOwner}}
	if _, err := h.db.Inbox().Record(h.t.Context(), "tg", "", ms); err != nil {
		h.t.Fatal(err)
	}
	return ms[0].Place
}

// texts are what is shown in a topic, "" = outside of topics.
func (h *house) texts(thread string) (out []string) {
	for _, m := range h.tg.Messages("g") {
		if m.Thread == thread && !m.Removed {
			out = append(out, m.Part.Text)
		}
	}
	return out
}

// shutting is a service in which a topic takes nothing while shut is true.
type shutting struct {
	mu   sync.Mutex
	code chat.Code
}

func (s *shutting) set(c chat.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = c
}

func (s *shutting) script(o chat.Out) fake.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Place.Thread == "77" && s.code != "" {
		return fake.Outcome{Err: chat.E(s.code, "the topic is not there", nil)}
	}
	return fake.Outcome{}
}

func TestAnAnswerForAClosedTopicWaitsUntilItOpens(t *testing.T) {
	bubble(t, traits, func(h *house) {
		var s shutting
		s.set(chat.Shut)
		h.tg.Script(s.script)
		p, other := h.inTopic("77"), h.inTopic("78")
		for i := range 3 {
			h.say(p, fmt.Sprintf("a/%d", i), fmt.Sprintf("answer %d", i))
		}
		h.say(other, "b", "elsewhere")
		sleep(2 * time.Minute)
		if got := h.texts("78"); len(got) != 1 {
			h.t.Errorf("the other topic waits too: %q", got)
		}
		if got := h.texts(""); len(got) != 1 || !strings.Contains(got[0], "Plums") || !strings.Contains(got[0], "closed") {
			h.t.Errorf("outside of topics: %q", got)
		}
		h.stop()
		h.start() // what waits outlives us
		sleep(time.Minute)
		s.set("")
		note := chat.Message{Kind: chat.KindReopened, Place: p}
		if err := h.db.Places().Note(h.t.Context(), note); err != nil {
			h.t.Fatal(err)
		}
		h.voice.Wake(p)
		sleep(time.Minute)
		if got := h.texts("77"); strings.Join(got, ",") != "answer 0,answer 1,answer 2" {
			h.t.Errorf("in the topic: %q", got)
		}
		if len(h.dead) != 0 || len(h.texts("")) != 1 {
			h.t.Errorf("given up %q, said %q", h.dead, h.texts(""))
		}
	})
}

func TestAnAnswerForADeletedTopicIsKeptAndAskedAbout(t *testing.T) {
	bubble(t, traits, func(h *house) {
		var s shutting
		s.set(chat.Vanished)
		h.tg.Script(s.script)
		p := h.inTopic("77")
		h.say(p, "a", "the answer")
		sleep(time.Minute)
		ms := h.tg.Messages("g")
		if len(ms) != 1 || ms[0].Thread != "" || len(ms[0].Part.Buttons) != 1 || len(ms[0].Part.Buttons[0]) != 3 {
			h.t.Fatalf("shown: %+v", ms)
		}
		for i, what := range []string{"here", "new", "drop"} {
			if got := ms[0].Part.Buttons[0][i].Data; got != fmt.Sprintf("lost:%d:%s", p.ID, what) {
				h.t.Errorf("button %q", got)
			}
		}
		near := h.inTopic("")
		if err := h.db.Places().Redirect(h.t.Context(), p.ID, near.ID); err != nil {
			h.t.Fatal(err)
		}
		h.voice.Wake(near)
		sleep(time.Minute)
		if got := h.texts(""); len(got) != 2 || got[1] != "the answer" {
			h.t.Errorf("outside of topics: %q", got)
		}
	})
}

func TestWhereNobodyCanBeToldTheOperatorIs(t *testing.T) {
	bubble(t, traits, func(h *house) {
		var held []string
		var mu sync.Mutex
		h.stop()
		h.cfg.Held = func(o chat.Out, reason error) {
			mu.Lock()
			defer mu.Unlock()
			held = append(held, o.Part.Text+": "+chat.DetailOf(reason))
		}
		h.start()
		h.tg.Script(func(chat.Out) fake.Outcome { return fake.Outcome{Err: chat.E(chat.Shut, "closed", nil)} })
		h.say(h.inTopic(""), "a", "answer")
		sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(held) != 1 || held[0] != "answer: closed" || len(h.tg.Calls()) != 1 {
			h.t.Errorf("told %q after %d calls", held, len(h.tg.Calls()))
		}
	})
}

func TestAGroupWithANewAddressGetsItsAnswersThereOnce(t *testing.T) {
	bubble(t, traits, func(h *house) {
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Place.Chat == "g" {
				return fake.Outcome{Err: &chat.Error{Code: chat.Moved, To: &chat.Place{Chat: "G", Space: "G"}}}
			}
			return fake.Outcome{}
		})
		p := h.inTopic("")
		for i := range 3 {
			h.say(p, fmt.Sprintf("a/%d", i), fmt.Sprintf("answer %d", i))
		}
		sleep(time.Minute)
		h.want("G", "answer 0", "answer 1", "answer 2")
	})
}

func TestATopicIsNeverMadeTwice(t *testing.T) {
	order := func(p chat.Place) []chat.Out {
		return []chat.Out{{Key: "t", Place: p, Class: chat.OutNotice, Op: chat.OpTopic, Part: chat.Part{
			Topic: &chat.Topic{Name: "Plums", Greeting: []chat.Part{{Text: "hello"}}},
		}}}
	}
	for name, c := range map[string]struct {
		outcome fake.Outcome
		tries   int
		said    string // outside of topics
		hello   bool
	}{
		"made":                      {fake.Outcome{}, 1, "", true},
		"made, and no answer came":  {fake.Outcome{Err: coded(chat.Uncertain), Arrives: true}, 1, "not known", false},
		"no right":                  {fake.Outcome{Err: coded(chat.Denied)}, 1, "right to manage topics", false},
		"no topics":                 {fake.Outcome{Err: coded(chat.Unsupported)}, 1, "no topics", false},
		"refused for another cause": {fake.Outcome{Err: chat.E(chat.GiveUp, "too bad", nil)}, 1, "too bad", false},
		"told to wait":              {fake.Outcome{Err: &chat.Error{Code: chat.Wait, After: 3 * time.Second}}, 2, "", true},
		"not reached":               {fake.Outcome{Err: coded(chat.Network)}, 2, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				first := true
				h.tg.Script(func(o chat.Out) fake.Outcome {
					if o.Op != chat.OpTopic || !first {
						return fake.Outcome{}
					}
					first = false
					return c.outcome
				})
				p := h.inTopic("")
				h.enqueue(order(p))
				sleep(2 * time.Minute)
				n, hello := 0, false
				for _, call := range h.tg.Calls() {
					if call.Out.Op == chat.OpTopic {
						n++
					}
					hello = hello || call.Out.Part.Text == "hello" && call.Out.Place.Thread != ""
				}
				if n != c.tries || hello != c.hello {
					h.t.Errorf("tried %d times, greeted %v", n, hello)
				}
				if said := strings.Join(h.texts(""), "|"); (said == "") != (c.said == "") || !strings.Contains(said, c.said) {
					h.t.Errorf("said %q", said)
				}
			})
		})
	}
	t.Run("the daemon died over it", func(t *testing.T) {
		bubble(t, traits, func(h *house) {
			h.stop()
			p := h.inTopic("")
			h.enqueue(order(p))
			if _, err := h.db.Outbox().Sending(context.WithoutCancel(h.t.Context()), 1); err != nil {
				h.t.Fatal(err)
			}
			h.start()
			sleep(time.Minute)
			if got := h.texts(""); len(got) != 1 || !strings.Contains(got[0], "not known") {
				h.t.Errorf("said %q", got)
			}
		})
	})
}
