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

func stop(code chat.Code) error { return chat.E(code, "", nil) }

func TestSessionIsKeptWhenATurnSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		tn, outs := h.say("remember the word plum")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "I will remember plum")
		if outs[0].Part.ReplyTo != tn.ReplyTo {
			t.Error("the answer is no reply to the question")
		}
		h.plum()
		if n := len(h.agent.Opens()); n != 1 {
			t.Errorf("%d processes were started, want 1", n)
		}
		if got := h.voice.last().lines(); len(got) != 1 || !strings.HasPrefix(got[0], "done · ") {
			t.Errorf("the live message ended with %q", got)
		}
	})
}

func TestSessionIsKeptWhenATurnFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		id := h.current().NativeID
		for code, words := range map[chat.Code]string{
			chat.Quota: "usage limit", chat.Overloaded: "overloaded", chat.LoggedOut: "not logged in",
			chat.ContextFull: "too long", chat.AgentError: "boom", chat.Protocol: "could not be understood",
			chat.Network: "cannot reach",
		} {
			h.agent.Script(fake.Fail(code, "boom"))
			tn, outs := h.say("do it")
			h.wantState(tn, chat.TurnFailed, code)
			wantSaid(t, outs, words)
			if got := slices.Contains(buttons(outs), "retry:"+itoa(tn.ID)); got == (code == chat.ContextFull) {
				t.Errorf("%s offers %q", code, buttons(outs))
			}
		}
		h.plum()
		if now := h.current().NativeID; now != id {
			t.Errorf("the session's id changed from %q to %q", id, now)
		}
	})
}

func TestSessionIsKeptWhenATurnIsStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Text("half an ans"), fake.Wait(nil))
		tn := h.queue("write a book")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			cancel(stop(chat.Stopped))
		}()
		h.Run(ctx, tn)
		h.wantState(tn, chat.TurnStopped, chat.Stopped)
		wantSaid(t, h.deliver(), "half an ans", "Stopped.")
		h.plum() // at once, in the same process
		if n := len(h.agent.Opens()); n != 1 {
			t.Errorf("%d processes were started, want 1", n)
		}
	})
}

func TestSessionIsKeptWhenTheAgentIgnoresAStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Stubborn(nil, 2*time.Second))
		tn := h.queue("write a book")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		go func() {
			synctest.Wait()
			cancel(stop(chat.Stopped))
		}()
		h.Run(ctx, tn)
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("stopped was said after %v, when it was not true yet", d)
		}
		h.wantState(tn, chat.TurnStopped, chat.Stopped) // the true cause, not the kill
		wantSaid(t, h.deliver(), "Stopped.")
		h.plum()
	})
}

func TestStopFreesTheLaneWhateverTheDriverDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Stubborn(nil, 1000*time.Hour))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "write a book")
		cancel(stop(chat.Stopped))
		start := time.Now()
		<-done
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("stopped after %v", d)
		}
		h.wantState(tn, chat.TurnStopped, chat.Stopped)
		wantSaid(t, h.deliver(), "Stopped.")
		h.plum()
	})
}

func TestSessionIsKeptWhenATurnTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{TurnTimeout: time.Hour})
		h.say("remember the word plum")
		h.agent.Script(fake.Text("so far"), fake.Wait(nil))
		tn := h.queue("write a book")
		start := time.Now()
		h.Run(t.Context(), tn)
		outs := h.deliver()
		if d := time.Since(start); d != time.Hour {
			t.Errorf("timed out after %v", d)
		}
		h.wantState(tn, chat.TurnStopped, chat.TimedOut)
		wantSaid(t, outs, "so far", "time limit")
		h.plum()
	})
}

func TestSessionIsKeptWhenTheWorkerDies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Text("I was just"), fake.Die())
		tn, outs := h.say("write a book")
		h.wantState(tn, chat.TurnFailed, chat.Crashed)
		wantSaid(t, outs, "I was just", "ended unexpectedly")
		id := itoa(tn.ID)
		if got := buttons(outs); !slices.Equal(got, []string{"cont:" + id, "retry:" + id}) {
			t.Errorf("offers %q", got)
		}
		if !strings.Contains(outs[0].Part.Text, "not complete") {
			t.Errorf("the part of an answer is not marked: %q", outs[0].Part.Text)
		}
		h.plum()
	})
}

func TestSessionIsKeptWhenTheWorkerDiesBetweenTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Worker(h.session.ID).Kill()
		h.plum() // at once: not even the manager has noticed
		h.agent.Worker(h.session.ID).Kill()
		synctest.Wait()
		h.plum()
	})
}

func TestSessionIsKeptWhenTheDaemonRestarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.crash()
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.plum()
	})
}

func TestSessionIsKeptWhenOpeningFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		for _, code := range []chat.Code{chat.LoadTimeout, chat.LoggedOut, chat.NotInstalled, chat.Network} {
			h.mgr.Forget(h.session.ID)
			h.agent.Refuse(chat.E(code, "x", nil))
			tn, outs := h.say("go on")
			h.wantState(tn, chat.TurnFailed, code)
			if len(outs) != 1 || outs[0].Part.Text == "" {
				t.Errorf("%s: said %q", code, texts(outs))
			}
		}
		h.plum()
	})
}

func TestLostSessionIsReplacedOnceWithARecap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.mgr.Forget(h.session.ID)
		h.agent.Lose(h.session.Seed)
		h.agent.Script(fake.Text("first"))
		first, tn := h.queue("and then?"), h.queue("what was the word?")
		h.Run(t.Context(), first)
		now := h.current()
		if now.ID == h.session.ID || now.NativeID == "" {
			t.Fatalf("current session is %+v", now)
		}
		if old, _ := h.db.Sessions().SessionByID(t.Context(), h.session.ID); old.State != chat.SessionLost {
			t.Errorf("the old session is %s", old.State)
		}
		outs := h.deliver()
		if !strings.Contains(texts(outs), "no longer has the earlier session") {
			t.Errorf("nobody was told: %q", texts(outs))
		}
		wantSaid(t, outs, "first")
		prompts := h.agent.Prompts()
		recap := prompts[len(prompts)-1]
		for _, want := range []string{"Ann: remember the word plum", "Assistant: I will remember plum", "[End of the recap.]\n\nand then?"} {
			if !strings.Contains(recap, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, recap)
			}
		}
		if strings.Count(recap, "and then?") != 1 || strings.Contains(recap, "what was the word?") {
			t.Errorf("the recap quotes what is not answered yet:\n%s", recap)
		}

		tn = h.turnOf(tn.ID)
		if tn.Session != now.ID {
			t.Errorf("the queue stayed with session %d", tn.Session)
		}
		h.Run(t.Context(), tn)
		wantSaid(t, h.deliver(), "the word was plum")
		prompts = h.agent.Prompts()
		if got := prompts[len(prompts)-1]; got != "what was the word?" {
			t.Errorf("the recap was given twice: %q", got)
		}
	})
}

func TestPromptToALostSessionIsGivenToItsSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.agent.Script(fake.Fail(chat.NoSession, "session not found"))
		tn, outs := h.say("what was the word?")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "the word was plum")
		if now := h.current(); now.ID == h.session.ID {
			t.Error("the session was not replaced")
		}
		if now, _ := h.agent.Live(); now != 1 {
			t.Errorf("%d processes live, want the successor's only", now)
		}
	})
}

func TestLossIsNotBelievedAfterTheAgentActed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Tool("1", "Bash", chat.ToolDone), fake.Fail(chat.NoSession, "session not found"))
		tn, _ := h.say("delete the branch")
		h.wantState(tn, chat.TurnFailed, chat.NoSession)
		if n := len(h.agent.Prompts()); n != 1 {
			t.Errorf("the prompt was given %d times", n)
		}
		if now := h.current(); now.ID != h.session.ID {
			t.Error("the session was replaced")
		}
	})
}

func TestSecondLossInOneTurnEndsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.agent.Script(fake.Fail(chat.NoSession, "")).Script(fake.Fail(chat.NoSession, ""))
		tn, outs := h.say("hello")
		h.wantState(tn, chat.TurnFailed, chat.NoSession)
		if len(outs) == 0 || len(h.agent.Prompts()) != 2 {
			t.Errorf("said %q after %d prompts", texts(outs), len(h.agent.Prompts()))
		}
	})
}

func TestSameFailureAgainAndAgainNamesAWayOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		for i := range 4 {
			h.agent.Script(fake.Fail(chat.AgentError, "400"))
			_, outs := h.say("hello")
			if got := strings.Contains(texts(outs), "/new"); got != (i >= 2) {
				t.Errorf("failure %d: %q", i+1, texts(outs))
			}
		}
		h.agent.Script(fake.Fail(chat.Network, ""))
		if _, outs := h.say("hello"); strings.Contains(texts(outs), "/new") {
			t.Errorf("another failure goes on with the row: %q", texts(outs))
		}
		h.say("hello")
		h.agent.Script(fake.Fail(chat.AgentError, "400"))
		if _, outs := h.say("hello"); strings.Contains(texts(outs), "/new") {
			t.Errorf("a success does not end the row: %q", texts(outs))
		}
	})
}
