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

// background plays a turn that the agent starts by itself.
func (h *house) background(steps ...fake.Step) (done chan bool) {
	done = make(chan bool, 1)
	w := h.agent.Worker(h.session.ID)
	go func() { done <- w.Uninvited(context.Background(), steps...) }()
	synctest.Wait()
	return done
}

func (h *house) newest() chat.Turn {
	h.t.Helper()
	t, err := h.db.History().LastTurn(h.t.Context(), h.session.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

func TestOutputBetweenTurnsIsAnUpdateOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		asked, _ := h.say("remember the word plum")
		if !<-h.background(fake.Text("the build is green")) {
			t.Fatal("nobody took it")
		}
		synctest.Wait()
		tn := h.newest()
		h.wantState(tn, chat.TurnSucceeded, "")
		if tn.ID == asked.ID || tn.Origin != chat.OriginAgent || tn.Place.ID != h.place.ID {
			t.Errorf("turn %+v", tn)
		}
		outs := h.deliver()
		wantSaid(t, outs, "the build is green")
		if !strings.Contains(texts(outs), "Background update") {
			t.Errorf("not marked: %q", texts(outs))
		}
		h.plum()
	})
}

func TestSilentTurnOfTheAgentSaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("hello")
		<-h.background(fake.Tool("1", "Read", chat.ToolDone))
		synctest.Wait()
		h.wantState(h.newest(), chat.TurnSucceeded, "")
		if outs := h.deliver(); len(outs) != 0 {
			t.Errorf("said %q", texts(outs))
		}
	})
}

func TestTurnOfAPersonWaitsForTheAgentsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("hello")
		goOn := make(chan struct{})
		back := h.background(fake.Text("first"), fake.Wait(goOn))
		tn, done := h.run(t.Context(), "and now?")
		h.wantState(tn, chat.TurnQueued, "")
		close(goOn)
		<-back
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, h.deliver(), "first", "you said: and now?")
	})
}

func TestOutputDuringATurnBelongsToIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		goOn := make(chan struct{})
		h.agent.Script(fake.Text("mine, "), fake.Wait(goOn))
		tn, done := h.run(t.Context(), "hello")
		if !<-h.background(fake.Text("and its own")) {
			t.Fatal("nobody took it")
		}
		close(goOn)
		<-done
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, h.deliver(), "mine, and its own")
		if last := h.newest(); last.ID != tn.ID {
			t.Errorf("another turn was made: %+v", last)
		}
	})
}

func TestAgentsOwnTurnCanBeStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		if h.Stop(h.session.ID, chat.Stopped) {
			t.Error("something was stopped that does not run")
		}
		h.background(fake.Text("half"), fake.Wait(nil))
		if !h.Stop(h.session.ID, chat.Stopped) {
			t.Fatal("nothing to stop")
		}
		synctest.Wait()
		h.wantState(h.newest(), chat.TurnStopped, chat.Stopped)
		if now, _ := h.agent.Live(); now != 0 {
			t.Error("stopped was said, but the agent goes on")
		}
		wantSaid(t, h.deliver(), "half", "Stopped.")
		h.plum()
	})
}

func TestStopOfAWaitingTurnStopsWhatItWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("hello")
		h.background(fake.Wait(nil))
		own := h.newest()
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "and now?")
		cancel(stop(chat.Stopped))
		<-done
		synctest.Wait()
		h.wantState(own, chat.TurnStopped, chat.Stopped)
		h.wantState(tn, chat.TurnQueued, "")
	})
}

func TestAgentsOwnTurnEndsWithItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		back := h.background(fake.Text("half"), fake.Wait(nil))
		h.agent.Worker(h.session.ID).Kill()
		<-back
		synctest.Wait()
		tn := h.newest()
		if tn.State != chat.TurnFailed {
			t.Errorf("turn is %s", tn.State)
		}
		wantSaid(t, h.deliver(), "half", "ended unexpectedly")
		h.plum()
	})
}

func TestAgentsOwnTurnHasTheSameClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, clocks)
		h.say("remember the word plum")
		h.background(fake.Text("half"), fake.Wait(nil))
		tn, done := h.run(t.Context(), "hello")
		<-done // the lane is not blocked for ever
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, h.deliver(), "half", "no sign of life for too long", "you said: hello")
		h.plum()
	})
}

func TestAgentsOwnTurnMayAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("hello")
		back := h.background(fake.Ask(approval("a1", "ls")), fake.Text("{answer}"))
		if err := h.decide(h.openAsks()[0].ID, "once", ann); err != nil { // who spoke last may decide
			t.Fatal(err)
		}
		<-back
		synctest.Wait()
		wantSaid(t, h.deliver(), "once")
	})
}

func TestShutdownInterruptsTheAgentsOwnTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.background(fake.Text("half"), fake.Wait(nil))
		tn := h.newest()
		h.crash()
		h.wantState(tn, chat.TurnInterrupted, chat.Shutdown)
		outs := h.deliver()
		wantSaid(t, outs, "half", "was shut down")
		if got := buttons(outs); !slices.Equal(got, []string{"cont:" + itoa(tn.ID)}) {
			t.Errorf("offers %q", got)
		}
		h.plum()
	})
}

func TestOutputOfASessionThatNobodyUsedIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		if host, _ := h.Uninvited(h.session.ID)(t.Context()); host != nil {
			t.Error("there is no place for it")
		}
	})
}

// TestTurnsOfBothSidesUnderFire starts turns from both sides at once.
func TestTurnsOfBothSidesUnderFire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("hello")
		h.deliver()
		for range 60 {
			w := h.agent.Worker(h.session.ID)
			back := make(chan bool, 1)
			go func() {
				back <- w.Uninvited(context.Background(), fake.Text("own"), fake.Pause(time.Millisecond), fake.Text("."))
			}()
			tn, done := h.run(t.Context(), "ping")
			<-done
			if !<-back {
				t.Error("nobody took it")
			}
			synctest.Wait()
			said := texts(h.deliver())
			if h.wantState(tn, chat.TurnSucceeded, ""); !strings.Contains(said, "you said: ping") || !strings.Contains(said, "own") {
				t.Errorf("said %q", said)
			}
		}
	})
}
