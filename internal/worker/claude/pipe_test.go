package claude

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestAnotherRunsResultDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	p.says(t, life("another", "queued"), initLine, says("m1", "not asked"), resultLine, resultLine,
		life(m.UUID, "queued"), life(m.UUID, "started"), initLine, says("m2", "asked"), resultLine, life(m.UUID, "completed"))
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if a.Blocks() != "not asked|asked|" {
		t.Errorf("text = %q", a.Blocks())
	}
	if u := a.Of(chat.EventUsage); len(u) != 1 || u[0].Usage.CostUSD != 0 {
		t.Errorf("the other run's cost is in the turn's: %+v", u[0].Usage)
	}
}

func TestAMessageTakenIntoAnUnaskedRunBindsIt(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	extra, ended := workertest.NewHost(nil), make(chan error, 1)
	w := p.play(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) { return extra, func(err error) { ended <- err } }
	})
	p.says(t, life("x", "queued"), initLine, says("m1", "by myself"))
	extra.AwaitText(t, "by myself|")
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"), life(m.UUID, "started"), says("m2", "for you"), resultLine)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if a.Blocks() != "for you|" || extra.Blocks() != "by myself|" {
		t.Errorf("texts = %q, %q", a.Blocks(), extra.Blocks())
	}
}

func TestWhatComesRightAfterTheEndIsNotTheTurns(t *testing.T) {
	t.Parallel()
	for range 50 {
		p := newPuppet(t)
		extra, ended := workertest.NewHost(nil), make(chan error, 1)
		w := p.play(t, func(s *worker.Spec) {
			s.Uninvited = func(context.Context) (worker.Host, func(error)) { return extra, func(err error) { ended <- err } }
		})
		a := workertest.NewHost(nil)
		_, result := workertest.Begin(t, w, "hello", a)
		m := p.hears(t)
		p.says(t, life(m.UUID, "started"), initLine, says("m1", "asked"), resultLine, initLine, says("m2", "not asked"), resultLine)
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		<-ended
		if a.Blocks() != "asked|" || extra.Blocks() != "not asked|" {
			t.Fatalf("texts = %q, %q", a.Blocks(), extra.Blocks())
		}
		_ = p.Terminate(t.Context())
	}
}

func TestAnUnaskedRunEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	ended := make(chan error, 2)
	w := p.play(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) {
			return workertest.NewHost(nil), func(err error) { ended <- err }
		}
	})
	p.says(t, initLine)
	waitFor(t, "run", func() bool { return w.NativeID() == "s" })
	_ = p.Terminate(t.Context())
	wantCode(t, <-ended, chat.Crashed)
	<-w.Done()
}

func TestAnAgentThatDoesNotTellIsBoundByItsInit(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	for range 2 {
		a := workertest.NewHost(nil)
		_, result := workertest.Begin(t, w, "hello", a)
		p.hears(t)
		p.says(t, initLine, says("m1", "hi"), resultLine)
		if err := <-result; err != nil || a.Blocks() != "hi|" {
			t.Fatalf("%q, %v", a.Blocks(), err)
		}
	}
	wantCode(t, w.Steer(t.Context(), workertest.Input("more")), chat.Unsupported)
}

func TestAnAnswerInTheResultOnlyIsShown(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	for _, lines := range [][]string{
		{initLine, `{"type":"result","subtype":"success","session_id":"s","result":"the answer","usage":{"input_tokens":1}}`},
		{initLine, `{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"the answer"}]}}`, resultLine},
		{initLine, says("x", "the answer"), `{"type":"result","subtype":"success","session_id":"s","result":"the answer","usage":{"input_tokens":1}}`},
	} {
		a := workertest.NewHost(nil)
		_, result := workertest.Begin(t, w, "hello", a)
		p.hears(t)
		p.says(t, lines...)
		if err := <-result; err != nil || a.Blocks() != "the answer|" {
			t.Errorf("%q, %v", a.Blocks(), err)
		}
	}
}

func TestSeveralQuestionsAreOpenAtOnceAndKeptApart(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	release := make(chan struct{})
	a := workertest.NewHost(func(_ context.Context, q chat.Question) (chat.Answer, error) {
		if q.Key == "u1" { // the first is answered last
			<-release
			return chat.Answer{Effect: chat.EffectDeny, Text: "no"}, nil
		}
		return chat.Answer{Effect: chat.EffectAllow}, nil
	})
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	second := strings.NewReplacer(`"r1"`, `"r2"`, `"u1"`, `"u2"`, `"ls"`, `"pwd"`).Replace(asksLine)
	p.says(t, life(m.UUID, "started"), initLine, asksLine, second)
	r := p.hears(t)
	if r.Response.ID != "r2" || r.Response.Body["behavior"] != "allow" || r.Response.Body["updatedInput"].(map[string]any)["command"] != "pwd" {
		t.Errorf("response = %+v", r.Response)
	}
	close(release)
	r = p.hears(t)
	if r.Response.ID != "r1" || r.Response.Body["behavior"] != "deny" || !strings.Contains(r.Response.Body["message"].(string), "no") {
		t.Errorf("response = %+v", r.Response)
	}
	p.says(t, resultLine)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestAQuestionThatTheAgentTakesBackIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	taken := make(chan struct{})
	a := workertest.NewHost(func(ctx context.Context, _ chat.Question) (chat.Answer, error) {
		<-ctx.Done()
		close(taken)
		return chat.Answer{}, ctx.Err()
	})
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	p.says(t, life(m.UUID, "started"), initLine, asksLine)
	a.AwaitQuestions(t, 1)
	p.says(t, `{"type":"control_cancel_request","request_id":"r1"}`)
	<-taken
	p.says(t, `{"type":"control_request","request_id":"r9","request":{"subtype":"hook_callback"}}`)
	r := p.hears(t) // the next word is about the other request
	if r.Response.ID != "r9" || r.Response.Subtype != "error" {
		t.Errorf("response = %+v", r.Response)
	}
	p.says(t, resultLine)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestNobodyToTellIsNoTrouble(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	ended := make(chan error, 2)
	p.play(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) { return nil, func(err error) { ended <- err } }
	})
	p.says(t, initLine, says("m1", "hello?"), resultLine, asksLine)
	if r := p.hears(t); r.Response.Body["behavior"] != "deny" {
		t.Errorf("response = %+v", r.Response)
	}
	for range 2 {
		<-ended
	}
}

func TestAQuestionBetweenTurnsIsAskedOrDenied(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{true, false} {
		p := newPuppet(t)
		extra, ended := workertest.NewHost(workertest.Allow), make(chan error, 1)
		p.play(t, func(s *worker.Spec) {
			if wanted {
				s.Uninvited = func(context.Context) (worker.Host, func(error)) { return extra, func(err error) { ended <- err } }
			}
		})
		p.says(t, asksLine)
		r := p.hears(t)
		if got := r.Response.Body["behavior"]; (got == "allow") != wanted {
			t.Errorf("wanted %v: %v", wanted, got)
		}
		if wanted {
			<-ended
		}
	}
}

func TestAnAgentThatDoesNotReadDoesNotHoldAStop(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, w, strings.Repeat("long ", 1<<20), a) // more than a pipe holds
	if _, err := p.in.Peek(1); err != nil {                                     // it has begun to write
		t.Fatal(err)
	}
	began := time.Now()
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	<-w.Done() // half a line was written: the process cannot be used any more
	if n := len(a.Of(chat.EventSent)); n != 0 {
		t.Error("a prompt that was not written is reported as sent")
	}
}

func TestAMessageThatWasNotBegunIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	cancel, result := workertest.Begin(t, w, "hello", workertest.NewHost(nil))
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"))
	cancel(errStop)
	r := p.hears(t)
	if r.Request["subtype"] != "cancel_async_message" || r.Request["message_uuid"] != m.UUID {
		t.Fatalf("request = %+v", r.Request)
	}
	p.says(t, life(m.UUID, "cancelled"))
	p.agrees(t, r, `{"cancelled":true}`)
	r = p.hears(t)
	if r.Request["subtype"] != "interrupt" {
		t.Fatalf("request = %+v", r.Request)
	}
	p.agrees(t, r, `{"still_queued":[]}`)
	wantCode(t, <-result, chat.Stopped)
	select {
	case <-w.Done():
		t.Error("the process was ended for nothing")
	default:
	}
}

func TestLateWordsOfACancelledTurnAreDropped(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	p.says(t, life(m.UUID, "started"), initLine, says("m1", "early"))
	a.AwaitText(t, "early|")
	cancel(errStop)
	r := p.hears(t)
	p.says(t, says("m2", "late"))
	p.agrees(t, r, `{}`)
	p.says(t, says("m3", "later"), `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","total_cost_usd":0.25}`)
	wantCode(t, <-result, chat.Stopped)
	if a.Blocks() != "early|" {
		t.Errorf("text = %q", a.Blocks())
	}
	if u := a.Of(chat.EventUsage); len(u) != 1 || u[0].Usage.CostUSD != 0.25 {
		t.Errorf("the price of a cancelled turn is lost: %v", u)
	}
	next := workertest.NewHost(nil)
	_, result = workertest.Begin(t, w, "again", next)
	m = p.hears(t)
	p.says(t, life(m.UUID, "started"), initLine, says("m4", "fresh"), resultLine)
	if err := <-result; err != nil || next.Blocks() != "fresh|" {
		t.Errorf("%q, %v", next.Blocks(), err)
	}
}

func TestTheEndOfTheOutputInATurnIsACrashOnce(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	_, result := workertest.Begin(t, w, "hello", workertest.NewHost(nil))
	p.hears(t)
	_ = p.Terminate(t.Context())
	wantCode(t, <-result, chat.Crashed)
	if err := w.Prompt(t.Context(), workertest.Input("more"), workertest.NewHost(nil)); chat.CodeOf(err) != chat.Crashed {
		t.Error(err)
	}
	if _, err := w.Set(t.Context(), chat.Settings{Model: "x"}); chat.CodeOf(err) != chat.Crashed {
		t.Error(err)
	}
}

func TestTheLastWordsBeforeTheEndCount(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := newPuppet(t)
		w := p.play(t, nil)
		_, result := workertest.Begin(t, w, "hello", workertest.NewHost(nil))
		m := p.hears(t)
		p.says(t, life(m.UUID, "started"), initLine, says("m1", "done"), resultLine)
		_ = p.Terminate(t.Context())
		if err := <-result; err != nil {
			t.Fatalf("a turn that ended well before the process did: %v", err)
		}
	}
}

func TestTurnsDoNotOverlap(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	cancel, result := workertest.Begin(t, w, "hello", workertest.NewHost(nil))
	p.hears(t)
	wantCode(t, w.Prompt(t.Context(), workertest.Input("more"), workertest.NewHost(nil)), chat.Conflict)
	_ = p.Terminate(t.Context())
	cancel(errors.New("over"))
	<-result
}

func TestAControlRequestHasADeadline(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	_, err := w.Set(t.Context(), chat.Settings{Model: "x"})
	wantCode(t, err, chat.TimedOut)
}
