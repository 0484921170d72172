package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
)

// dead leaves a turn as a daemon leaves it that is killed at that point.
func (h *house) dead(state chat.AttemptState, ask bool) (chat.Turn, chat.Ask) {
	h.t.Helper()
	tn := h.queue("write a book")
	att, err := h.db.Runs().Claim(h.t.Context(), tn.ID, chat.AttemptClaimed)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.db.Runs().Advance(h.t.Context(), att.ID, state, "runner-"+itoa(tn.ID)); err != nil {
		h.t.Fatal(err)
	}
	var a chat.Ask
	if ask {
		a, err = h.db.Asks().Ask(h.t.Context(), chat.Ask{
			Turn: tn.ID, Session: tn.Session, Place: h.place, Asker: ann, Question: approval("a1", "ls"), Digest: "d",
			State: chat.AskOpen, Expires: time.Now().Add(time.Minute),
		}, func(id int64) []chat.Out {
			return h.voice.Compose(h.place, 0, "ask/"+itoa(id), chat.OutAsk, chat.Reply{Markdown: "ls?"})
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return tn, a
}

func (h *house) recover() {
	h.t.Helper()
	if err := h.Recover(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func TestTurnThatTheAgentNeverSawRunsAgainInSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		for _, s := range []chat.AttemptState{chat.AttemptClaimed, chat.AttemptReady} {
			tn, _ := h.dead(s, false)
			h.recover()
			h.wantState(tn, chat.TurnQueued, "")
			if outs := h.deliver(); len(outs) != 0 {
				t.Errorf("said %q", texts(outs))
			}
			h.Run(t.Context(), h.turnOf(tn.ID))
			h.wantState(tn, chat.TurnSucceeded, "")
			wantSaid(t, h.deliver(), "you said: write a book")
		}
		if n := len(h.agent.Prompts()); n != 2 {
			t.Errorf("%d prompts were given, want 2", n)
		}
	})
}

func TestTurnThatTheAgentMayHaveSeenIsNeverRunAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.say("remember the word plum")
		for _, s := range []chat.AttemptState{chat.AttemptIntent, chat.AttemptSent} {
			tn, _ := h.dead(s, false)
			h.recover()
			h.recover() // twice: one message
			h.crash()
			h.recover()
			h.wantState(tn, chat.TurnInterrupted, chat.DaemonDied)
			outs := h.deliver()
			wantSaid(t, outs, "CliGate was restarted")
			if !strings.Contains(texts(outs), "not complete") || outs[0].Part.ReplyTo != tn.ReplyTo {
				t.Errorf("said %+v", outs)
			}
			id := itoa(tn.ID)
			if got := buttons(outs); !slices.Equal(got, []string{"cont:" + id, "retry:" + id, "drop:" + id}) {
				t.Errorf("offers %q", got)
			}
			h.Run(t.Context(), h.turnOf(tn.ID)) // whoever still has it in hand
		}
		if n := len(h.agent.Prompts()); n != 1 {
			t.Errorf("%d prompts were given, want 1", n)
		}
		h.plum()
	})
}

func TestWordsMeantInPlaceOfATurnRunInItsPlaceAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, s := range []chat.AttemptState{chat.AttemptClaimed, chat.AttemptSent} {
			h := build(t, turn.Config{})
			tn, _ := h.dead(s, false)
			waits := h.queue("and then this")
			instead := h.queue("a poem, please", func(n *chat.NewTurn) { n.Instead = true })
			h.recover()
			h.recover() // twice: one message
			h.wantState(tn, chat.TurnStopped, chat.DaemonDied)
			outs := h.deliver()
			if said := texts(outs); len(outs) != 1 || !strings.Contains(said, "a poem, please") || !strings.Contains(said, "/retry "+itoa(tn.ID)) {
				t.Errorf("said %q", said)
			}
			if got := buttons(outs); len(got) != 0 {
				t.Errorf("offers %q", got)
			}
			next, err := h.db.Turns().NextTurn(t.Context(), tn.Session)
			if err != nil || next.ID != instead.ID {
				t.Fatalf("next is %+v, %v", next, err)
			}
			h.Run(t.Context(), next)
			if next, err = h.db.Turns().NextTurn(t.Context(), tn.Session); err != nil || next.ID != waits.ID {
				t.Errorf("then %+v, %v", next, err)
			}
		}
	})
}

func TestAskOfADeadDaemonIsVoid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		tn, open := h.dead(chat.AttemptSent, true)
		h.deliver()
		h.recover()
		h.wantState(tn, chat.TurnInterrupted, chat.DaemonDied)
		wantCode(t, h.decide(open.ID, "once", ann), chat.Expired)
		outs := h.waitEdits()
		wantSaid(t, outs, "CliGate was restarted")
		edits := 0
		for _, o := range outs {
			if o.Op == chat.OpEdit && strings.Contains(o.Part.Text, "No longer open") {
				edits++
			}
		}
		if edits != 1 {
			t.Errorf("%d edits: %q", edits, texts(outs))
		}
	})
}

func TestAskOfADaemonThatDiedTwiceOffersNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.dead(chat.AttemptSent, true)
		card, err := h.db.Outbox().NextOut(t.Context(), h.place.Channel())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.db.Outbox().Sending(t.Context(), card.ID); err != nil {
			t.Fatal(err)
		}
		h.recover() // ends the turn; this life dies before it knows where the buttons are
		h.crash()
		h.deliver()
		h.recover()
		if said := texts(h.waitEdits()); strings.Count(said, "No longer open") != 1 {
			t.Errorf("said %q", said)
		}
		h.crash()
		h.recover()
		if outs := h.waitEdits(); len(outs) != 0 {
			t.Errorf("once more: %q", texts(outs))
		}
	})
}

func TestAskThatWasNeverShownIsNotShownAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		h.dead(chat.AttemptSent, true) // committed, nothing sent
		h.recover()
		for _, o := range h.waitEdits() {
			if o.Class == chat.OutAsk {
				t.Errorf("shown: %q", o.Part.Text)
			}
		}
	})
}

func TestAnswerThatMayNotHaveArrivedCountsNoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		tn, a := h.dead(chat.AttemptSent, true)
		h.deliver()
		if err := h.decide(a.ID, "once", ann); err != nil {
			t.Fatal(err)
		}
		h.recover()
		h.wantState(tn, chat.TurnInterrupted, chat.DaemonDied)
		if said := texts(h.waitEdits()); !strings.Contains(said, "No longer open") {
			t.Errorf("said %q", said)
		}
		if err := h.decide(a.ID, "no", ann); err == nil {
			t.Error("decided twice")
		}
	})
}

func TestLeftoversAreKilledBeforeAnythingElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var reaped []string
		var fail error
		h := build(t, turn.Config{Reap: func(_ context.Context, runners []string) error {
			reaped = append(reaped, runners...)
			return fail
		}})
		tn, _ := h.dead(chat.AttemptReady, false)
		fail = errors.New("it lives on")
		if err := h.Recover(t.Context()); !errors.Is(err, fail) {
			t.Errorf("recovered beside a living worker: %v", err)
		}
		h.wantState(tn, chat.TurnRunning, "")
		fail = nil
		h.recover()
		h.wantState(tn, chat.TurnQueued, "")
		if want := "runner-" + itoa(tn.ID); !slices.Equal(reaped, []string{want, want}) {
			t.Errorf("reaped %q", reaped)
		}
	})
}

func TestOverdueAskIsExpiredAtBoot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		_, a := h.dead(chat.AttemptSent, true)
		h.deliver()
		wait(time.Hour)
		// Its turn is not there to be found: only the ask is.
		h.books.Recovery = forgetful{h.books.Recovery}
		h.crash()
		h.recover()
		now, err := h.db.Asks().AskByID(t.Context(), a.ID)
		if err != nil || now.State != chat.AskExpired {
			t.Errorf("ask is %s, %v", now.State, err)
		}
		if said := texts(h.waitEdits()); !strings.Contains(said, "Expired (denied)") {
			t.Errorf("said %q", said)
		}
	})
}

type forgetful struct{ turn.Recovery }

func (forgetful) Unfinished(context.Context) ([]chat.Unfinished, error) { return nil, nil }

func TestAMessageShowsThatItsTurnWasInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		tn, _ := h.dead(chat.AttemptSent, false)
		h.recover()
		h.wantState(tn, chat.TurnInterrupted, chat.DaemonDied)
		if want := []string{itoa(tn.ID) + " failed"}; !slices.Equal(h.voice.signs, want) {
			t.Errorf("signs %q, want %q", h.voice.signs, want)
		}
	})
}
