package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestAnApprovalShowsTheCommandAndDecides(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer func(context.Context, chat.Question) (chat.Answer, error)
		ran    bool
		says   string
	}{
		{"once", workertest.Say(chat.Answer{Option: optionAllow, Effect: chat.EffectAllow}), true, "ran: hi"},
		{"this session", workertest.Say(chat.Answer{Option: optionSession, Effect: chat.EffectSession}), true, "ran: hi"},
		{"denied with a reason", workertest.Say(chat.Answer{Effect: chat.EffectDeny, Text: "too risky"}), false, "too risky"},
		{"no effect is no consent", workertest.Say(chat.Answer{Option: optionAllow}), false, "denied"},
		{"nobody decided", func(context.Context, chat.Question) (chat.Answer, error) {
			return chat.Answer{Effect: chat.EffectAllow}, errors.New("the database is gone")
		}, false, "Nobody decided"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			agent := w.open(t, nil)
			mark := filepath.Join(w.work, "mark")
			a, err := workertest.Prompt(t, agent, "run touch "+mark+"; echo hi", tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Asked()) != 1 {
				t.Fatalf("%d questions", len(a.Asked()))
			}
			q := a.Asked()[0]
			if q.Kind != chat.AskApproval || q.Tool != "Bash" || q.Key == "" || q.Detail != "touch "+mark+"; echo hi" {
				t.Errorf("question = %+v", q)
			}
			var effects []chat.Effect
			for _, o := range q.Options {
				effects = append(effects, o.Effect)
				if o.Label != "" {
					t.Errorf("the driver speaks to people: %+v", o)
				}
			}
			if len(effects) != 3 || effects[0] != chat.EffectAllow || effects[1] != chat.EffectSession || effects[2] != chat.EffectDeny {
				t.Errorf("effects = %v", effects)
			}
			if _, err := os.Stat(mark); (err == nil) != tt.ran {
				t.Errorf("ran = %v, want %v", err == nil, tt.ran)
			}
			if !strings.Contains(a.Blocks(), tt.says) {
				t.Errorf("text = %q, want %q in it", a.Blocks(), tt.says)
			}
			w.journal(t)
		})
	}
}

func TestTheSameCommandIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	a, err := workertest.Prompt(t, agent, "run echo hi\nrun echo hi", workertest.Say(chat.Answer{Effect: chat.EffectSession}))
	if err != nil || len(a.Asked()) != 2 {
		t.Errorf("%d questions, %v: what holds for a session is not the agent's business", len(a.Asked()), err)
	}
	if a.Asked()[0].Key == a.Asked()[1].Key {
		t.Error("two requests share a key")
	}
}

func TestQuestionsAreAnsweredByTheirText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		answer chat.Answer
		says   string
	}{
		{"one option", "ask", chat.Answer{Values: map[string][]string{"0": {"blue"}}}, "you chose blue"},
		{"own words", "ask", chat.Answer{Text: "green like grass"}, "you chose green like grass"},
		{"option without values", "ask", chat.Answer{Option: "red", Effect: chat.EffectChoose}, "you chose red"},
		{"three at once", "questions", chat.Answer{Values: map[string][]string{"0": {"red"}, "1": {"plum", "fig"}, "2": {"Zoe"}}}, "you chose red; plum, fig; Zoe"},
		{"some of three", "questions", chat.Answer{Values: map[string][]string{"1": {"pear"}}}, "you chose pear"},
		{"nothing of several", "questions", chat.Answer{Values: map[string][]string{"0": {"red"}, "1": {}, "2": {"Ann"}}}, "you chose red; None of these.; Ann"},
		{"refused", "ask", chat.Answer{Effect: chat.EffectDeny, Text: "ask later"}, "no answer: The user did not answer. ask later"},
		{"nothing", "ask", chat.Answer{}, "no answer: The user did not answer."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			a, err := workertest.Prompt(t, w.open(t, nil), tt.script, workertest.Say(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			if a.Blocks() != tt.says+"|" {
				t.Errorf("text = %q, want %q", a.Blocks(), tt.says)
			}
			if n := len(a.Of(chat.EventTool)); n != 0 {
				t.Error("a question is shown as a tool too")
			}
			w.journal(t)
		})
	}
}

func TestAQuestionCarriesTheAgentsOwnOptions(t *testing.T) {
	t.Parallel()
	a, err := workertest.Prompt(t, newWorld(t, nil).open(t, nil), "questions", workertest.Say(chat.Answer{Effect: chat.EffectDeny}))
	if err != nil {
		t.Fatal(err)
	}
	q := a.Asked()[0]
	if q.Kind != chat.AskChoice || len(q.Queries) != 3 {
		t.Fatalf("question = %+v", q)
	}
	fruit := q.Queries[1]
	if fruit.Text != "Which fruits?" || fruit.Header != "Fruit" || !fruit.Multi || !fruit.Free || len(fruit.Options) != 3 {
		t.Errorf("query = %+v", fruit)
	}
	if o := fruit.Options[2]; o.ID != "fig" || o.Label != "fig" || o.Hint != "choose fig" || o.Effect != chat.EffectChoose {
		t.Errorf("option = %+v", o)
	}
}

func TestAPlanIsShownAndApproved(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, func(s *worker.Spec) { s.Mode = "plan" })
	a, err := workertest.Prompt(t, agent, "plan", workertest.Allow)
	if err != nil || a.Blocks() != "the plan is approved|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
	if q := a.Asked()[0]; q.Kind != chat.AskPlan || q.Detail != "1. look\n2. leap" || len(q.Options) != 2 {
		t.Errorf("question = %+v", q)
	}
}

func TestAnOpenQuestionIsWithdrawnWithTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	withdrawn := make(chan error, 1)
	a := workertest.NewHost(func(ctx context.Context, _ chat.Question) (chat.Answer, error) {
		<-ctx.Done()
		withdrawn <- context.Cause(ctx)
		return chat.Answer{}, ctx.Err()
	})
	cancel, result := workertest.Begin(t, agent, "run echo hi", a)
	a.AwaitQuestions(t, 1)
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	<-withdrawn
	if n := len(w.journal(t, "tool")); n != 0 {
		t.Error("it ran all the same")
	}
	if next, err := workertest.Prompt(t, agent, "run echo hi", workertest.Allow); err != nil || next.Blocks() != "ran: hi|" {
		t.Errorf("%q, %v", next.Blocks(), err)
	}
}

func TestAModeIsStatedAtEveryStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.open(t, func(s *worker.Spec) { s.Mode = "plan"; s.Model = "sim-small" })
	if _, err := workertest.Prompt(t, first, "say hi", nil); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.open(t, func(s *worker.Spec) {
		s.NativeID, s.Mode, s.Model = first.NativeID(), "plan", "sim-small"
	})
	a, err := workertest.Prompt(t, second, "args", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"--permission-mode=plan"`, `"--model=sim-small"`, `"--resume=` + first.NativeID()} {
		if !strings.Contains(a.Blocks(), want) {
			t.Errorf("%s is not in %s", want, a.Blocks())
		}
	}
}
