package workertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// option returns the offered option of an effect.
func option(t *testing.T, q chat.Question, e chat.Effect) chat.Option {
	t.Helper()
	for _, o := range q.Options {
		if o.Effect == e {
			return o
		}
	}
	t.Errorf("no option to %s in %+v", e, q.Options)
	return chat.Option{}
}

// decide runs the approval turn and answers with an effect.
func (k Kit) decide(t *testing.T, w worker.Worker, e chat.Effect) *Host {
	t.Helper()
	h := NewHost(func(_ context.Context, q chat.Question) (chat.Answer, error) {
		return chat.Answer{Option: option(t, q, e).ID, Effect: e, Text: "not today"}, nil
	})
	if err := prompt(t, w, k.Say[Approval], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if n := len(h.Asked()); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	return h
}

func toolDone(h *Host) (done bool) {
	for _, e := range h.Events() {
		done = done || e.Kind == chat.EventTool && e.Tool.State == chat.ToolDone
	}
	return done
}

func approve(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Approval]})
	h := k.decide(t, w, chat.EffectAllow)
	q := h.Asked()[0]
	if q.Kind != chat.AskApproval || q.Key == "" || q.Detail == "" {
		t.Errorf("asked %+v", q)
	}
	if !toolDone(h) {
		t.Errorf("the tool did not run: %s", h.story())
	}
}

func approveSession(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Approval]})
	first := k.decide(t, w, chat.EffectSession)
	if !toolDone(first) {
		t.Error("the tool did not run")
	}
	// The agent must ask again: the rule is the gateway's own.
	second := k.decide(t, w, chat.EffectAllow)
	if a, b := first.Asked()[0], second.Asked()[0]; a.Key == b.Key {
		t.Errorf("two requests have one key %q", a.Key)
	} else if a.Detail != b.Detail || a.Tool != b.Tool {
		t.Errorf("the same request reads differently: %q %q", a.Detail, b.Detail)
	}
}

func deny(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	if h := k.decide(t, w, chat.EffectDeny); toolDone(h) {
		t.Error("the tool ran")
	}
	say(t, w, k.Say[Recall])
}

func nobodyDecided(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(Nobody)
	_ = prompt(t, w, k.Say[Approval], h).wait(t) // how the agent takes it is its own affair
	if toolDone(h) {
		t.Error("the tool ran")
	}
	say(t, w, k.Say[Recall])
}

// choice answers a question with the option of that label.
func choice(t *testing.T, label string) *Host {
	t.Helper()
	return NewHost(func(ctx context.Context, q chat.Question) (chat.Answer, error) {
		if q.Kind != chat.AskChoice || len(q.Queries) == 0 {
			t.Errorf("asked %+v", q)
			return Nobody(ctx, q)
		}
		for _, o := range q.Queries[0].Options {
			if o.Label == label {
				return chat.Answer{Option: o.ID, Effect: o.Effect, Values: map[string][]string{q.Queries[0].ID: {o.ID}}}, nil
			}
		}
		return chat.Answer{Effect: chat.EffectChoose, Text: label, Values: map[string][]string{q.Queries[0].ID: {label}}}, nil
	})
}

func question(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Question]})
	for _, colour := range []string{"blue", "red"} {
		h := choice(t, colour)
		if err := prompt(t, w, k.Say[Question], h).wait(t); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.Text(), colour) || len(h.Asked()) != 1 {
			t.Errorf("answered %s: %s", colour, h.Text())
		}
	}
}

func freeAnswer(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[FreeAnswer]})
	h := choice(t, "ultraviolet")
	if err := prompt(t, w, k.Say[FreeAnswer], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.Text(), "ultraviolet") || !h.Asked()[0].Queries[0].Free {
		t.Errorf("answered in own words: %s", h.Text())
	}
}

// reason denies with a reason that the answer must tell.
func reason(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(func(_ context.Context, q chat.Question) (chat.Answer, error) {
		return chat.Answer{Option: option(t, q, chat.EffectDeny).ID, Effect: chat.EffectDeny, Text: "not today"}, nil
	})
	if err := prompt(t, w, k.Say[Reason], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if toolDone(h) || !strings.Contains(h.Text(), "not today") {
		t.Errorf("the agent does not know why: %s", h.Text())
	}
	say(t, w, k.Say[Recall])
}

func withdrawn(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(Undecided)
	if err := prompt(t, w, k.Say[Withdraw], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if h.Withdrawn() != 1 || toolDone(h) || h.Text() == "" {
		t.Errorf("%d questions were withdrawn, the answer is %q", h.Withdrawn(), h.Text())
	}
	say(t, w, k.Say[Recall])
}

// questions answers three at once: an option, several, own words.
func questions(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Questions]})
	var given []string
	var several bool
	own := -1
	h := NewHost(func(_ context.Context, q chat.Question) (chat.Answer, error) {
		a := chat.Answer{Effect: chat.EffectChoose, Values: map[string][]string{}}
		own = ownWords(q.Queries)
		for i, query := range q.Queries {
			options := query.Options
			switch {
			case i == own:
				a.Values[query.ID] = []string{"ultraviolet"}
				given = append(given, "ultraviolet")
				continue
			case query.Multi:
				several = true
			case len(options) > 1:
				options = options[len(options)-1:]
			}
			for _, o := range options {
				a.Values[query.ID] = append(a.Values[query.ID], o.Value())
				given = append(given, o.Label)
			}
		}
		return a, nil
	})
	if err := prompt(t, w, k.Say[Questions], h).wait(t); err != nil {
		t.Fatal(err)
	}
	if q := h.Asked(); len(q) != 1 || len(q[0].Queries) < 3 || q[0].Kind != chat.AskChoice || !several || own < 0 {
		t.Errorf("asked %+v", q)
	}
	for _, g := range given {
		if !strings.Contains(h.Text(), g) {
			t.Errorf("%q was answered, the agent heard %q", g, h.Text())
		}
	}
}

// ownWords is which query is answered in own words: one without options, or
// else, for some agents offer some always, the last that takes them. -1 = none.
func ownWords(queries []chat.Query) int {
	if i := slices.IndexFunc(queries, func(q chat.Query) bool { return len(q.Options) == 0 && q.Free }); i >= 0 {
		return i
	}
	for i, q := range slices.Backward(queries) {
		if q.Free && !q.Multi {
			return i
		}
	}
	return -1
}

// plan runs the plan turn and decides about the plan.
func (k Kit) plan(t *testing.T, w worker.Worker, e chat.Effect) (*Host, error) {
	t.Helper()
	h := NewHost(func(_ context.Context, q chat.Question) (chat.Answer, error) {
		if q.Kind != chat.AskPlan || q.Detail == "" || q.Key == "" {
			t.Errorf("asked %+v", q)
		}
		return chat.Answer{Option: option(t, q, e).ID, Effect: e, Text: "not today"}, nil
	})
	err := prompt(t, w, k.Say[Plan], h).wait(t)
	if len(h.Asked()) == 0 {
		t.Error("no plan was shown")
	}
	return h, err
}

func planAccepted(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Plan]})
	if h, err := k.plan(t, w, chat.EffectAllow); err != nil || h.Text() == "" {
		t.Errorf("%q, %v", h.Text(), err)
	}
	wantAlive(t, w)
}

func planRefused(t *testing.T, k Kit) {
	w := k.openSpec(t, k.Driver(t), worker.Spec{Mode: k.Mode[Plan]})
	h, err := k.plan(t, w, chat.EffectDeny)
	if chat.CodeOf(err) == chat.Crashed || toolDone(h) {
		t.Errorf("it went on: %s, %v", h.story(), err)
	}
	say(t, w, k.Say[Recall])
}
