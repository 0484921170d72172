package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

func TestEveryEndIsVisible(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		for name, c := range map[string]struct {
			steps  []fake.Step
			state  chat.TurnState
			reason chat.Code
			says   string
		}{
			"nothing":        {nil, chat.TurnSucceeded, "", "finished without a text answer (no tools)"},
			"only a tool":    {[]fake.Step{fake.Tool("1", "Bash", chat.ToolFailed)}, chat.TurnSucceeded, "", "(1 tool)"},
			"only blanks":    {[]fake.Step{fake.Text(" \n\n")}, chat.TurnSucceeded, "", "without a text answer"},
			"only garbage":   {[]fake.Step{fake.Garbage()}, chat.TurnSucceeded, "", "without a text answer"},
			"dies":           {[]fake.Step{fake.Die()}, chat.TurnFailed, chat.Crashed, "ended unexpectedly"},
			"no detail":      {[]fake.Step{fake.Fail(chat.AgentError, "")}, chat.TurnFailed, chat.AgentError, "without further detail"},
			"unknown class":  {[]fake.Step{fake.Fail("no-such-code", "x")}, chat.TurnFailed, chat.Internal, "(id t"},
			"plain error":    {[]fake.Step{plain("stopReason=error")}, chat.TurnFailed, chat.Internal, "(id t"},
			"own deadline":   {[]fake.Step{plain2(context.DeadlineExceeded)}, chat.TurnFailed, chat.AgentError, "reports"},
			"panic":          {[]fake.Step{fake.Panic()}, chat.TurnFailed, chat.Internal, "(id t"},
			"bad bytes":      {[]fake.Step{fake.Fail(chat.AgentError, "\x1b[31m\u202egnp\x00")}, chat.TurnFailed, chat.AgentError, "202e"},
			"huge detail":    {[]fake.Step{fake.Fail(chat.AgentError, strings.Repeat("x", 1<<20))}, chat.TurnFailed, chat.AgentError, "…"},
			"a platform's":   {[]fake.Step{fake.Fail(chat.Wait, "x")}, chat.TurnFailed, chat.Internal, "(id t"},
			"taken away":     {[]fake.Step{fake.Fail(chat.Stopped, "")}, chat.TurnStopped, chat.Stopped, "Stopped"},
			"text, then bad": {[]fake.Step{fake.Text("half"), fake.Fail(chat.Network, "x")}, chat.TurnFailed, chat.Network, "half"},
		} {
			h.agent.Script(c.steps...)
			tn, outs := h.say("do it")
			h.wantState(tn, c.state, c.reason)
			if len(outs) == 0 || !strings.Contains(outs[0].Part.Text, c.says) {
				t.Errorf("%s: said %q, want %q", name, texts(outs), c.says)
			}
			for _, leak := range []string{"stopReason", "goroutine", "panic", "pipe is broken"} {
				if strings.Contains(texts(outs), leak) {
					t.Errorf("%s: shows the inside: %q", name, texts(outs))
				}
			}
			if len(texts(outs)) > 2000 {
				t.Errorf("%s: said %d bytes", name, len(texts(outs)))
			}
		}
	})
}

func plain(s string) fake.Step { return plain2(errors.New(s)) }

func plain2(err error) fake.Step {
	return fake.Do(func(context.Context, *fake.Running) error { return fmt.Errorf("driver: %w", err) })
}

func TestFirstMessageAfterAStopGetsItsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Wait(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		_, done := h.run(ctx, "write a book")
		cancel(stop(chat.Stopped))
		<-done
		h.deliver()
		_, outs := h.say("hello")
		wantSaid(t, outs, "you said: hello")
	})
}

func TestLateOutputOfAnEndedTurnIsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		late := make(chan error, 1)
		h.agent.Script(fake.Do(func(_ context.Context, r *fake.Running) error {
			go func() {
				time.Sleep(10 * time.Second)
				late <- r.Emit(context.Background(), chat.Event{Kind: chat.EventText, Text: "a ghost"})
			}()
			return nil
		}))
		_, outs := h.say("hello")
		wantSaid(t, outs, "without a text answer")
		wantCode(t, <-late, chat.Conflict)
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("said %q", texts(outs))
		}
	})
}

// TestOneEndUnderFire ends turns in several ways at once, many times.
func TestOneEndUnderFire(t *testing.T) {
	t.Parallel()
	for range 4 {
		synctest.Test(t, func(t *testing.T) {
			h := build(t, turn.Config{TurnTimeout: time.Second})
			for i := range 50 {
				h.endAtOnce(2 + i%4)
			}
		})
	}
}

// endAtOnce ends a turn in so many ways at the same time.
func (h *house) endAtOnce(ways int) {
	t := h.t
	t.Helper()
	goOn := make(chan struct{})
	h.agent.Script(fake.Text("half"), fake.Wait(goOn), fake.Text(" done"))
	ctx, cancel := context.WithCancelCause(t.Context())
	tn, done := h.run(ctx, "race")
	var wg sync.WaitGroup
	for _, end := range []func(){
		func() { close(goOn) },
		func() { cancel(stop(chat.Stopped)) },
		func() { h.agent.Worker(h.session.ID).Kill() },
		func() { time.Sleep(time.Second) },
		func() { h.mgr.Forget(h.session.ID) },
	}[:ways] {
		wg.Go(end)
	}
	wg.Wait()
	<-done
	now := h.turnOf(tn.ID)
	if !now.State.Final() {
		t.Errorf("the turn is %s", now.State)
	}
	outs := h.deliver()
	if n := strings.Count(texts(outs), "half"); n != 1 {
		t.Errorf("the answer was said %d times: %q", n, texts(outs))
	}
	if got := h.voice.last().lines(); len(got) != 1 {
		t.Errorf("the live message ended %d times", len(got))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ended) != 1 || h.ended[0].State != now.State {
		t.Errorf("told about %d ends: %+v", len(h.ended), h.ended)
	}
	h.ended = nil
}

func TestWorkerThatExitsAtOnceHarmsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		for i := range 100 {
			tn := h.queue("hello")
			if i%2 == 0 {
				h.agent.Script(fake.Die())
			} else {
				h.mgr.Warm(t.Context(), h.session)
				synctest.Wait()
				go h.agent.Worker(h.session.ID).Kill() // before, while or after it is prompted
			}
			h.Run(t.Context(), tn)
			now := h.turnOf(tn.ID)
			if now.State != chat.TurnSucceeded && now.Reason != chat.Crashed {
				t.Errorf("turn is %s (%s)", now.State, now.Reason)
			}
			outs := h.deliver()
			if end := outs[len(outs)-1].Part.Text; len(outs) > 2 || end != "you said: hello" && !strings.Contains(end, "ended unexpectedly") {
				t.Errorf("said %q", texts(outs))
			}
			synctest.Wait()
		}
		h.plum()
	})
}

func TestTurnOfSomebodyElseIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		tn := h.queue("hello")
		if err := h.db.Turns().Withdraw(t.Context(), tn.ID, nil); err != nil {
			t.Fatal(err)
		}
		h.Run(t.Context(), tn)
		h.wantState(tn, chat.TurnWithdrawn, "")
		if n := len(h.agent.Opens()); n != 0 {
			t.Error("a worker was opened for it")
		}
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("said %q", texts(outs))
		}
	})
}

func TestShutdownInterruptsWhatTheAgentSawAndRequeuesTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Text("half"), fake.Wait(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "hello")
		cancel(stop(chat.Shutdown))
		<-done
		h.wantState(tn, chat.TurnInterrupted, chat.Shutdown)
		outs := h.deliver()
		wantSaid(t, outs, "half", "was shut down")
		if len(buttons(outs)) != 3 {
			t.Errorf("offers %q", buttons(outs))
		}

		h.mgr.Forget(h.session.ID)
		h.agent.HoldOpens(make(chan struct{}))
		ctx, cancel = context.WithCancelCause(t.Context())
		tn, done = h.run(ctx, "hello again")
		h.wantState(tn, chat.TurnRunning, "")
		cancel(stop(chat.Shutdown))
		<-done
		h.wantState(tn, chat.TurnQueued, "")
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("said %q", texts(outs))
		}
	})
}

func TestStopWhileTheWorkerOpens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.HoldOpens(make(chan struct{}))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "hello")
		cancel(stop(chat.Stopped))
		<-done
		h.wantState(tn, chat.TurnStopped, chat.Stopped)
		wantSaid(t, h.deliver(), "Stopped.")
		h.agent.HoldOpens(nil)
		h.say("hello")
		if n := len(h.agent.Prompts()); n != 1 {
			t.Errorf("%d prompts were given, want 1", n)
		}
	})
}

func TestIDThatTheAgentReportsIsKeptAndNeverEmptied(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Do(func(ctx context.Context, r *fake.Running) error {
			h.agent.Worker(h.session.ID).Rename("another-id")
			return r.Emit(ctx, chat.Event{Kind: chat.EventSession, Text: "another-id"})
		}), fake.Do(func(ctx context.Context, r *fake.Running) error {
			synctest.Wait()
			if id := h.current().NativeID; id != "another-id" {
				t.Errorf("the reported id is not stored while the turn runs: %q", id)
			}
			return r.Emit(ctx, chat.Event{Kind: chat.EventSession})
		}))
		h.say("hello")
		if id := h.current().NativeID; id != "another-id" {
			t.Errorf("the id is %q", id)
		}
	})
}

func TestWorkerWithRefusedCredentialsOrNonsenseIsNotUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		for i, s := range []fake.Step{fake.Fail(chat.LoggedOut, ""), fake.Fail(chat.Protocol, ""), fake.Panic()} {
			h.agent.Script(s)
			h.say("hello")
			h.plum()
			if n := len(h.agent.Opens()); n != i+2 {
				t.Errorf("%d processes were started, want %d", n, i+2)
			}
		}
	})
}

func TestFiguresAreThoseOfTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(
			fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{In: 1}}),
			fake.Pause(90*time.Second),
			fake.Tool("1", "Read", chat.ToolRunning), fake.Tool("1", "Read", chat.ToolDone), fake.Tool("2", "Read", chat.ToolDone),
			fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{In: 10, Out: 20, CostUSD: 0.5}}),
			fake.Text("done"),
		)
		tn, _ := h.say("hello")
		if u := tn.Usage; u.In != 10 || u.Out != 20 || u.CostUSD != 0.5 || u.Took != 90*time.Second {
			t.Errorf("usage %+v", u)
		}
		if got := h.voice.last().lines(); got[0] != "done · 1m 30s · 2 tools" {
			t.Errorf("the live message ended with %q", got)
		}
	})
}

func TestNoticeThatCannotBeSaidNowIsSaidWithTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.mgr.Forget(h.session.ID)
		h.agent.Lose(h.session.Seed)
		h.voice.fail = errors.New("disk full")
		_, outs := h.say("what was the word?")
		wantSaid(t, outs, "no longer has the earlier session", "plum")
	})
}

func TestQuotaTellsWhenItEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(func(context.Context, *fake.Running) error {
			return &chat.Error{Code: chat.Quota, Detail: "limit reached", After: 2 * time.Hour}
		})
		at := time.Now().Add(2 * time.Hour).Format("15:04")
		tn, outs := h.say("work")
		h.wantState(tn, chat.TurnFailed, chat.Quota)
		wantSaid(t, outs, "Available again at "+time.Now().Add(2*time.Hour).Format("2006-01-02 ")+at)
	})
}

// A name that no agent has taken yet must not keep a session from working.
func TestAModelThatTheAgentDoesNotKnowIsTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		wish := func(model string) {
			t.Helper()
			if err := h.db.Sessions().Wish(t.Context(), h.session.ID, chat.SettingModel, model); err != nil {
				t.Fatal(err)
			}
		}
		wants := func(model string, unproven bool) {
			t.Helper()
			if s := h.current(); s.Model != model || s.Unproven != unproven {
				t.Errorf("model %q, unproven %v; want %q, %v", s.Model, s.Unproven, model, unproven)
			}
		}
		refused := []fake.Step{fake.Fail(chat.ModelUnknown, "no model of that name")}
		wish("large")
		wants("large", true)
		h.agent.Script(fake.Text("fine"))
		h.say("hello")
		wants("large", false)
		wish("lrage")
		wish("lagre")
		h.agent.Script(refused...)
		_, outs := h.say("again")
		wantSaid(t, outs, "no model of that name. /model shows which there are; /model default is the agent's own choice.\n\nIt runs with the model of before again: large")
		wants("large", false)
		h.agent.Script(fake.Text("as before"))
		_, outs = h.say("and again")
		wantSaid(t, outs, "as before")
		// One that has worked is not taken back: that the service has lost it may
		// be for a while.
		h.agent.Script(refused...)
		h.say("once more")
		wants("large", false)
		wish("")
		wish("lagre")
		h.agent.Script(refused...)
		_, outs = h.say("default")
		wantSaid(t, outs, "of before again: large")
		wants("large", false)
	})
}
