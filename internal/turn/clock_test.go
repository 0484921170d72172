package turn_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

var clocks = turn.Config{StallNotice: 5 * time.Minute, StallStop: 30 * time.Minute, AskTimeout: 5 * time.Hour}

func TestSilentAgentIsToldAboutThenStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, clocks)
		h.say("remember the word plum")
		h.agent.Script(fake.Text("working"), fake.Wait(nil))
		tn, done := h.run(t.Context(), "hello")
		time.Sleep(5*time.Minute - time.Second)
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("too early: %q", texts(outs))
		}
		time.Sleep(2 * time.Second)
		outs := h.deliver()
		if !strings.Contains(texts(outs), "no sign of life for 5m 0s") || buttons(outs)[0] != "stop:"+itoa(tn.ID) {
			t.Errorf("said %q with %q", texts(outs), buttons(outs))
		}
		time.Sleep(24*time.Minute + 50*time.Second)
		h.wantState(tn, chat.TurnRunning, "")
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("told twice: %q", texts(outs))
		}
		<-done
		h.wantState(tn, chat.TurnStopped, chat.Stalled)
		wantSaid(t, h.deliver(), "working", "no sign of life for too long")
		h.plum()
	})
}

func TestEverySignOfLifeStartsTheClockAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, clocks)
		var steps []fake.Step
		for range 20 {
			steps = append(steps, fake.Pause(4*time.Minute), fake.Emit(chat.Event{Kind: chat.EventThought, Text: "hm"}))
		}
		steps = append(steps, fake.Pause(6*time.Minute), fake.Text("a"), fake.Pause(6*time.Minute), fake.Text("b"))
		h.agent.Script(steps...)
		tn, outs := h.say("hello")
		h.wantState(tn, chat.TurnSucceeded, "")
		if n := strings.Count(texts(outs), "no sign of life"); n != 2 {
			t.Errorf("told %d times, want 2: %q", n, texts(outs))
		}
	})
}

func TestRunningToolIsNoSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, clocks)
		h.agent.Script(
			fake.Tool("1", "Bash", chat.ToolRunning), fake.Pause(3*time.Hour), fake.Tool("1", "Bash", chat.ToolDone),
			fake.Pause(4*time.Minute), fake.Text("built"),
		)
		tn, outs := h.say("build")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "built")
		if len(outs) != 1 {
			t.Errorf("said %q", texts(outs))
		}

		h.agent.Script(fake.Tool("1", "Bash", chat.ToolRunning), fake.Tool("1", "Bash", chat.ToolDone), fake.Wait(nil))
		start := time.Now()
		tn, _ = h.say("build")
		h.wantState(tn, chat.TurnStopped, chat.Stalled) // silent after the tool's result
		if d := time.Since(start); d > 32*time.Minute {
			t.Errorf("stopped after %v", d)
		}
	})
}

func TestOpenAskIsNoSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, clocks)
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("{answer}"))
		_, done := h.run(t.Context(), "list")
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		if err := h.decide(h.openAsks()[0].ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		outs := h.deliver()
		wantSaid(t, outs, "once")
		if strings.Contains(texts(outs), "no sign of life") {
			t.Errorf("said %q", texts(outs))
		}
	})
}

func TestAbsoluteLimitEndsATurnThatIsNeverSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clocks
		c.TurnTimeout = time.Hour
		h := build(t, c)
		h.say("remember the word plum")
		var steps []fake.Step
		for range 2000 {
			steps = append(steps, fake.Pause(5*time.Second), fake.Tool("1", "Bash", chat.ToolRunning))
		}
		h.agent.Script(steps...)
		start := time.Now()
		tn, outs := h.say("watch the log")
		if d := time.Since(start).Round(time.Minute); d != time.Hour {
			t.Errorf("ended after %v", d)
		}
		h.wantState(tn, chat.TurnStopped, chat.TimedOut)
		wantSaid(t, outs, "time limit")
		h.plum()
	})
}

func TestClocksThatAreOffNeverFire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Pause(1000*time.Hour), fake.Text("at last"))
		tn, outs := h.say("hello")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "at last")

		h = build(t, turn.Config{StallNotice: time.Minute})
		h.agent.Script(fake.Pause(1000*time.Hour), fake.Text("at last"))
		tn, outs = h.say("hello")
		h.wantState(tn, chat.TurnSucceeded, "")
		if n := strings.Count(texts(outs), "no sign of life"); n != 1 {
			t.Errorf("told %d times", n)
		}

		h = build(t, turn.Config{StallStop: time.Minute})
		h.agent.Script(fake.Pause(1000 * time.Hour))
		tn, _ = h.say("hello")
		h.wantState(tn, chat.TurnStopped, chat.Stalled)
	})
}

// counted counts the commits on the way of a turn.
type counted struct {
	turn.Ledger
	claims []chat.AttemptState
	moves  []chat.AttemptState
}

func (c *counted) Claim(ctx context.Context, id int64, s chat.AttemptState) (chat.Attempt, error) {
	c.claims = append(c.claims, s)
	return c.Ledger.Claim(ctx, id, s)
}

func (c *counted) Advance(ctx context.Context, id int64, s chat.AttemptState, runner string) error {
	c.moves = append(c.moves, s)
	return c.Ledger.Advance(ctx, id, s, runner)
}

func TestWarmTurnCommitsTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		c := &counted{Ledger: h.books.Ledger}
		h.books.Ledger = c
		h.crash()
		h.say("hello")
		if len(c.claims) != 1 || c.claims[0] != chat.AttemptClaimed || len(c.moves) != 2 ||
			c.moves[0] != chat.AttemptReady || c.moves[1] != chat.AttemptIntent {
			t.Errorf("cold: claimed %v, then %v", c.claims, c.moves)
		}
		c.claims, c.moves = nil, nil
		h.say("hello") // claim with intent, end: nothing in between
		if len(c.claims) != 1 || c.claims[0] != chat.AttemptIntent || len(c.moves) != 0 {
			t.Errorf("warm: claimed %v, then %v", c.claims, c.moves)
		}
		c.claims, c.moves = nil, nil
		h.agent.Script(fake.Pause(time.Second)) // a turn that takes time says that it was sent
		tn, done := h.run(t.Context(), "hello")
		time.Sleep(500 * time.Millisecond)
		u, err := h.db.Runs().Unfinished(t.Context())
		if err != nil || len(u) != 1 || u[0].Turn.ID != tn.ID || u[0].Attempt.State != chat.AttemptSent || u[0].Attempt.Runner == "" {
			t.Errorf("unfinished: %+v, %v", u, err)
		}
		<-done
	})
}
