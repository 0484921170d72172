package codex

import (
	"context"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestASubAgentsEndIsNotOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, w, "task say from below\nsay tasked", nil)
	if err != nil || h.Blocks() != "tasked|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
	if tools := h.Of(chat.EventTool); len(tools) != 2 || tools[1].Tool.State != chat.ToolDone || tools[0].Tool.Title != "say from below" {
		t.Errorf("tools %+v", tools)
	}
}

func TestTheCallsOfASubAgentCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h := workertest.NewHost(nil)
	stop, ended := workertest.Begin(t, w, "task say from below\nstream 3000 10", h)
	h.AwaitText(t, "tick")
	// 100 tokens are those of the agent's own first call, 110 and 10 its helper's.
	h.Await(t, "figures", func(es []chat.Event) bool {
		for _, e := range es {
			if e.Kind == chat.EventUsage && e.Usage.In == 210 && e.Usage.Out == 10 {
				return true
			}
		}
		return false
	})
	stop(chat.E(chat.OverBudget, "", nil))
	wantCode(t, <-ended, chat.OverBudget)
	say(t, w, "say hello")
}

func TestASubAgentsQuestionsAreAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, w, "task run echo below\nsay tasked", workertest.Allow)
	if err != nil || h.Blocks() != "tasked|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
	if q := h.Asked(); len(q) != 1 || q[0].Detail != "echo below" {
		t.Errorf("asked %+v", q)
	}
}

func TestAStopReachesASubAgentsCommand(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, func(s *worker.Spec) { s.Mode = modeYolo })
	stop, ended := workertest.Begin(t, w, "task run sleep 303\nsay tasked", workertest.NewHost(nil))
	sleeping := func() bool { return strings.Contains(strings.Join(workertest.Left(wd.token)(), "\n"), "sleep 303") }
	await(t, sleeping)
	stop(chat.E(chat.Stopped, "", nil))
	wantCode(t, <-ended, chat.Stopped)
	if sleeping() {
		t.Error("the sub-agent's command lives")
	}
	say(t, w, "say hello")
}

func TestAPatchIsShownBeforeItIsAllowed(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, nil)
	h, err := workertest.Prompt(t, w, "write a.txt hello\nsay done", workertest.Allow)
	if err != nil || h.Blocks() != "done|" {
		t.Fatalf("%q, %v", h.Blocks(), err)
	}
	q := h.Asked()
	if len(q) != 1 || q[0].Kind != chat.AskApproval || q[0].Detail != "add "+wd.work+"/a.txt\nhello" || q[0].Title != wd.work+"/a.txt" {
		t.Errorf("asked %+v", q)
	}
	if tools := h.Of(chat.EventTool); len(tools) != 2 || tools[1].Tool.State != chat.ToolDone {
		t.Errorf("tools %+v", tools)
	}
}

func TestPermissionsAndFormsAreAskedAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	for _, c := range []struct {
		text   string
		effect chat.Effect
		want   string
	}{
		{"permissions", chat.EffectAlways, `granted: {"permissions":{"fileSystem":null,"network":{"enabled":true}},"scope":"turn"}`},
		{"permissions", chat.EffectDeny, `granted: {"permissions":{},"scope":"turn"}`},
		{"form", chat.EffectSession, `form: {"_meta":null,"action":"accept","content":{}}`},
		{"form", chat.EffectDeny, `form: {"_meta":null,"action":"decline","content":null}`},
	} {
		h, err := workertest.Prompt(t, w, c.text, workertest.Say(chat.Answer{Effect: c.effect}))
		if err != nil || h.Text() != c.want {
			t.Errorf("%s, %s: %q, %v", c.text, c.effect, h.Text(), err)
		}
		if q := h.Asked(); len(q) != 1 || q[0].Detail == "" {
			t.Errorf("asked %+v", q)
		}
	}
}

func TestSeveralQuestionsAreOneAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, func(s *worker.Spec) { s.Mode = modePlan })
	h, err := workertest.Prompt(t, w, "questions", workertest.Say(chat.Answer{
		Effect: chat.EffectChoose, Values: map[string][]string{"colour": {"blue"}, "name": {"Zoë"}},
	}))
	if err != nil || !strings.Contains(h.Text(), "colour=blue") || !strings.Contains(h.Text(), "name=Zoë") {
		t.Errorf("%q, %v", h.Text(), err)
	}
	if q := h.Asked(); len(q) != 1 || len(q[0].Queries) != 2 || !q[0].Queries[1].Free || q[0].Queries[0].Options[1].ID != "blue" {
		t.Errorf("asked %+v", q)
	}
}

func TestLinesOverTheCapEndWhatTheyEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxLine = 1 << 20 }).open(t, nil)
	h, err := workertest.Prompt(t, w, "double 3", nil)
	if err != nil || h.Text() != "a long answer" {
		t.Errorf("%q, %v", h.Text(), err)
	}
	if h, err = workertest.Prompt(t, w, "bigline 3\nsay after", nil); err != nil || h.Blocks() != "after|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
	if tools := h.Of(chat.EventTool); len(tools) != 2 || tools[1].Tool.State != chat.ToolDone {
		t.Errorf("tools %+v", tools)
	}
}

func TestARequestOverTheCapIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxLine = 1 << 20 }).open(t, nil)
	h, err := workertest.Prompt(t, w, "bigask", workertest.Allow)
	if err != nil || h.Text() != "denied" || len(h.Asked()) > 0 {
		t.Errorf("%q, %v, %d asks", h.Text(), err, len(h.Asked()))
	}
}

func TestALoginThatIsRefusedIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, w, "fail 401", nil)
	wantCode(t, err, chat.LoggedOut)
	if n := len(h.Of(chat.EventRetry)); n != 1 {
		t.Errorf("%d retries were told", n)
	}
	if d := chat.DetailOf(err); strings.Contains(d, "127.0.0.1") {
		t.Errorf("the address is shown: %q", d)
	}
	h, err = workertest.Prompt(t, w, "fail 503", nil)
	wantCode(t, err, chat.Overloaded)
	if n := len(h.Of(chat.EventRetry)); n != 2 {
		t.Errorf("%d retries were told", n)
	}
}

func TestAQuotaTellsWhenItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	_, err := workertest.Prompt(t, w, "fail 429 quota", nil)
	wantCode(t, err, chat.Quota)
	if after := chat.AfterOf(err); after < 55*time.Minute || after > time.Hour {
		t.Errorf("it ends after %v", after)
	}
}

func TestWordsThatAreRepeatedAfterACutAreShownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, w, "cut", nil)
	wantCode(t, err, chat.Network)
	if h.Blocks() != "half an answer |" {
		t.Errorf("%q", h.Blocks())
	}
}

func TestWordsThatComeTooLateAreNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	wantCode(t, w.Replace(t.Context(), workertest.Input("say x")), chat.Conflict)
	say(t, w, "say hello")
	wantCode(t, w.Steer(t.Context(), workertest.Input("say x")), chat.Conflict)
	wantCode(t, w.Replace(t.Context(), workertest.Input("say x")), chat.Conflict)
	h := workertest.NewHost(nil)
	stop, ended := workertest.Begin(t, w, "stream 500 10", h)
	h.AwaitText(t, "tick")
	stop(chat.E(chat.Stopped, "", nil))
	wantCode(t, <-ended, chat.Stopped)
	wantCode(t, w.Steer(t.Context(), workertest.Input("say x")), chat.Conflict)
}

// uninvited is a host for what the agent does unasked.
func uninvited(h *workertest.Host) (func(context.Context) (worker.Host, func(error)), chan error) {
	ended := make(chan error, 1)
	return func(context.Context) (worker.Host, func(error)) { return h, func(err error) { ended <- err } }, ended
}

func TestWhatTheAgentDoesByItselfIsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	h := workertest.NewHost(workertest.Allow)
	open, ended := uninvited(h)
	w := newWorld(t, nil).open(t, func(s *worker.Spec) { s.Uninvited = open })
	say(t, w, "say hello\nlater 50 run echo alone")
	if err := <-ended; err != nil || !strings.Contains(h.Text(), "ran: alone") || len(h.Asked()) != 1 {
		t.Errorf("%q, %v", h.Text(), err)
	}
	if u := h.Of(chat.EventUsage); len(u) == 0 || u[0].Usage.In == 0 {
		t.Errorf("usage %+v", u)
	}
	say(t, w, "say hello")
}

func TestAUsersTurnTakesOverWhatTheAgentDoesByItself(t *testing.T) {
	t.Parallel()
	h := workertest.NewHost(nil)
	open, ended := uninvited(h)
	w := newWorld(t, nil).open(t, func(s *worker.Spec) { s.Uninvited = open })
	say(t, w, "say hello\nlater 50 stream 500 10")
	h.AwaitText(t, "tick")
	if got := say(t, w, "say mine"); !strings.Contains(got, "mine") {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(h.Text(), "mine") {
		t.Errorf("the agent's own turn says %q", h.Text())
	}
}

func TestAQuestionOfWhatWasTakenOverDoesNotEndTheUsersTurn(t *testing.T) {
	t.Parallel()
	h := workertest.NewHost(workertest.Undecided)
	open, ended := uninvited(h)
	w := newWorld(t, nil).open(t, func(s *worker.Spec) { s.Uninvited = open })
	say(t, w, "say hello\nlater 20 run echo alone")
	h.AwaitQuestions(t, 1)
	if got := say(t, w, "say mine"); !strings.Contains(got, "mine") {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNobodyHearsWhatNobodyTakes(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, nil)
	say(t, w, "say hello\nlater 20 run echo alone")
	await(t, func() bool { return strings.Contains(wd.log.String(), "works unasked; dropped") })
	if got := say(t, w, "say mine"); !strings.Contains(got, "mine") {
		t.Errorf("answered %q", got)
	}
}

func TestFiguresAreOfTheTurnAfterAResumeToo(t *testing.T) {
	t.Parallel()
	wd := newWorld(t, nil)
	w := wd.open(t, nil)
	figures := func() chat.Usage {
		t.Helper()
		h, err := workertest.Prompt(t, w, "say hello", nil)
		if err != nil {
			t.Fatal(err)
		}
		u := h.Of(chat.EventUsage)
		if len(u) == 0 {
			t.Fatal("no figures")
		}
		return *u[len(u)-1].Usage
	}
	first := figures()
	if first.In != 110 || first.Out != 10 || first.Window != 100000 || first.Used != 20 || first.Model != "sim-large" {
		t.Errorf("figures %+v", first)
	}
	if second := figures(); second.In != first.In || second.Out != first.Out {
		t.Errorf("figures %+v", second)
	}
	id := w.NativeID()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = wd.open(t, func(s *worker.Spec) { s.NativeID = id })
	if third := figures(); third.In != first.In || third.Out != first.Out {
		t.Errorf("after a resume %+v", third)
	}
}

func TestAPlanOfStepsIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).open(t, nil)
	h, err := workertest.Prompt(t, w, "todo\nsay listed", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := h.Of(chat.EventPlan); len(p) != 1 || len(p[0].Plan) != 2 || !p[0].Plan[0].Done || p[0].Plan[1].Done {
		t.Errorf("plan %+v", p)
	}
}
