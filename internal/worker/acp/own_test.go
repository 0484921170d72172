package acp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// begins sends the agent's wish to begin a turn; what it is answered goes to
// told.
func begins(s *script, id string, told chan<- string) {
	s.mu.Lock()
	s.on[""] = func(s *script, got, _ string) {
		if got == id {
			a := s.answers()
			told <- a[len(a)-1]
		}
	}
	s.mu.Unlock()
	s.line(`{"id":%s,"method":"_qwencode/start_turn","params":{"sessionId":"s1","turnId":"t1"}}`, id)
}

func ends(s *script, reason string) {
	s.line(`{"method":"_qwencode/end_turn","params":{"sessionId":"s1","turnId":"t1","reason":%q}}`, reason)
}

// guest is a host for turns of the agent's own.
type guest struct {
	*workertest.Host
	opened atomic.Int32
	ended  chan error
}

func newGuest() *guest {
	return &guest{Host: workertest.NewHost(workertest.Allow), ended: make(chan error, 8)}
}

func (g *guest) in(context.Context) (worker.Host, func(error)) {
	g.opened.Add(1)
	return g.Host, func(err error) { g.ended <- err }
}

func openWith(t *testing.T, s *script, g *guest) *Worker {
	t.Helper()
	w, err := openOn(t, s, Config{}, worker.Spec{Uninvited: g.in})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAPromptWaitsForTheAgentsOwnTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g, told := newScript(methods{"session/prompt": does("end_turn", func(s *script) { s.say("yours") })}), newGuest(), make(chan string, 1)
		w := openWith(t, s, g)
		begins(s, "7", told)
		if got := <-told; got != `{"accepted":true}` {
			t.Fatalf("answered %s", got)
		}
		h, over := workertest.NewHost(nil), make(chan error, 1)
		go func() { over <- w.Prompt(t.Context(), ask("hi"), h) }()
		time.Sleep(time.Minute)
		s.say("mine")
		if n := len(s.got("session/prompt")); n != 0 {
			t.Errorf("%d prompts were sent into the agent's own turn", n)
		}
		ends(s, "end_turn")
		if err := <-g.ended; err != nil || g.Text() != "mine" {
			t.Errorf("the agent's own turn: %q, %v", g.Text(), err)
		}
		if err := <-over; err != nil || h.Text() != "yours" {
			t.Errorf("the turn: %q, %v", h.Text(), err)
		}
		must(t, w.Close())
	})
}

func TestTheAgentsOwnTurnWaitsForAPromptAMomentOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s, g, told := newScript(methods{"session/prompt": does("end_turn", func(*script) { <-let })}), newGuest(), make(chan string, 1)
		w := openWith(t, s, g)
		over := make(chan error, 1)
		go func() { over <- w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)) }()
		synctest.Wait()
		began := time.Now()
		begins(s, "7", told)
		if got := <-told; got != `{"accepted":false}` || time.Since(began) >= 2*time.Second || g.opened.Load() > 0 {
			t.Errorf("answered %s after %v, %d turns opened", got, time.Since(began), g.opened.Load())
		}
		begins(s, "8", told)
		time.Sleep(time.Second)
		close(let) // it was about to end
		if got := <-told; got != `{"accepted":true}` || <-over != nil {
			t.Errorf("answered %s", got)
		}
		ends(s, "refusal")
		if err := <-g.ended; chat.CodeOf(err) != chat.AgentError {
			t.Errorf("ended with %v", err)
		}
		must(t, w.Close())
	})
}

func TestAStopWhileTheAgentsOwnTurnRunsEndsThat(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, g, told := newScript(nil), newGuest(), make(chan string, 1)
			if !deaf {
				s.on["session/cancel"] = func(s *script, _, _ string) { ends(s, "cancelled") }
			}
			w := openWith(t, s, g)
			begins(s, "7", told)
			<-told
			ctx, cancel := context.WithCancelCause(t.Context())
			over := make(chan error, 1)
			go func() { over <- w.Prompt(ctx, ask("hi"), workertest.NewHost(nil)) }()
			synctest.Wait()
			stop := errors.New("stop")
			cancel(stop)
			if err := <-over; !errors.Is(err, stop) {
				t.Errorf("ended with %v", err)
			}
			if err := <-g.ended; (err != nil) != deaf {
				t.Errorf("deaf %v: the agent's own turn ended with %v", deaf, err)
			}
			must(t, w.Close())
		})
	}
}

func TestADeadAgentEndsItsOwnTurn(t *testing.T) {
	t.Parallel()
	s, g, told := newScript(nil), newGuest(), make(chan string, 1)
	w := openWith(t, s, g)
	begins(s, "7", told)
	<-told
	must(t, s.Close())
	if err := <-g.ended; chat.CodeOf(err) != chat.Crashed {
		t.Errorf("ended with %v", err)
	}
	must(t, w.Close())
}

func TestWhatATaskInTheBackgroundSaysIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		s.say("answer")
		s.update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Background agent done."},"_meta":{"source":"background_task_completed"}`)
	})})
	h := workertest.NewHost(nil)
	must(t, mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h))
	if h.Text() != "answer" || len(h.Of(chat.EventNotice)) != 1 {
		t.Errorf("%q, %+v", h.Text(), h.Of(chat.EventNotice))
	}
}

func TestWordsForARunningTurn(t *testing.T) {
	t.Parallel()
	drains := Config{Name: "x", Command: "x", Quirks: Quirks{Drains: true}}
	let := make(chan struct{})
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		<-let
		s.line(`{"id":"d1","method":"craft/drainMidTurnQueue","params":{}}`)
		for len(s.answers()) == 0 {
			<-time.After(time.Millisecond)
		}
	})})
	w := mustOpen(t, s, drains)
	if err := w.Steer(t.Context(), ask("too early")); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("nothing runs: %v", err)
	}
	over, steered := make(chan error, 1), make(chan error, 2)
	go func() { over <- w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)) }()
	for len(s.got("session/prompt")) == 0 {
		<-time.After(time.Millisecond)
	}
	gone, cancel := context.WithCancel(t.Context())
	go func() { steered <- w.Steer(gone, ask("taken back")) }()
	go func() { steered <- w.Steer(t.Context(), ask("taken")) }()
	t.Cleanup(cancel)
	for waiting := 0; waiting < 2; <-time.After(time.Millisecond) {
		r := w.desk.running()
		r.mu.Lock()
		waiting = len(r.waiting)
		r.mu.Unlock()
	}
	cancel()
	if err := <-steered; chat.CodeOf(err) != chat.Conflict {
		t.Errorf("taken back: %v", err)
	}
	close(let)
	if err := <-steered; err != nil {
		t.Errorf("taken: %v", err)
	}
	must(t, <-over)
	if got := s.answers(); len(got) != 1 || got[0] != `{"messages":["taken"],"hasQueuedPrompt":false}` {
		t.Errorf("the agent got %q", got)
	}
	if err := mustOpen(t, newScript(nil), Config{}).Steer(t.Context(), ask("x")); chat.CodeOf(err) != chat.Unsupported {
		t.Errorf("an agent that never asks: %v", err)
	}
}

func TestWordsForAnAgentThatTakesThemAtAnyTime(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]chat.Code{
		`{"outcome":"injected"}`: chat.CodeNone, `{"outcome":"promptRequired"}`: chat.Conflict, `{}`: chat.Conflict, `7`: chat.Conflict,
	} {
		let := make(chan struct{})
		s := newScript(methods{
			"initialize":        gives(`{"protocolVersion":1,"_meta":{"steering":{"supported":true}}}`),
			"_session/steering": gives(outcome), "session/prompt": does("end_turn", func(*script) { <-let }),
		})
		w := mustOpen(t, s, Config{})
		if err := w.Steer(t.Context(), ask("early")); chat.CodeOf(err) != chat.Conflict {
			t.Errorf("nothing runs: %v", err)
		}
		over := make(chan error, 1)
		go func() { over <- w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)) }()
		for len(s.got("session/prompt")) == 0 {
			<-time.After(time.Millisecond)
		}
		if err := w.Steer(t.Context(), ask("more")); chat.CodeOf(err) != want {
			t.Errorf("%s: %v", outcome, err)
		}
		if got := s.got("_session/steering"); len(got) != 1 || !strings.Contains(got[0], `"idleBehavior":"promptRequired"`) {
			t.Errorf("sent %q", got)
		}
		close(let)
		must(t, <-over)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestACancelThatWasMissedIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var prompted string
		s := newScript(methods{"session/prompt": func(_ *script, id, _ string) { prompted = id }})
		s.on["session/cancel"] = func(s *script, _, _ string) {
			s.say("nobody wants to know")
			if len(s.got("session/cancel")) == 3 {
				s.line(`{"id":%s,"result":{"stopReason":"cancelled"}}`, prompted)
			}
		}
		w := mustOpen(t, s, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		h, over := workertest.NewHost(nil), make(chan error, 1)
		go func() { over <- w.Prompt(ctx, ask("hi"), h) }()
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) || strings.Contains(h.Text(), "nobody") {
			t.Errorf("%v, shown %q", err, h.Text())
		}
		select {
		case <-w.Done():
			t.Error("the process was ended")
		default:
		}
		must(t, w.Close())
	})
}
