package turn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

func footer() []turn.FooterItem {
	return []turn.FooterItem{turn.FooterModel, turn.FooterTime, turn.FooterTokens, turn.FooterCost, turn.FooterContext}
}

func TestAnAnswerHasTheFiguresThatAreKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		items []turn.FooterItem
		usage chat.Usage
		want  string
	}{
		"all": {footer(), chat.Usage{Model: "opus", In: 12_345, Out: 950, CostUSD: 0.456, Window: 200_000, Used: 50_000, Took: 133 * time.Second},
			"opus · 2m 13s · 12.3k in, 950 out · $0.46 · 75% of the context left"},
		"some are not told":           {footer(), chat.Usage{Model: "opus", Took: 5 * time.Second}, "opus · 5s"},
		"next to nothing":             {footer(), chat.Usage{Model: "m", In: 1, CostUSD: 0.0004, Took: time.Millisecond}, "m · <1s · 1 in, 0 out · <$0.01"},
		"large":                       {footer(), chat.Usage{Model: "m", In: 999_960, Out: 2_000_000, Took: time.Hour}, "m · 1h 0m · 1M in, 2M out"},
		"more than the window":        {footer(), chat.Usage{Model: "m", Window: 100, Used: 120, Took: time.Second}, "m · 1s · 0% of the context left"},
		"in another order":            {[]turn.FooterItem{turn.FooterCost, turn.FooterModel}, chat.Usage{Model: "m", CostUSD: 1}, "$1.00 · m"},
		"none":                        {nil, chat.Usage{Model: "m", In: 5}, ""},
		"a model with a strange name": {[]turn.FooterItem{turn.FooterModel}, chat.Usage{Model: "a\nb\u202ec"}, `a b\u{202e}c`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t, turn.Config{Footer: c.items})
				h.agent.Script(fake.Text("the answer"), fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &c.usage}))
				_, outs := h.say("work")
				want := "the answer"
				if c.want != "" {
					want += "\n" + c.want
				}
				if got := outs[0].Part.Text; got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

func TestOnlyWhatIsAnAnswerHasFigures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{Footer: footer()})
		used := fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{Model: "opus", In: 10, Out: 5, Took: time.Second}})
		h.agent.Script(fake.Text("half of it"), used, fake.Fail(chat.AgentError, "overloaded"))
		_, outs := h.say("work")
		if len(outs) != 2 || !strings.Contains(outs[0].Part.Text, "not complete.\nopus · 1s · 10 in, 5 out") || strings.Contains(outs[1].Part.Text, "opus") {
			t.Errorf("said %q and %q", outs[0].Part.Text, outs[len(outs)-1].Part.Text)
		}
		h.agent.Script(used)
		if _, outs = h.say("work"); !strings.Contains(outs[0].Part.Text, "opus · 1s") {
			t.Errorf("an end without words: %q", outs[0].Part.Text)
		}
		h.agent.Script(used, fake.Fail(chat.AgentError, "overloaded"))
		if _, outs = h.say("work"); strings.Contains(outs[0].Part.Text, "opus") {
			t.Errorf("an error: %q", outs[0].Part.Text)
		}
	})
}

func TestHowATurnEndedIsShownOnItsMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{TurnTimeout: time.Minute})
		for _, c := range []struct {
			steps []fake.Step
			want  chat.Sign
		}{
			{[]fake.Step{fake.Text("done")}, chat.SignDone},
			{[]fake.Step{fake.Fail(chat.AgentError, "overloaded")}, chat.SignFailed},
			{[]fake.Step{fake.Wait(nil)}, chat.SignFailed}, // its time is up: nobody stopped it
		} {
			h.agent.Script(c.steps...)
			tn, _ := h.say("work")
			if got := h.voice.last().signs; !slices.Equal(got, []chat.Sign{c.want}) {
				t.Errorf("%s, %s: shows %q, want %q", tn.State, tn.Reason, got, c.want)
			}
		}
	})
}

func TestWhatAConversationWantsToSeeIsAskedForInItsTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{Verbosity: chat.VerbosityStatus})
		h.agent.Script(fake.Text("done"))
		h.say("work")
		if got := h.voice.last().look; got.Verbosity != chat.VerbosityStatus || got.Lang != "en" || got.Agent == "" {
			t.Errorf("shown as %+v", got)
		}
		c, err := h.db.Sessions().ConversationByID(t.Context(), h.session.Conversation)
		if err != nil {
			t.Fatal(err)
		}
		was := c
		c.Verbosity = chat.VerbosityAll
		if err := h.db.Sessions().Change(t.Context(), was, c); err != nil {
			t.Fatal(err)
		}
		h.agent.Script(fake.Text("done again"))
		h.say("work")
		if got := h.voice.last().look; got.Verbosity != chat.VerbosityAll {
			t.Errorf("shown as %+v", got)
		}
	})
}
