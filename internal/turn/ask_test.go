package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

func approval(key, detail string) chat.Question {
	return chat.Question{
		Key: key, Kind: chat.AskApproval, Tool: "Bash", Detail: detail,
		Options: []chat.Option{
			{ID: "once", Label: "Yes", Effect: chat.EffectAllow},
			{ID: "session", Label: "Yes, in this session", Effect: chat.EffectSession},
			{ID: "no", Label: "No", Effect: chat.EffectDeny},
		},
	}
}

// run runs a turn beside the test; done is closed when it is over.
func (h *house) run(ctx context.Context, text string) (tn chat.Turn, done chan struct{}) {
	h.t.Helper()
	tn = h.queue(text)
	done = make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx, tn)
	}()
	synctest.Wait()
	return tn, done
}

func (h *house) openAsks() []chat.Ask {
	h.t.Helper()
	as, err := h.db.Asks().OpenAsks(h.t.Context(), h.place.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return as
}

// decide answers as the gate would: commit, then wake.
func (h *house) decide(id int64, option string, by chat.Person) error {
	h.t.Helper()
	a, err := h.db.Asks().AskByID(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	o := chat.Option{}
	for _, k := range a.Question.Options {
		if k.ID == option || string(k.Effect) == option {
			o = k
		}
	}
	a, err = h.db.Asks().Decide(h.t.Context(), chat.Decision{
		Ask: id, Answer: chat.Answer{Option: o.ID, Effect: o.Effect, By: by}, Place: h.place, Role: chat.RoleMember, At: time.Now(),
	})
	if err == nil {
		h.board.Decided(a)
	}
	return err
}

// waitEdits lets the edits of closed asks be made.
func (h *house) waitEdits() []chat.Out {
	h.t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	return h.deliver()
}

func TestApprovalHoldsTheTurnUntilAPersonDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Text("let me see"), fake.Ask(approval("a1", "rm -rf build")), fake.Text("; you chose {answer}"))
		tn, done := h.run(t.Context(), "clean up")
		h.wantState(tn, chat.TurnWaiting, "")
		a := h.openAsks()[0]
		shown := h.deliver()
		if len(shown) != 1 || shown[0].Class != chat.OutAsk || shown[0].Ask != a.ID ||
			!strings.Contains(shown[0].Part.Text, "```\nrm -rf build\n```") {
			t.Fatalf("asked %+v", shown)
		}
		id := itoa(a.ID)
		if got := buttons(shown); !slices.Equal(got, []string{"ask:" + id + ":0", "ask:" + id + ":1", "ask:" + id + ":2"}) {
			t.Errorf("buttons %q", got)
		}
		if err := h.decide(a.ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		outs := h.waitEdits()
		wantSaid(t, outs, "let me see; you chose once")
		edit := outs[slices.IndexFunc(outs, func(o chat.Out) bool { return o.Op == chat.OpEdit })]
		if edit.Target.ID != "b1" || !strings.Contains(edit.Part.Text, "Allowed by Ann") || len(edit.Part.Buttons) != 0 ||
			!strings.Contains(edit.Part.Text, "rm -rf build") {
			t.Errorf("the request became %+v", edit)
		}
		if got := h.voice.last().waiting; !slices.Equal(got, []bool{true, false}) {
			t.Errorf("the live message was told %v", got)
		}
	})
}

func TestDecisionWithinMillisecondsIsNotMissed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		// Decided before the runner waits: nobody is told by the board.
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("{answer}"))
		h.books.Asks = eager{Asks: h.books.Asks, after: func(a chat.Ask) {
			if err := h.decide(a.ID, "once", ann); err != nil {
				t.Error(err)
			}
		}}
		h.crash()
		_, outs := h.say("list")
		wantSaid(t, outs, "once")
	})
}

// eager calls after when an ask was committed, before the runner hears of it.
type eager struct {
	turn.Asks
	after func(chat.Ask)
}

func (e eager) Ask(ctx context.Context, a chat.Ask, outs func(int64) []chat.Out) (chat.Ask, error) {
	a, err := e.Asks.Ask(ctx, a, outs)
	if err == nil && a.State == chat.AskOpen {
		e.after(a)
	}
	return a, err
}

func TestTwoAsksAtOnceAreKeptApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		var got []chat.Answer
		h.agent.Script(
			fake.Both(fake.Ask(approval("a1", "make")), fake.Ask(approval("a2", "make install"))),
			fake.Do(func(_ context.Context, r *fake.Running) error { got = r.Answers; return nil }),
		)
		tn, done := h.run(t.Context(), "build")
		as := h.openAsks()
		if len(as) != 2 {
			t.Fatalf("%d asks are open, want 2", len(as))
		}
		for _, a := range slices.Backward(as) {
			option := map[string]string{"a1": "once", "a2": "no"}[a.Question.Key]
			if err := h.decide(a.ID, option, ann); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		<-done
		if len(got) != 2 || got[0].Option != "once" || got[1].Option != "no" {
			t.Errorf("answers %+v", got)
		}
		h.wantState(tn, chat.TurnSucceeded, "")
	})
}

func TestTurnWaitsUntilTheLastAskIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Both(fake.Ask(approval("a1", "make")), fake.Ask(approval("a2", "make install"))), fake.Wait(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "build")
		as := h.openAsks()
		if err := h.decide(as[0].ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.wantState(tn, chat.TurnWaiting, "")
		if err := h.decide(as[1].ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.wantState(tn, chat.TurnRunning, "")
		cancel(stop(chat.Stopped))
		<-done
	})
}

func TestWithdrawnAskOffersNothingAnyMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		back := make(chan struct{})
		h.agent.Script(fake.Withdraw(approval("a1", "ls"), back), fake.Text("never mind"))
		tn, done := h.run(t.Context(), "list")
		a := h.openAsks()[0]
		h.deliver()
		close(back)
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		outs := h.waitEdits()
		if !strings.Contains(texts(outs), "notice edit: ") || !strings.Contains(texts(outs), "No longer open") {
			t.Errorf("sent %q", texts(outs))
		}
		wantCode(t, h.decide(a.ID, "once", ann), chat.Expired)
	})
}

func TestAskThatNobodyAnswersIsDenied(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{AskTimeout: 10 * time.Minute})
		var errs []error
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Do(func(_ context.Context, r *fake.Running) error {
			errs = r.Errs
			return nil
		}), fake.Text("then not"))
		start := time.Now()
		tn, done := h.run(t.Context(), "list")
		a := h.openAsks()[0]
		h.deliver()
		<-done
		if d := time.Since(start); d < 10*time.Minute || d > 11*time.Minute {
			t.Errorf("denied after %v", d)
		}
		wantCode(t, errs[0], chat.Expired)
		h.wantState(tn, chat.TurnSucceeded, "")
		said := texts(h.waitEdits())
		for _, want := range []string{"Expired (denied)", "Nobody answered within 10m 0s"} {
			if !strings.Contains(said, want) {
				t.Errorf("said %q, want %q in it", said, want)
			}
		}
		wantCode(t, h.decide(a.ID, "once", ann), chat.Expired)
	})
}

func TestStrangersDecisionChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("{answer}"))
		tn, done := h.run(t.Context(), "list")
		a := h.openAsks()[0]
		wantCode(t, h.decide(a.ID, "once", chat.Person{ID: "bob"}), chat.Denied)
		synctest.Wait()
		h.wantState(tn, chat.TurnWaiting, "")
		if err := h.decide(a.ID, "no", ann); err != nil {
			t.Fatal(err)
		}
		wantCode(t, h.decide(a.ID, "once", ann), chat.Conflict) // the second press
		<-done
		wantSaid(t, h.deliver(), "no")
	})
}

func TestAllowedInTheSessionMeansThisExactRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(approval("a1", "sh -lc ls")), fake.Text("ok"))
		_, done := h.run(t.Context(), "list")
		if err := h.decide(h.openAsks()[0].ID, "session", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		h.deliver()

		h.agent.Script(fake.Ask(approval("a2", "sh -lc ls")), fake.Text("{answer}"))
		tn, outs := h.say("again")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "once")

		h.agent.Script(fake.Ask(approval("a3", "sh -lc id")), fake.Text("{answer}"))
		tn, done = h.run(t.Context(), "and this")
		h.wantState(tn, chat.TurnWaiting, "")
		if err := h.decide(h.openAsks()[0].ID, "no", ann); err != nil {
			t.Fatal(err)
		}
		<-done
	})
}

func TestAskingAgainFindsTheSameRow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(
			fake.Ask(approval("a1", "ls")), fake.Ask(approval("a1", "ls")), // the agent forgot the answer
			fake.Ask(approval("a1", "ls -a")), // the same id, but another request
			fake.Text("done"),
		)
		_, done := h.run(t.Context(), "list")
		if err := h.decide(h.openAsks()[0].ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		as := h.openAsks()
		if len(as) != 1 || as[0].Question.Detail != "ls -a" {
			t.Fatalf("open: %+v", as)
		}
		if err := h.decide(as[0].ID, "no", ann); err != nil {
			t.Fatal(err)
		}
		<-done
		asks := 0
		for _, o := range h.deliver() {
			if o.Class == chat.OutAsk {
				asks++
			}
		}
		if asks != 2 {
			t.Errorf("%d requests were shown, want 2", asks)
		}
	})
}

func TestDecisionAfterTheAgentWithdrewIsTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		back := make(chan struct{})
		var errs []error
		h.agent.Script(fake.Withdraw(approval("a1", "ls"), back), fake.Do(func(_ context.Context, r *fake.Running) error {
			errs = r.Errs
			return nil
		}))
		h.books.Asks = late{Asks: h.books.Asks, before: func(id int64) {
			if err := h.decide(id, "once", ann); err != nil {
				t.Error(err)
			}
		}}
		h.crash()
		_, done := h.run(t.Context(), "list")
		h.deliver()
		close(back)
		<-done
		wantCode(t, errs[0], chat.Conflict)
		if said := texts(h.waitEdits()); strings.Contains(said, "Allowed by") || !strings.Contains(said, "No longer open") {
			t.Errorf("said %q", said)
		}
	})
}

// late has a decision made just before an ask is closed.
type late struct {
	turn.Asks
	before func(id int64)
}

func (l late) CloseAsk(ctx context.Context, id int64, s chat.AskState) (chat.Ask, error) {
	l.before(id)
	return l.Asks.CloseAsk(ctx, id, s)
}

func TestStopWhileAPersonIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("not reached"))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "list")
		a := h.openAsks()[0]
		h.deliver()
		cancel(stop(chat.Stopped))
		<-done
		h.wantState(tn, chat.TurnStopped, chat.Stopped)
		wantCode(t, h.decide(a.ID, "once", ann), chat.Expired)
		if said := texts(h.waitEdits()); !strings.Contains(said, "No longer open") {
			t.Errorf("said %q", said)
		}
		h.plum()
	})
}

func TestWorkerThatDiesWhileAPersonIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("not reached"))
		tn, done := h.run(t.Context(), "list")
		h.agent.Worker(h.session.ID).Kill()
		<-done
		h.wantState(tn, chat.TurnFailed, chat.Crashed)
		if as := h.openAsks(); len(as) != 0 {
			t.Errorf("still open: %+v", as)
		}
	})
}

func TestAskIsDeniedWhenItCannotBeStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.books.Asks = broken{h.books.Asks}
		h.crash()
		var errs []error
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Do(func(_ context.Context, r *fake.Running) error {
			errs = r.Errs
			return nil
		}), fake.Text("then not"))
		_, outs := h.say("list")
		wantCode(t, errs[0], chat.Unavailable)
		wantSaid(t, outs, "then not")
	})
}

type broken struct{ turn.Asks }

func (broken) Ask(context.Context, chat.Ask, func(int64) []chat.Out) (chat.Ask, error) {
	return chat.Ask{}, chat.E(chat.Unavailable, "disk full", nil)
}

func wantCode(t *testing.T, err error, code chat.Code) {
	t.Helper()
	if got := chat.CodeOf(err); got != code {
		t.Fatalf("got code %q (%v), want %q", got, err, code)
	}
}
