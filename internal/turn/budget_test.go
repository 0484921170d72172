package turn_test

import (
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

// spend reports what the turn has used so far.
func spend(tokens int64, usd float64) fake.Step {
	return fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{In: tokens / 2, Out: tokens - tokens/2, CostUSD: usd}})
}

func TestTurnBeyondItsBudgetIsStoppedAndTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget turn.Budget
		spends fake.Step
		said   string
	}{
		"tokens":         {turn.Budget{TurnTokens: 1000}, spend(1001, 0), "1001 tokens in this turn, 1000 are allowed"},
		"money":          {turn.Budget{TurnUSD: 0.5}, spend(10, 0.75), `\$0.75 in this turn, \$0.50 are allowed`},
		"tokens, a day":  {turn.Budget{DayTokens: 2000}, spend(1500, 0), "2100 of 2000 tokens today"},
		"money of a day": {turn.Budget{DayUSD: 1}, spend(1, 0.9), `\$1.10 of \$1.00 today`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t, turn.Config{Budget: c.budget})
				h.agent.Script(fake.Text("I will remember"), spend(600, 0.2))
				tn, _ := h.say("remember the word plum")
				h.wantState(tn, chat.TurnSucceeded, "")
				h.agent.Script(fake.Text("half"), c.spends, fake.Wait(nil))
				session := h.current().NativeID
				tn, outs := h.say("and with forty helpers")
				h.wantState(tn, chat.TurnStopped, chat.OverBudget)
				wantSaid(t, outs, "half", c.said)
				if now := h.current().NativeID; now != session {
					t.Errorf("session %q became %q", session, now)
				}
			})
		})
	}
}

// Most agents tell what a turn took as the last thing.
func TestTurnThatEndsBeyondItsBudgetIsToldAndWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{Budget: turn.Budget{TurnTokens: 1000}})
		h.agent.Script(fake.Text("done"), spend(1001, 0))
		tn, outs := h.say("work")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "done", "1001 tokens in this turn, 1000 are allowed")
		if tn, _ = h.say("remember the word plum"); tn.State != chat.TurnSucceeded {
			t.Errorf("the next turn is %s", tn.State)
		}
		h.plum()
	})
}

func TestDayWithoutBudgetStartsNothingAndKeepsWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{Budget: turn.Budget{DayTokens: 1000}})
		h.agent.Script(fake.Text("done"), spend(1000, 0))
		h.say("remember the word plum")
		first, second := h.queue("one"), h.queue("two")
		before := len(h.inputs)
		h.Run(t.Context(), first)
		h.wantState(first, chat.TurnFailed, chat.OverBudget)
		wantSaid(t, h.deliver(), "1000 of 1000 tokens today")
		if !h.turnOf(second.ID).Held {
			t.Error("what waits is used up")
		}
		if len(h.inputs) != before {
			t.Error("the agent was prompted")
		}
		if h.background(fake.Text("my own idea"), fake.Wait(nil)); h.newest().Reason != chat.OverBudget {
			t.Errorf("the agent's own turn is %s", h.newest().State)
		}
		h.deliver()
		wait(24 * time.Hour)
		tn, _ := h.say("hello")
		h.wantState(tn, chat.TurnSucceeded, "")
	})
}

func TestWithoutABudgetNothingIsLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Text("done"), spend(1<<40, 1e6))
		tn, _ := h.say("everything")
		h.wantState(tn, chat.TurnSucceeded, "")
	})
}
