package turn_test

import (
	"testing"
	"testing/synctest"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

// notices is what the live message of a turn was told beside the agent's words.
func (h *house) notices(id int64) []string {
	h.voice.mu.Lock()
	defer h.voice.mu.Unlock()
	var ns []string
	for _, l := range h.voice.lives {
		if l.turn != id {
			continue
		}
		for _, e := range l.events {
			if e.Kind == chat.EventNotice {
				ns = append(ns, e.Text)
			}
		}
	}
	return ns
}

// beside starts another session of the conversation in the same workspace.
func (h *house) beside() chat.Session {
	h.t.Helper()
	s, err := h.db.Sessions().StartSession(h.t.Context(),
		chat.NewSession{Conversation: h.session.Conversation, Agent: "fake", Workspace: h.session.Workspace})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func TestSecondTurnInAWorkspaceIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		goOn := make(chan struct{})
		h.agent.Script(fake.Wait(goOn))
		first, done := h.run(t.Context(), "hello")
		h.beside()
		second, _ := h.say("and you?")
		third, _ := h.say("and you?")
		close(goOn)
		<-done
		if n := h.notices(second.ID); len(n) != 1 {
			t.Errorf("the second turn was told %q", n)
		}
		if n := append(h.notices(first.ID), h.notices(third.ID)...); len(n) != 0 {
			t.Errorf("others were told %q", n)
		}
		fourth, _ := h.say("alone now")
		if n := h.notices(fourth.ID); len(n) != 0 {
			t.Errorf("told %q", n)
		}
	})
}

func TestTurnThatWaitsForAWorkerSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.Crowded(h.session.ID) // nothing runs: nothing happens
		h.agent.HoldOpens(make(chan struct{}))
		tn := h.queue("hello")
		go h.Run(t.Context(), tn)
		synctest.Wait()
		h.Crowded(h.session.ID)
		if n := h.notices(tn.ID); len(n) != 1 {
			t.Errorf("told %q", n)
		}
		h.agent.HoldOpens(nil)
		h.mgr.Forget(h.session.ID)
		synctest.Wait()
	})
}

// TestTurnOfALostSessionWaitsForItsSuccessor: a lost session whose successor is
// busy already gives its turn there, after the one that runs.
func TestTurnOfALostSessionWaitsForItsSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		h.mgr.Forget(h.session.ID)
		next, err := h.db.Sessions().Lose(t.Context(), h.session.ID)
		if err != nil {
			t.Fatal(err)
		}
		late, err := h.db.Turns().NewTurn(t.Context(), chat.NewTurn{ // made by somebody who had not heard of it
			Conversation: next.Conversation, Session: h.session.ID, Place: h.place, Origin: chat.OriginUser,
			Input: chat.Input{Pieces: []chat.Piece{{Text: "late"}}}, By: ann,
		})
		if err != nil {
			t.Fatal(err)
		}
		goOn := make(chan struct{})
		h.agent.Script(fake.Wait(goOn), fake.Text("first"))
		tn, done := h.run(t.Context(), "early")
		if tn.Session != next.ID {
			t.Fatalf("the turn belongs to session %d", tn.Session)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			h.Run(t.Context(), late)
		}()
		synctest.Wait()
		close(goOn)
		<-done
		<-over
		wantSaid(t, h.deliver(), "first", "you said: late")
		h.wantState(late, chat.TurnSucceeded, "")
	})
}

func TestRefusedCredentialsAreUsedByNoOtherWorkerEither(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		first := h.session
		h.beside()
		h.agent.Script(fake.Fail(chat.LoggedOut, ""))
		h.say("hello")
		synctest.Wait()
		if now, _ := h.agent.Live(); now != 0 {
			t.Errorf("%d processes with the same credentials live on", now)
		}
		if _, err := h.db.Sessions().UseSession(t.Context(), first.Conversation, first.ID); err != nil {
			t.Fatal(err)
		}
		h.plum()
	})
}
