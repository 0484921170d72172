package claude

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker/workertest"
)

// Further lines of the agent.
const (
	toolsLine   = `{"type":"stream_event","session_id":"s","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"}}}`
	modelLine   = `{"type":"stream_event","session_id":"s","event":{"type":"message_start","message":{"id":"m9","model":"m"}}}`
	lastWords   = `{"type":"stream_event","session_id":"s","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"}}}`
	abortedLine = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","total_cost_usd":0.25,"usage":{"input_tokens":1}}`
	failedLine  = `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":500,"usage":{"input_tokens":1}}`
)

// steered puts words in beside the test.
func steered(ctx context.Context, w *Worker, text string) <-chan error {
	res := make(chan error, 1)
	go func() { res <- w.Steer(ctx, workertest.Input(text)) }() // ends with Steer
	return res
}

// working returns a worker whose turn runs, with tools.
func working(t *testing.T) (p *puppet, w *Worker, host *workertest.Host, id string, result <-chan error) {
	t.Helper()
	p = newPuppet(t)
	w = p.play(t, nil)
	host = workertest.NewHost(nil)
	_, result = workertest.Begin(t, w, "hello", host)
	id = p.hears(t).UUID
	p.says(t, life(id, "queued"), life(id, "started"), initLine, says("m1", "first"), toolsLine)
	host.AwaitText(t, "first|")
	return p, w, host, id, result
}

func TestSteeredWordsGoInBetweenTwoCallsOfTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	if err := agent.Steer(t.Context(), workertest.Input("say too early")); chat.CodeOf(err) != chat.Unsupported && chat.CodeOf(err) != chat.Conflict {
		t.Errorf("steering nothing: %v", err)
	}
	a := workertest.NewHost(workertest.Allow)
	_, result := workertest.Begin(t, agent, "run sleep 0.5\nsay end", a)
	a.Await(t, "work", func(es []chat.Event) bool { return len(es) > 2 })
	if err := agent.Steer(t.Context(), workertest.Input("say steered")); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Blocks(), "steered") {
		t.Errorf("text = %q", a.Blocks())
	}
	if n := len(w.journal(t, "result")); n != 1 {
		t.Errorf("the agent made %d runs of one turn", n)
	}
	if next, err := workertest.Prompt(t, agent, "say next", nil); err != nil || next.Blocks() != "next|" {
		t.Errorf("%q, %v", next.Blocks(), err)
	}
}

func TestWordsForATurnWithoutToolsGoToTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, agent, "stream 20 25", a)
	a.AwaitText(t, "tick")
	wantCode(t, agent.Steer(t.Context(), workertest.Input("say steered")), chat.Conflict)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if next, err := workertest.Prompt(t, agent, "say next", nil); err != nil || next.Blocks() != "next|" {
		t.Errorf("%q, %v", next.Blocks(), err)
	}
	if n := len(w.journal(t, "prompt")); n != 2 {
		t.Errorf("%d messages reached the agent, want the two prompts", n)
	}
}

func TestWordsThatMissedTheToolsAreTakenBack(t *testing.T) {
	t.Parallel()
	p, w, a, _, result := working(t)
	late := steered(t.Context(), w, "more")
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"), modelLine, lastWords)
	r := p.hears(t)
	if r.Request["subtype"] != "cancel_async_message" || r.Request["message_uuid"] != m.UUID {
		t.Fatalf("request = %+v", r.Request)
	}
	p.says(t, resultLine, life(m.UUID, "cancelled"))
	p.agrees(t, r, `{"cancelled":true}`)
	wantCode(t, <-late, chat.Conflict)
	if err := <-result; err != nil || a.Blocks() != "first|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

func TestWordsThatCannotBeTakenBackAnyMoreBelongToTheTurn(t *testing.T) {
	t.Parallel()
	p, w, a, _, result := working(t)
	late := steered(t.Context(), w, "more")
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"), modelLine, lastWords, resultLine)
	r := p.hears(t)
	p.says(t, life(m.UUID, "started"), initLine)
	p.agrees(t, r, `{"cancelled":false}`)
	if err := <-late; err != nil {
		t.Errorf("the agent took it, but: %v", err)
	}
	p.says(t, says("m2", "second"), lastWords, resultLine, life(m.UUID, "completed"))
	if err := <-result; err != nil || a.Blocks() != "first|second|" || len(a.Of(chat.EventUsage)) != 1 {
		t.Errorf("%q, %v, %d usage events", a.Blocks(), err, len(a.Of(chat.EventUsage)))
	}
}

func TestAFailureOfTheModelGivesSteeredWordsBack(t *testing.T) {
	t.Parallel()
	p, w, _, _, result := working(t)
	late := steered(t.Context(), w, "more")
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"), modelLine, failedLine)
	r := p.hears(t)
	if r.Request["subtype"] != "cancel_async_message" {
		t.Fatalf("request = %+v", r.Request)
	}
	p.says(t, life(m.UUID, "cancelled"))
	p.agrees(t, r, `{"cancelled":true}`)
	wantCode(t, <-late, chat.Conflict)
	wantCode(t, <-result, chat.Overloaded)
}

func TestWhoSteersCanGiveUp(t *testing.T) {
	t.Parallel()
	p, w, _, _, result := working(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := steered(ctx, w, "more")
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"))
	cancel(errors.New("enough"))
	r := p.hears(t)
	if r.Request["subtype"] != "cancel_async_message" {
		t.Fatalf("request = %+v", r.Request)
	}
	p.says(t, life(m.UUID, "cancelled"))
	p.agrees(t, r, `{"cancelled":true}`)
	wantCode(t, <-late, chat.Conflict)

	p.says(t, modelLine) // no tools: nothing is written, and nothing to take back
	waitFor(t, "phase", func() bool { return w.known.current().at() == phaseModel })
	ctx, cancel = context.WithCancelCause(t.Context())
	late = steered(ctx, w, "more")
	cancel(errors.New("enough"))
	wantCode(t, <-late, chat.Conflict)
	p.says(t, resultLine)
	if err := <-result; err != nil {
		t.Error(err)
	}
	_, again := workertest.Begin(t, w, "again", workertest.NewHost(nil))
	if m := p.hears(t); m.Type != "user" {
		t.Errorf("the driver said %+v", m)
	}
	_ = p.Terminate(t.Context())
	wantCode(t, <-again, chat.Crashed)
}

func TestWhoeverSteersIsToldWhenTheTurnIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, agent, "stream 1000 20", a)
	a.AwaitText(t, "tick")
	waiting := steered(t.Context(), agent, "run touch never")
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	wantCode(t, <-waiting, chat.Conflict)
	if next, err := workertest.Prompt(t, agent, "say next", nil); err != nil || next.Blocks() != "next|" {
		t.Errorf("%q, %v", next.Blocks(), err)
	}
	if n := len(w.journal(t, "ask")); n != 0 {
		t.Error("the words ran")
	}
}

func TestWhoeverSteersIsToldWhenTheAgentDies(t *testing.T) {
	t.Parallel()
	p, w, _, _, result := working(t)
	written := steered(t.Context(), w, "more")
	p.hears(t)
	p.says(t, modelLine)
	waitFor(t, "phase", func() bool { return w.known.current().at() == phaseModel })
	held := steered(t.Context(), w, "and more")
	_ = p.Terminate(t.Context())
	wantCode(t, <-written, chat.Conflict)
	wantCode(t, <-held, chat.Conflict)
	wantCode(t, <-result, chat.Crashed)
}

func TestACommandIsNoWordsForATurn(t *testing.T) {
	t.Parallel()
	p, w, _, _, result := working(t)
	wantCode(t, w.Steer(t.Context(), workertest.Input("/compact")), chat.Conflict)
	p.says(t, resultLine)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestReplacedWorkIsEndedAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	p.says(t, life(m.UUID, "started"), initLine, modelLine,
		`{"type":"stream_event","session_id":"s","event":{"type":"content_block_start","content_block":{"type":"text"}}}`,
		`{"type":"stream_event","session_id":"s","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"half"}}}`)
	a.AwaitText(t, "half")
	res := make(chan error, 1)
	go func() { res <- w.Replace(t.Context(), workertest.Input("other")) }() // received below
	raw := p.hears(t)
	if raw.Type != "user" || raw.Priority != "now" {
		t.Fatalf("the driver said %+v", raw)
	}
	p.says(t, life(raw.UUID, "queued"), abortedLine, life(m.UUID, "cancelled"), life(raw.UUID, "started"), initLine)
	if err := <-res; err != nil {
		t.Errorf("replaced: %v", err)
	}
	p.says(t, says("m2", "other"), `{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5,"usage":{"input_tokens":1}}`,
		life(raw.UUID, "completed"))
	if err := <-result; err != nil || a.Blocks() != "half|other|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
	if u := a.Of(chat.EventUsage); len(u) != 1 || u[0].Usage.CostUSD != 0.5 || u[0].Usage.In != 2 {
		t.Errorf("usage = %+v", u)
	}
}

func TestReplacingIsAtOnceWhateverTheAgentDoes(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"stream 2000 20", "run sleep 60", "tool 1\nhang"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			agent := w.open(t, nil)
			a := workertest.NewHost(workertest.Allow)
			_, result := workertest.Begin(t, agent, script, a)
			a.Await(t, "work", func(es []chat.Event) bool { return len(es) > 2 })
			began := time.Now()
			if err := agent.Replace(t.Context(), workertest.Input("say other")); err != nil {
				t.Fatal(err)
			}
			if err := <-result; err != nil || !strings.HasSuffix(a.Blocks(), "other|") {
				t.Errorf("%q, %v", a.Blocks(), err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if next, err := workertest.Prompt(t, agent, "say next", nil); err != nil || next.Blocks() != "next|" {
				t.Errorf("%q, %v", next.Blocks(), err)
			}
		})
	}
}

func TestReplacingWithdrawsAnOpenQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	a := workertest.NewHost(workertest.Undecided)
	_, result := workertest.Begin(t, agent, "run touch never", a)
	a.AwaitQuestions(t, 1)
	if err := agent.Replace(t.Context(), workertest.Input("say other")); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil || !strings.HasSuffix(a.Blocks(), "other|") || a.Withdrawn() != 1 {
		t.Errorf("%q, %v, %d withdrawn", a.Blocks(), err, a.Withdrawn())
	}
	if n := len(w.journal(t, "tool")); n != 0 {
		t.Error("the question's tool ran")
	}
	idle := newWorld(t, nil).open(t, nil)
	if err := idle.Replace(t.Context(), workertest.Input("say x")); chat.CodeOf(err) != chat.Unsupported && chat.CodeOf(err) != chat.Conflict {
		t.Errorf("nothing runs: %v", err)
	}
}
