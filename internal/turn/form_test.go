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

// asking has a turn ask q, and gives f what is shown.
func asking(t *testing.T, q chat.Question, f func(t *testing.T, h *house, shown chat.Out, a chat.Ask)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(q))
		ctx, cancel := context.WithCancelCause(t.Context())
		_, done := h.run(ctx, "go")
		shown := h.deliver()
		f(t, h, shown[len(shown)-1], h.openAsks()[0])
		cancel(stop(chat.Stopped))
		<-done
	})
}

func fieldNames(f *chat.Form) (out []string) {
	for _, x := range f.Fields {
		out = append(out, x.Name)
	}
	return out
}

func TestWhatButtonsCannotSayIsAForm(t *testing.T) {
	two := []chat.Option{{ID: "r", Label: "Red"}, {ID: "b", Label: "Blue"}}
	for name, c := range map[string]struct {
		q      chat.Question
		fields string // empty = no form
		send   string
		whole  bool
	}{
		"an approval takes a reason": {approval("a", "ls"), "why", "why", false},
		"a plan takes a reason":      {chat.Question{Key: "p", Kind: chat.AskPlan, Detail: "1. build"}, "why", "why", false},
		"a text is a field":          {chat.Question{Key: "t", Kind: chat.AskText, Title: "Name?"}, "text", "form", true},
		"one of several is a button": {chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{{ID: "x", Text: "?", Options: two}}}, "", "", false},
		"one of several, or words":   {chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{{ID: "x", Text: "?", Options: two, Free: true}}}, "w0", "form", false},
		"words only":                 {chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{{ID: "x", Text: "?"}}}, "w0", "form", true},
		"several of several":         {chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{{ID: "x", Text: "?", Options: two, Multi: true}}}, "q0", "form", true},
		"several questions": {chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{
			{ID: "x", Text: "?", Options: two, Free: true}, {ID: "y", Text: "?", Options: two, Multi: true}, {ID: "z", Text: "?"},
		}}, "q0 w0 q1 w2", "form", true},
		"options without a question": {chat.Question{Key: "o", Kind: chat.AskChoice, Options: two}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			asking(t, c.q, func(t *testing.T, _ *house, o chat.Out, a chat.Ask) {
				f := o.Part.Form
				if f == nil || c.fields == "" {
					if f != nil || c.fields != "" {
						t.Errorf("form %+v", f)
					}
					return
				}
				want := "ask:" + itoa(a.ID) + ":" + c.send
				if got := strings.Join(fieldNames(f), " "); got != c.fields || f.Whole != c.whole || len(f.Send) != 1 || f.Send[0].Data != want {
					t.Errorf("%q, %+v", got, f)
				}
			})
		})
	}
}

func TestAFormShowsWhatIsAnsweredSoFar(t *testing.T) {
	q := chat.Question{Key: "c", Kind: chat.AskChoice, Queries: []chat.Query{
		{ID: "color", Header: "Color", Text: "Which color?", Options: []chat.Option{{ID: "r", Label: "Red"}, {ID: "b", Label: "Blue"}}, Free: true},
		{ID: "size", Text: "Which sizes?", Multi: true, Options: []chat.Option{{ID: "s", Label: "Small"}, {ID: "l", Label: "Large"}}},
	}}
	asking(t, q, func(t *testing.T, h *house, _ chat.Out, a chat.Ask) {
		a.Answer.Values = map[string][]string{"color": {"teal"}, "size": {"s", "l"}}
		face, err := h.Faces().Face(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		f := face.Form
		if f == nil || f.Fields[0].Label != "1. Color" || !slices.Equal(f.Fields[0].Options, []string{"Red", "Blue"}) || len(f.Fields[0].Values) != 0 ||
			!slices.Equal(f.Fields[1].Values, []string{"teal"}) || !slices.Equal(f.Fields[2].Values, []string{"0", "1"}) || !f.Fields[2].Multi {
			t.Errorf("%+v", f)
		}
		for _, want := range []string{"→ teal", "→ Small, Large"} {
			if !strings.Contains(face.Markdown, want) {
				t.Errorf("%q is missing in %q", want, face.Markdown)
			}
		}
		if b := face.Buttons[2][0]; b.Label != "✓ 2: Small" {
			t.Errorf("button %q", b.Label)
		}
	})
}

func TestARequestThatIsOverSaysHowItEndedAndOffersNothing(t *testing.T) {
	asking(t, approval("a", "rm -rf build"), func(t *testing.T, h *house, _ chat.Out, a chat.Ask) {
		for want, c := range map[string]chat.Ask{
			"Allowed by Ann":            {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectAllow, By: chat.Person{ID: "9", Name: "Ann"}}},
			"Denied by Ann: too much":   {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, Text: "too much", By: chat.Person{ID: "9", Name: "Ann"}}},
			"Denied by " + a.Asker.Name: {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, By: chat.Person{ID: a.Asker.ID}}},
			"Expired (denied)":          {State: chat.AskExpired},
			"No longer open":            {State: chat.AskVoid},
		} {
			b := a
			b.State, b.Answer = c.State, c.Answer
			face, err := h.Faces().Face(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(face.Markdown, "rm -rf build") || !strings.HasSuffix(face.Markdown, "**"+want+"**") || len(face.Buttons) != 0 || face.Form != nil {
				t.Errorf("want %q: %+v", want, face)
			}
		}
	})
}
