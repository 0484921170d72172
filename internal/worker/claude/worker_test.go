package claude

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

var errStop = chat.E(chat.Stopped, "", nil)

func TestTwoTurnsShareOneProcessAndItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	if _, err := workertest.Prompt(t, agent, "remember the word plum", nil); err != nil {
		t.Fatal(err)
	}
	got, err := workertest.Prompt(t, agent, "what was the word?", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Blocks() != "the word was plum|" {
		t.Errorf("answer = %q", got.Blocks())
	}
	if starts := w.journal(t, "start", "resume"); len(starts) != 1 {
		t.Errorf("%d processes, want 1", len(starts))
	}
}

func TestTheSessionIsTheSeedAndSurvivesAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	seed := uuid.NewString()
	first := w.open(t, func(s *worker.Spec) { s.Seed = seed })
	if first.NativeID() != "" {
		t.Errorf("id %q before the agent said one", first.NativeID())
	}
	a, err := workertest.Prompt(t, first, "remember the word plum", nil)
	if err != nil {
		t.Fatal(err)
	}
	said := a.Of(chat.EventSession)
	if first.NativeID() != seed || len(said) != 1 || said[0].Text != seed {
		t.Errorf("id = %q, events = %v, want the seed once", first.NativeID(), said)
	}
	if err := first.proc.Terminate(done(t)); err != nil {
		t.Fatal(err)
	}
	<-first.Done()

	second := w.open(t, func(s *worker.Spec) { s.Seed, s.Begun, s.NativeID = seed, true, seed })
	a, err = workertest.Prompt(t, second, "what was the word?", nil)
	if err != nil || a.Blocks() != "the word was plum|" {
		t.Errorf("answer = %q, %v", a.Blocks(), err)
	}
	if n := len(a.Of(chat.EventSession)); n != 0 {
		t.Errorf("%d session events for a known id", n)
	}
}

// done is a context that has ended: kill at once.
func done(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestASeedThatMayBeKnownIsOpenedEitherWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	seed := uuid.NewString()
	known := w.open(t, func(s *worker.Spec) { s.Seed = seed })
	if _, err := workertest.Prompt(t, known, "remember the word plum", nil); err != nil {
		t.Fatal(err)
	}
	if err := known.Close(); err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]worker.Spec{
		"begun, and the agent knows it":            {Seed: seed, Begun: true},
		"not begun as we think, but it knows it":   {Seed: seed},
		"begun, but nothing reached the agent yet": {Seed: uuid.NewString(), Begun: true},
	} {
		agent := w.open(t, func(s *worker.Spec) { s.Seed, s.Begun = spec.Seed, spec.Begun })
		a, err := workertest.Prompt(t, agent, "what was the word?", nil)
		if err != nil || agent.NativeID() != spec.Seed {
			t.Errorf("%s: id %q, want %q; %v", name, agent.NativeID(), spec.Seed, err)
		}
		if spec.Seed == seed && a.Blocks() != "the word was plum|" {
			t.Errorf("%s: the context is lost: %q", name, a.Blocks())
		}
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyAnUnknownSessionIsALostOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.Open(t.Context(), worker.Spec{Workspace: w.work, NativeID: uuid.NewString(), Seed: uuid.NewString()})
	wantCode(t, err, chat.NoSession)
	if n := len(w.journal(t, "start", "resume")); n != 0 {
		t.Errorf("%d sessions were made in its place", n)
	}

	slow := newWorld(t, func(c *Config) {
		c.StartTimeout, c.ResumeTimeout = 100*time.Millisecond, 100*time.Millisecond
		c.Env = append(c.Env, "SIM_CLAUDE_DELAY=30s")
	})
	_, err = slow.Open(t.Context(), worker.Spec{Workspace: slow.work, NativeID: uuid.NewString()})
	wantCode(t, err, chat.LoadTimeout)
	_, err = slow.Open(t.Context(), worker.Spec{Workspace: slow.work, Seed: uuid.NewString()})
	wantCode(t, err, chat.StartTimeout)
}

func TestTheAnswerIsShownOnce(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	a, err := workertest.Prompt(t, agent, "say one two three\nthink hard\nsay four", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Blocks() != "one two three|four|" {
		t.Errorf("answer = %q", a.Blocks())
	}
	if th := a.Of(chat.EventThought); len(th) != 1 || th[0].Text != "hard" {
		t.Errorf("thoughts = %v", th)
	}
	if first := a.Events()[0].Kind; first != chat.EventSent {
		t.Errorf("the first event is %q, want sent", first)
	}
}

func TestUsageIsTheTurnsOwn(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	for range 3 {
		a, err := workertest.Prompt(t, agent, "say hi", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := figures(t, a)
		if got.CostUSD < 0.0099 || got.CostUSD > 0.0101 || got.In != 120 || got.Out != 10 || got.Window != 200000 || got.Model != "sim-large" {
			t.Errorf("usage = %+v", got)
		}
	}
	// The agent counts anew after /clear, and the id changes with it.
	before := agent.NativeID()
	a, err := workertest.Prompt(t, agent, "/clear", nil)
	if err != nil {
		t.Fatal(err)
	}
	if now := agent.NativeID(); now == before || a.Of(chat.EventSession)[0].Text != now {
		t.Errorf("id after clear = %q", now)
	}
	if u := figures(t, a); u.CostUSD < 0 {
		t.Errorf("usage after clear = %+v", u)
	}
}

func TestACancelEndsTheTurnAndKeepsTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	for _, script := range []string{"stream 1000 20", "run sleep 60", "hang"} {
		a := workertest.NewHost(workertest.Allow)
		cancel, result := workertest.Begin(t, agent, script, a)
		a.Await(t, "start", func(es []chat.Event) bool { return len(es) > 1 || script == "hang" && len(es) > 0 })
		if strings.HasPrefix(script, "run") {
			waitFor(t, "tool", func() bool { return len(w.journal(t, "tool")) > 0 })
		}
		began := time.Now()
		cancel(errStop)
		cancel(errors.New("a second stop changes nothing"))
		err := <-result
		wantCode(t, err, chat.Stopped)
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("%s: stopping took %v", script, took)
		}
		next, err := workertest.Prompt(t, agent, "say alive", nil)
		if err != nil || next.Blocks() != "alive|" {
			t.Errorf("after %s: %q, %v", script, next.Blocks(), err)
		}
	}
	if n := len(w.journal(t, "start", "resume")); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
}

func TestAnAgentThatDoesNotObeyIsEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Grace = 200 * time.Millisecond })
	agent := w.open(t, nil)
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, agent, "child\ndeaf\nstream 10000 20", a)
	a.AwaitText(t, "tick")
	began := time.Now()
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	<-agent.Done()
	for _, c := range w.journal(t, "child") {
		if alive(c.Pid) {
			t.Errorf("child %d is alive", c.Pid)
		}
	}
	_, err := workertest.Prompt(t, agent, "say hi", nil)
	wantCode(t, err, chat.Crashed)
}

func TestADeathInTheMiddleOfATurnIsACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	cleaned := make(chan error, 1)
	go func() { // collects what is dead as soon as it is, as the owner of a worker does
		<-agent.Done()
		cleaned <- agent.Close()
	}()
	a, err := workertest.Prompt(t, agent, "say half\nstderr 3\ndie 3", nil)
	wantCode(t, err, chat.Crashed)
	if err := <-cleaned; err != nil {
		t.Error(err)
	}
	if a.Blocks() != "half|" {
		t.Errorf("what was said before is lost: %q", a.Blocks())
	}
	if !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "complaint 2") {
		t.Errorf("the log is not told why: %v", err)
	}
	if chat.DetailOf(err) != "" {
		t.Errorf("stderr is shown: %q", chat.DetailOf(err))
	}
	again := w.open(t, func(s *worker.Spec) { s.NativeID = agent.NativeID() })
	if a, err := workertest.Prompt(t, again, "say back", nil); err != nil || a.Blocks() != "back|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

func TestWhatTheAgentStartsByItselfIsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	extra := workertest.NewHost(nil)
	ended := make(chan error, 4)
	agent := w.open(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) {
			return extra, func(err error) { ended <- err }
		}
	})
	a, err := workertest.Prompt(t, agent, "bg 50 it is done\nlater 300 by the way\nsay started", nil)
	if err != nil || a.Blocks() != "started|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("end = %v", err)
		}
	}
	if extra.Blocks() != "it is done|by the way|" {
		t.Errorf("unasked text = %q", extra.Blocks())
	}
	if u := figures(t, extra); u.CostUSD > 0.0101 {
		t.Errorf("usage = %+v", u)
	}
	if a, err := workertest.Prompt(t, agent, "say next", nil); err != nil || a.Blocks() != "next|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

func TestUnaskedWorkThatNobodyWantsIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	if _, err := workertest.Prompt(t, agent, "bg 1 it is done\nslow 100\nsay started", nil); err != nil {
		t.Fatal(err)
	}
	// It has begun for nobody: a turn that comes now does not get it.
	waitFor(t, "the second run", func() bool { return strings.Contains(w.log.String(), "works unasked; dropped") })
	if a, err := workertest.Prompt(t, agent, "say next", nil); err != nil || a.Blocks() != "next|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

func TestACancelledTurnLeavesNothingThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) {
			t.Error("the agent came back with the work of a cancelled turn")
			return workertest.NewHost(nil), func(error) {}
		}
	})
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, agent, "bg 500 late\nsay x\nhang", a)
	a.AwaitText(t, "x")
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	if a, err := workertest.Prompt(t, agent, "slow 700\nsay next", nil); err != nil || a.Blocks() != "next|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

func TestASecondResultDoesNotChangeTheFirst(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	for range 3 {
		a, err := workertest.Prompt(t, agent, "double\nsay fine", nil)
		if err != nil || a.Blocks() != "fine|" {
			t.Fatalf("%q, %v", a.Blocks(), err)
		}
	}
}

func TestAReportOfCompactionDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	a, err := workertest.Prompt(t, agent, "say before\ncompact\ntool 1\nsay after", nil)
	if err != nil || a.Blocks() != "before|after|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
}

func TestNothingToReadIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	for _, text := range []string{"", "  \n\t", "\u200b\u200d\ufeff"} {
		if _, err := workertest.Prompt(t, agent, text, nil); chat.CodeOf(err) != chat.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n := len(w.journal(t, "prompt")); n != 0 {
		t.Errorf("%d prompts reached the agent", n)
	}
}

func TestCloseMayBeCalledTwiceAndInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	a := workertest.NewHost(func(ctx context.Context, _ chat.Question) (chat.Answer, error) {
		<-ctx.Done()
		return chat.Answer{}, ctx.Err()
	})
	_, result := workertest.Begin(t, agent, "run sleep 60", a)
	a.AwaitQuestions(t, 1)
	for range 2 {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}
	wantCode(t, <-result, chat.Shutdown)
}
