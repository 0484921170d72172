package claude

import (
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestLeaveToActUnaskedIsAChoiceAndNotAState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, mode string
		want       string // the mode that is stated
		offered    bool   // the mode that asks nothing
	}{
		"nothing said":                  {"", "", modeAsk, false},
		"the operator's flag":           {argBypass, "", modeBypass, true},
		"the flag, and a chosen mode":   {argBypass, "plan", "plan", true},
		"leave to choose it":            {argAllow, "", modeAsk, true},
		"a mode among the arguments":    {"--permission-mode acceptEdits", "", "acceptEdits", false},
		"the same in one word":          {"--permission-mode=plan", "", "plan", false},
		"the flag and a mode":           {argBypass + " --permission-mode plan", "", "plan", true},
		"a mode without a value at all": {"--permission-mode", "", modeAsk, false},
	} {
		cfg := Config{Args: strings.Fields(c.args)}
		args := cfg.arguments(way{id: "id"}, worker.Spec{Mode: c.mode})
		if slices.Contains(args, argBypass) {
			t.Errorf("%s: %q would overrule every mode", name, args)
		}
		if !slices.Contains(args, "--permission-mode="+c.want) {
			t.Errorf("%s: %q does not state %s", name, args, c.want)
		}
		if got := slices.Contains(cfg.modes(), modeBypass); got != c.offered {
			t.Errorf("%s: the mode that asks nothing is offered: %v", name, got)
		}
		if slices.Contains(cfg.Args, argBypass) != strings.Contains(c.args, argBypass) {
			t.Errorf("%s: the operator's own arguments were changed", name)
		}
	}
}

func TestRetriesAreFewUnlessTheOperatorSaysOtherwise(t *testing.T) {
	t.Setenv(tries, "")
	if env := (Config{}).env(); slices.Contains(env, tries+"=5") {
		t.Errorf("what the daemon was started with is overruled: %q", env)
	}
	env := Config{Env: []string{tries + "=2"}}.env()
	if at := slices.Index(env, tries+"=2"); at != len(env)-1 {
		t.Errorf("the operator's own word does not come last: %q", env)
	}
}

func TestHalfAnAnswerIsMarked(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, agent, "half", nil)
	if err != nil || !strings.Contains(h.Text(), "half of the ans") {
		t.Fatalf("%q, %v", h.Text(), err)
	}
	if n := h.Of(chat.EventNotice); len(n) != 1 || n[0].Code != chat.Network {
		t.Errorf("notices %+v", n)
	}
	h, err = workertest.Prompt(t, agent, "say whole", nil)
	if n := h.Of(chat.EventNotice); err != nil || len(n) != 0 {
		t.Errorf("a whole answer has the notices %+v, %v", n, err)
	}
}

func TestMoneyOfAnUnknownPastIsNotGuessed(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, func(s *worker.Spec) { s.NativeID = "s" }) // resumed, and the agent did not tell what it has cost
	for i, want := range []float64{0, 0.25} {
		h := workertest.NewHost(nil)
		_, result := workertest.Begin(t, w, "hello", h)
		m := p.hears(t)
		total := []string{"7", "7.25"}[i]
		p.says(t, life(m.UUID, "started"), initLine, says("m", "hi"),
			`{"type":"result","subtype":"success","session_id":"s","total_cost_usd":`+total+`,"usage":{"input_tokens":1}}`)
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		if got := figures(t, h).CostUSD; got != want {
			t.Errorf("turn %d cost %v, want %v", i+1, got, want)
		}
	}
}
