package acp

import (
	"context"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker/workertest"
)

// costs is what a turn has cost the session so far, in cents.
func (s *script) costs(cents string) {
	s.update(`"sessionUpdate":"usage_update","used":9,"size":1000,"cost":{"amount":0.` + cents + `,"currency":"USD"}`)
}

// took is what a call of the model took.
func (s *script) took() {
	s.update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":7}}`)
}

// told waits until a turn is said to have used so much.
func told(t *testing.T, h *workertest.Host, ok func(u chat.Usage) bool) {
	t.Helper()
	h.Await(t, "figures", func(es []chat.Event) bool {
		for _, e := range es {
			if e.Kind == chat.EventUsage && ok(*e.Usage) {
				return true
			}
		}
		return false
	})
}

func TestATurnTellsWhatItHasUsedWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tells func(s *script)
		ok    func(u chat.Usage) bool
	}{
		"tokens of calls":      {func(s *script) { s.took(); s.took() }, func(u chat.Usage) bool { return u.In == 200 && u.Out == 14 }},
		"money of the session": {func(s *script) { s.costs("25") }, func(u chat.Usage) bool { return u.CostUSD == 0.25 }},
	} {
		s := newScript(methods{"session/prompt": func(s *script, id, _ string) {
			s.mu.Lock()
			s.on["session/cancel"] = func(s *script, _, _ string) { s.line(`{"id":%s,"result":{"stopReason":"cancelled"}}`, id) }
			s.mu.Unlock()
			c.tells(s)
		}})
		w := mustOpen(t, s, Config{})
		h := workertest.NewHost(nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan error, 1)
		go func() { over <- w.Prompt(ctx, ask("hi"), h) }()
		told(t, h, c.ok)
		cancel(chat.E(chat.OverBudget, "", nil))
		if err := <-over; chat.CodeOf(err) != chat.OverBudget {
			t.Errorf("%s: ended with %v", name, err)
		}
		h.Leave(t)
		if said := h.Of(chat.EventUsage); !c.ok(*said[len(said)-1].Usage) {
			t.Errorf("%s: at the end %+v", name, said[len(said)-1].Usage)
		}
	}
}

func TestWhatACancelledTurnTookIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	turns := 0
	s := newScript(methods{"session/prompt": func(s *script, id, _ string) {
		turns++
		if turns == 1 {
			s.mu.Lock()
			s.on["session/cancel"] = func(s *script, _, _ string) {
				s.line(`{"id":%s,"result":{"stopReason":"cancelled","usage":{"inputTokens":1000,"outputTokens":100}}}`, id)
			}
			s.mu.Unlock()
			s.costs("50")
			return
		}
		s.costs("75")
		s.line(`{"id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":1100,"outputTokens":110}}}`, id)
	}})
	w := mustOpen(t, s, Config{Name: "x", Command: "x", Quirks: Quirks{UsageSums: true}})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan error, 1)
	h := workertest.NewHost(nil)
	go func() { over <- w.Prompt(ctx, ask("one"), h) }()
	told(t, h, func(u chat.Usage) bool { return u.CostUSD == 0.5 })
	cancel(chat.E(chat.Stopped, "", nil))
	<-over
	said := h.Of(chat.EventUsage)
	if u := said[len(said)-1].Usage; u.In != 1000 || u.CostUSD != 0.5 {
		t.Errorf("the cancelled turn took %+v", u)
	}
	h = workertest.NewHost(nil)
	must(t, w.Prompt(t.Context(), ask("two"), h))
	said = h.Of(chat.EventUsage)
	if u := said[len(said)-1].Usage; u.In != 100 || u.Out != 10 || u.CostUSD != 0.25 {
		t.Errorf("the next one took %+v", u)
	}
}
