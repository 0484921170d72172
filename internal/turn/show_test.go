package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

func TestChoiceShowsTheAgentsOwnOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(chat.Question{Key: "q", Kind: chat.AskChoice, Queries: []chat.Query{
			{ID: "color", Header: "Color", Text: "Which color?", Options: []chat.Option{
				{ID: "r", Label: "Red", Hint: "the usual"}, {ID: "b", Label: "Blue"},
			}},
			{ID: "size", Text: "Which sizes?", Multi: true, Options: []chat.Option{{ID: "s", Label: "Small"}}},
			{ID: "name", Text: "What name?", Free: true},
		}}))
		ctx, cancel := context.WithCancelCause(t.Context())
		_, done := h.run(ctx, "paint")
		shown := h.deliver()
		id := itoa(h.openAsks()[0].ID)
		if got := buttons(shown); !slices.Equal(got, []string{"ask:" + id + ":0:0", "ask:" + id + ":0:1", "ask:" + id + ":1:0", "ask:" + id + ":1:ok"}) {
			t.Errorf("buttons %q", got)
		}
		for _, want := range []string{"1. **Color** Which color?", "**Red** – the usual", "2. Which sizes?", "3. What name?"} {
			if !strings.Contains(shown[0].Part.Text, want) {
				t.Errorf("%q is missing in %q", want, shown[0].Part.Text)
			}
		}
		cancel(stop(chat.Stopped))
		<-done
	})
}

func TestLongRequestIsAttachedWhole(t *testing.T) {
	for name, detail := range map[string]string{"many words": strings.Repeat("echo harmless; ", 1500) + "rm -rf /", "many lines": strings.Repeat("harmless\n", 150) + "rm -rf /"} {
		t.Run(name, func(t *testing.T) { attached(t, detail) })
	}
}

func attached(t *testing.T, detail string) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(approval("a1", detail)), fake.Text("{answer}"))
		_, done := h.run(t.Context(), "list")
		shown := h.deliver()
		a := h.openAsks()[0]
		if len(shown) != 2 || shown[0].Part.File == nil || string(shown[0].Part.File.Body) != detail {
			t.Fatalf("shown: %d messages", len(shown))
		}
		body := shown[1].Part.Text
		if strings.Contains(body, "harmless") || !strings.Contains(body, a.Digest) || len(shown[1].Part.Buttons) == 0 {
			t.Errorf("the request is shown as %q", body)
		}
		if err := h.decide(a.ID, "no", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		for _, o := range h.waitEdits() {
			if o.Op == chat.OpEdit && o.Target.ID != "b2" {
				t.Errorf("the wrong message was edited: %+v", o.Target)
			}
		}
	})
}

func TestOneQuestionIsShownOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(chat.Question{Key: "q", Kind: chat.AskChoice, Title: "Which color?", Queries: []chat.Query{
			{ID: "color", Text: "Which color?", Options: []chat.Option{{ID: "r", Label: "Red"}}},
		}}))
		ctx, cancel := context.WithCancelCause(t.Context())
		_, done := h.run(ctx, "paint")
		if text := h.deliver()[0].Part.Text; strings.Count(text, "Which color?") != 1 {
			t.Errorf("shown %q", text)
		}
		cancel(stop(chat.Stopped))
		<-done
	})
}
