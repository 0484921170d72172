package turn_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/turn"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
)

func TestLostSessionIsAskedAboutWhenSoConfigured(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{AskLost: true})
		h.say("remember the word plum")
		h.mgr.Forget(h.session.ID)
		h.agent.Lose(h.session.Seed)
		tn := h.queue("what was the word?")
		behind := h.queue("and then?")
		h.Run(t.Context(), tn)
		outs := h.deliver()
		h.wantState(tn, chat.TurnFailed, chat.NoSession)
		wantSaid(t, outs, "no longer has this session")
		got := buttons(outs)
		for _, want := range []string{"renew:" + itoa(tn.ID), "renew:" + itoa(tn.ID) + ":empty", "run:" + itoa(h.session.ID), "clear:" + itoa(h.session.ID)} {
			if !slices.Contains(got, want) {
				t.Errorf("offers %q, not %s", got, want)
			}
		}
		if s := h.current(); s.ID != h.session.ID || s.State != chat.SessionOpen {
			t.Errorf("nobody chose, and the session is %+v", s)
		}
		if !h.turnOf(behind.ID).Held {
			t.Error("what waits would end alike, and is not held")
		}
	})
}

func TestOnlyADefiniteUnknownIDIsALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{AskLost: true})
		h.say("remember the word plum")
		for _, code := range []chat.Code{chat.LoggedOut, chat.Quota, chat.Overloaded, chat.Network, chat.StartTimeout, chat.LoadTimeout, chat.Crashed, chat.Internal} {
			h.mgr.Forget(h.session.ID)
			h.agent.Refuse(chat.E(code, "x", nil))
			_, outs := h.say("hello")
			if strings.Contains(strings.Join(buttons(outs), " "), "renew:") {
				t.Errorf("%s counts as lost", code)
			}
			time.Sleep(time.Hour) // no pause after deaths
		}
		h.plum()
	})
}

func TestSameFailureAgainAndAgainStopsTheQueueWithAnOffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		var queue []chat.Turn
		for range 5 {
			h.agent.Script(fake.Fail(chat.AgentError, "boom"))
			queue = append(queue, h.queue("go on"))
		}
		for i, tn := range queue[:3] {
			h.Run(t.Context(), tn)
			outs := h.deliver()
			wantSaid(t, outs, "reports: boom")
			if held := slices.Contains(buttons(outs), "run:"+itoa(h.session.ID)); held != (i == 2) {
				t.Errorf("failure %d offers %q", i+1, buttons(outs))
			}
		}
		for _, tn := range queue[3:] {
			if !h.turnOf(tn.ID).Held {
				t.Error("the next one would fail alike, and is not held")
			}
		}
	})
}

// What a person or the clock has to change first would only use up what waits.
func TestFailureThatLastsHoldsTheQueueAtOnce(t *testing.T) {
	t.Parallel()
	for code, words := range map[chat.Code]string{
		chat.LoggedOut: "not logged in. run x login. Log in", chat.Quota: "usage limit is reached. run x login. Try again later",
		chat.NotInstalled: "not installed", chat.TooOld: "too old",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := build(t, turn.Config{})
			h.say("remember the word plum")
			h.agent.Script(fake.Fail(code, "run x login"))
			first, second, third := h.queue("one"), h.queue("two"), h.queue("three")
			h.Run(t.Context(), first)
			outs := h.deliver()
			wantSaid(t, outs, words)
			if got := buttons(outs); !slices.Contains(got, "run:"+itoa(h.session.ID)) || !slices.Contains(got, "clear:"+itoa(h.session.ID)) {
				t.Errorf("%s offers %q", code, got)
			}
			for _, tn := range []chat.Turn{second, third} {
				if now := h.turnOf(tn.ID); !now.Held || now.State != chat.TurnQueued {
					t.Errorf("%s: what waits is %s, held %v", code, now.State, now.Held)
				}
			}
			h.plum() // what is said now is tried
		})
	}
}

func TestPeopleReadTheAgentsTitleNotItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := build(t, turn.Config{Title: func(agent string) string { return "The " + agent + " agent" }})
		h.agent.Script(fake.Fail(chat.LoggedOut, ""))
		_, outs := h.say("hello")
		wantSaid(t, outs, "The fake agent")
	})
}

func TestTooLongConversationIsOfferedToBeShortened(t *testing.T) {
	t.Parallel()
	for _, can := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := build(t, turn.Config{Can: func(agent string, a worker.Ability) bool { return can && agent == "fake" && a == worker.Compact }})
			h.agent.Script(fake.Fail(chat.ContextFull, ""))
			tn, outs := h.say("one more")
			if got := slices.Contains(buttons(outs), "compact:"+itoa(tn.ID)); got != can {
				t.Errorf("offers %q", buttons(outs))
			}
		})
	}
}

func TestSessionThatComesBackFromATerminalTellsWhetherItMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after  time.Duration // of the last use there, since the hand-over
		listed bool
		said   string
	}{
		"it moved":     {time.Minute, true, "went on elsewhere"},
		"it did not":   {-time.Minute, true, ""},
		"nobody knows": {0, false, "does not tell"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := build(t, turn.Config{})
			h.say("remember the word plum")
			h.mgr.Forget(h.session.ID)
			at := time.Now()
			if err := h.db.Sessions().Park(t.Context(), h.session.ID, at); err != nil {
				t.Fatal(err)
			}
			if c.listed {
				h.natives = []worker.Native{{ID: "other"}, {ID: h.current().NativeID, Used: at.Add(c.after)}}
			}
			_, outs := h.say("what was the word?")
			all := texts(outs)
			if !strings.Contains(all, "the word was plum") || c.said != "" && !strings.Contains(all, c.said) || c.said == "" && len(outs) != 1 {
				t.Errorf("%s: said %q", name, all)
			}
			if !h.current().ParkedAt.IsZero() {
				t.Errorf("%s: still parked", name)
			}
			if _, outs := h.say("again"); len(outs) != 1 {
				t.Errorf("%s: told twice: %q", name, texts(outs))
			}
		})
	}
}

func TestWordsReachTheRunningTurnAndNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		words := chat.Input{Pieces: []chat.Piece{{Text: "left"}}}
		wantCode(t, h.Steer(t.Context(), 77, words), chat.Conflict)
		goOn := make(chan struct{})
		h.agent.Script(fake.Wait(goOn))
		tn, done := h.run(t.Context(), "work")
		if err := h.Steer(t.Context(), tn.ID, words); err != nil {
			t.Error(err)
		}
		wantCode(t, h.Steer(t.Context(), tn.ID+1, words), chat.Conflict)
		wantCode(t, h.Replace(t.Context(), tn.ID, words), chat.Unsupported) // this agent drops nothing
		wantCode(t, h.Replace(t.Context(), tn.ID+1, words), chat.Conflict)
		h.agent.Declare(worker.AllAbilities()...)
		if err := h.Replace(t.Context(), tn.ID, words); err != nil {
			t.Error(err)
		}
		close(goOn)
		<-done
		wantCode(t, h.Steer(t.Context(), tn.ID, words), chat.Conflict)
	})
}

func TestFetchedFilesReachTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{})
		m := h.record("look")
		s := h.current()
		tn, err := h.db.Turns().NewTurn(t.Context(), chat.NewTurn{
			Conversation: s.Conversation, Session: s.ID, Place: h.place, By: ann, Inbound: []int64{m.ID},
			Input: chat.Input{Pieces: []chat.Piece{{Inbound: m.ID, Text: "look", Files: []chat.FileRef{{ID: "f", Path: "/tmp/a.png", MIME: "image/png"}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Run(t.Context(), tn)
		if got := h.inputs; len(got) != 1 || len(got[0].Fetched()) != 1 || got[0].Fetched()[0].Path != "/tmp/a.png" {
			t.Errorf("the agent got %+v", got)
		}
	})
}

func TestStandingPermissionIsAnOperatorsToGive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, turn.Config{Always: true})
		h.agent.Script(fake.Ask(approval("a1", "ls")), fake.Text("{answer}"))
		_, done := h.run(t.Context(), "list")
		a := h.openAsks()[0]
		wantCode(t, h.decide(a.ID, "always", ann), chat.Denied) // a member
		o, _ := a.Question.With(chat.EffectAlways)
		got, err := h.db.Asks().Decide(t.Context(), chat.Decision{
			Ask: a.ID, Answer: chat.Answer{Option: o.ID, Effect: o.Effect, By: ann}, Place: h.place, Role: chat.RoleOwner, At: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.board.Decided(got)
		<-done
		wantSaid(t, h.deliver(), "once") // that is all the agent hears
		synctest.Wait()

		// The same request in a later session of the conversation is not asked.
		next, err := h.db.Sessions().StartSession(t.Context(), chat.NewSession{
			Conversation: h.session.Conversation, Agent: h.session.Agent, Workspace: h.session.Workspace,
		})
		if err != nil {
			t.Fatal(err)
		}
		h.agent.Script(fake.Ask(approval("b1", "ls")), fake.Text("{answer}"))
		tn, outs := h.say("again")
		if tn.Session != next.ID {
			t.Fatalf("in session %d", tn.Session)
		}
		wantSaid(t, outs, "once")
	})
}
