package router_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/router"
	"cligate/internal/worker"
)

var bob = chat.Person{ID: "2", Name: "Bob", Lang: "en"}

// member lets Bob talk in the group, as a member.
func (h *house) member() {
	h.t.Helper()
	_, err := h.db.People().Grant(h.t.Context(), chat.Grant{Account: "bot", Chat: team.Chat, Person: bob.ID, Role: chat.RoleMember, By: "test"})
	must(h.t, err)
}

func TestSettingsAreSetLiveAndKeptApartFromWhatIsSeen(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		s := h.conv().Session
		h.workers.change(func(w *workers) {
			w.applied = chat.AppliedNext
			w.live[s] = worker.Info{Model: "large-1", Mode: "default", Modes: []string{"default", "plan"}, Effort: "low", Efforts: []string{"low", "high"}}
		})
		h.say("/effort high")
		h.told("Effort: high", "from the next turn")
		h.say("/mode plan")
		h.told("Mode: plan", "from the next turn")
		if c := h.conv(); c.Effort != "high" || c.Mode != "plan" || c.Session != s {
			t.Errorf("conversation %+v", c)
		}
		h.say("/status")
		h.told("model: large-1", "Mode: default (wanted: plan)", "effort: low (wanted: high)")
		// What the agent does not offer is refused before it is tried.
		tried := len(h.workers.set)
		h.say("/effort enormous")
		h.told("no effort enormous", "low, high")
		h.say("/mode fly")
		h.told("no mode fly")
		if len(h.workers.set) != tried {
			t.Errorf("tried %+v", h.workers.set)
		}
		h.say("/effort")
		h.told("wanted: high")
		h.click("effort:default")
		h.told("Effort: default")
		if c := h.conv(); c.Effort != "" {
			t.Errorf("wish %q", c.Effort)
		}
		// A word that the agent itself uses is its own.
		h.say("/mode default")
		if c := h.conv(); c.Mode != "default" {
			t.Errorf("wish %q", c.Mode)
		}
	})
}

func TestWhatAnAgentCannotDoIsSaidBeforeItIsTried(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals, worker.Models} })
		h.say("hello")
		for text, want := range map[string]string{
			"/effort high": "no choice of effort", "/effort": "no choice of effort", "/mode plan": "no choice of modes",
			"/plan the work": "no choice of modes",
		} {
			h.say(text)
			h.told(want)
		}
		if len(h.workers.set) != 0 {
			t.Errorf("tried %+v", h.workers.set)
		}
		h.prompts("hello") // and no plan is made in another mode instead
		h.say("/agents")
		h.told("Demo (demo)", "Can: ask for permission, change the model", "Cannot: ", "change the effort", "Wild never asks")
	})
}

func TestModeWithoutAskingIsTheOwnersAndTheOperatorsToAllow(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.member()
		h.agents.change(func(a *agents) { a.info.Modes = []string{"default", "yolo"} })
		h.say("hello", in(team))
		h.say("/mode yolo", in(team))
		h.told("has not allowed", "unattended: true")
		h.agents.change(func(a *agents) { a.unattended = true })
		h.say("/mode yolo", in(team), from(bob))
		h.told("Only the owner")
		h.say("/mode", in(team), from(bob))
		h.told("default")
		if _, data := h.voice.button("mode:yolo"); data != "" {
			t.Error("offered to a member")
		}
		if len(h.workers.set) != 0 {
			t.Errorf("tried %+v", h.workers.set)
		}
		h.say("/mode yolo", in(team))
		h.told("Mode: yolo")
		first := h.runner.last().Session
		h.say("/new", in(team))
		h.say("hello again", in(team))
		h.say(fmt.Sprintf("/use %d", first), in(team), from(bob))
		h.told("Only the owner")
		h.say(fmt.Sprintf("/use %d", first), in(team))
		h.told(fmt.Sprintf("Now in session #%d", first))
	})
}

func TestAgentThatNeverAsksIsNotChosen(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		h.say("/agent wild")
		h.told("never asks", "unattended: true")
		if c := h.conv(); c.Agent != "demo" {
			t.Errorf("agent %s", c.Agent)
		}
	})
}

func TestNewAgentIsOfferedARecap(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		recap := func() bool {
			t.Helper()
			s, err := h.db.Sessions().SessionByID(t.Context(), h.conv().Session)
			must(t, err)
			return s.Recap
		}
		h.say("hello")
		h.say("/agent claude")
		h.told("does not know yet")
		if recap() {
			t.Error("a recap that nobody asked for")
		}
		ref, data := h.voice.button("recap:")
		h.press(ref, data)
		h.told("recap")
		if !recap() {
			t.Error("no recap was ordered")
		}
		h.say("go on")
		h.press(ref, data)
		h.told("begun already")
		h.say("/agent demo") // finds the earlier one again
		h.told("Now in session")
		h.say("/agent codex recap")
		h.told("New session", "recap")
		if !recap() {
			t.Error("no recap was ordered")
		}
	})
}

func TestWordsAreTakenIntoTheRunningTurn(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals, worker.Steer} })
		var got []string
		answer := make(chan error)
		h.runner.steer = func(_ context.Context, _ int64, in chat.Input) error {
			got = append(got, in.Text())
			return <-answer
		}
		h.runner.holds("work")
		h.say("work")
		run := h.runner.last()
		m := h.say("/steer to the left")
		h.say("/queue run") // does not start what is on its way
		answer <- nil
		synctest.Wait()
		h.heard("Taken into the running turn")
		of, err := h.db.History().TurnOfMessage(t.Context(), run.Place.ID, m.Ref.ID)
		must(t, err)
		if of.ID != run.ID || len(of.Input.Pieces) != 2 {
			t.Errorf("the words belong to %+v", of)
		}
		// A message that waits is put in by its button.
		h.say("and faster")
		h.click("now:")
		answer <- nil
		synctest.Wait()
		edits := h.voice.edits()
		if left := edits[len(edits)-1].Part.Buttons; len(left) != 0 {
			t.Errorf("of a message that does not wait any more stay %v", left)
		}
		// What the agent does not take waits, and is told to.
		h.say("/steer too late")
		answer <- chat.E(chat.Conflict, "", nil)
		synctest.Wait()
		h.told("could not take this")
		if _, data := h.voice.button("rm:"); data == "" {
			t.Error("no way to take back what waits")
		}
		h.runner.end(run.ID, chat.TurnSucceeded)
		h.prompts("work", "too late")
		if want := "to the left|and faster|too late"; strings.Join(got, "|") != want {
			t.Errorf("steered %q", got)
		}
		// Nothing runs: it is a message like others.
		h.say("/steer alone")
		h.prompts("work", "too late", "alone")
	})
}

func TestWhatCannotBeChosenIsSaidWithoutBeingTried(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals} })
		for _, name := range []string{"mode", "effort"} {
			h.say("/" + name)
			h.told("offers no choice")
			if all := h.voice.texts(); strings.Contains(all[len(all)-1], "nothing was changed") {
				t.Errorf("/%s asked for no change: %q", name, all[len(all)-1])
			}
			h.say("/" + name + " other")
			h.told("nothing was changed")
		}
	})
}

func TestOtherWordsTakeThePlaceOfWhatRuns(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals, worker.Steer, worker.Replace} })
		var got []string
		answer := make(chan error)
		h.runner.swap = func(in chat.Input) error {
			got = append(got, in.Text())
			return <-answer
		}
		h.runner.holds("work")
		h.say("work")
		run := h.runner.last()
		h.say("/instead")
		h.told("Write what to do instead")
		m := h.say("/instead to the left")
		answer <- nil
		synctest.Wait()
		of, err := h.db.History().TurnOfMessage(t.Context(), run.Place.ID, m.Ref.ID)
		must(t, err)
		if of.ID != run.ID {
			t.Errorf("the words belong to %+v", of)
		}
		h.say("/instead too late")
		answer <- chat.E(chat.Conflict, "", nil)
		synctest.Wait()
		h.told("will not be run later", "too late")
		h.runner.end(run.ID, chat.TurnSucceeded)
		h.prompts("work") // after the work they would mean something else
		if want := "to the left|too late"; strings.Join(got, "|") != want {
			t.Errorf("replaced by %q", got)
		}
	})
}

func TestAgentThatDropsNothingIsNotGivenOtherWords(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals, worker.Steer} })
		h.runner.holds("work")
		h.say("work")
		h.say("/instead left")
		h.told("cannot drop what it does")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work") // they would mean something else now
		h.say("/instead right")
		h.prompts("work", "right") // nothing runs that it could take the place of
	})
}

func TestWhoTakesNoWordsIsTheAgentThatRuns(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals} })
		h.runner.holds("work")
		h.say("work")
		run := h.runner.last()
		h.say("more")
		_, rm := h.voice.button("rm:")
		h.say("/agent claude") // the turn of the demo agent goes on
		before := len(h.voice.texts())
		h.say("/instead left")
		h.say("/steer left")
		ref, _ := h.voice.button("rm:")
		h.press(ref, "now"+strings.TrimPrefix(rm, "rm"))
		said := strings.Join(h.voice.texts()[before:], "\n")
		if strings.Count(said, "Demo takes no words") != 2 || strings.Count(said, "Demo cannot drop") != 1 || strings.Contains(said, "Claude") {
			t.Errorf("said %q", said)
		}
		h.runner.end(run.ID, chat.TurnSucceeded)
	})
}

func TestAgentThatTakesNoWordsLetsThemWait(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Approvals} })
		h.runner.holds("work")
		h.say("work")
		h.say("/steer left")
		h.heard("takes no words while it works")
		h.say("more")
		if _, data := h.voice.button("now:"); data != "" {
			t.Errorf("offered %s", data)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "left", "more")
	})
}

func TestWordsThatMayHaveArrivedBeforeARestartAreAskedAbout(t *testing.T) {
	play(t, func(s *setup) { s.idle = true }, func(t *testing.T, h *house) {
		m := h.message("left")
		h.receive(m)
		ins, err := h.db.Inbox().Unrouted(t.Context(), 1)
		must(t, err)
		s, err := h.db.Sessions().StartSession(t.Context(), chat.NewSession{Conversation: ins[0].Conversation, Agent: "demo", Workspace: "/w/main"})
		must(t, err)
		q, err := h.db.Turns().NewTurn(t.Context(), chat.NewTurn{
			Conversation: ins[0].Conversation, Session: s.ID, Place: ins[0].Place, By: owner, Inbound: []int64{ins[0].ID},
			Input: chat.Input{Pieces: []chat.Piece{{Inbound: ins[0].ID, Text: "left"}}},
		})
		must(t, err)
		must(t, h.db.Turns().Offer(t.Context(), q.ID))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.router.Run(ctx) }()
		synctest.Wait()
		h.told("may have arrived", "left")
		h.prompts()
		h.click("run:")
		h.prompts("left")
		cancel()
		<-done
	})
}

func TestHandoffPrintsTheCommandAndTheNextMessageTakesBack(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/handoff")
		h.told("no session")
		h.say("hello")
		s := h.conv().Session
		h.say("/handoff")
		h.told("no session") // the agent has not said its id yet
		must(t, h.db.Sessions().Bind(t.Context(), s, "it's-1", chat.Settings{}))
		h.runner.holds("work")
		h.say("work")
		h.say("/handoff")
		h.told("at work")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.say("/handoff")
		h.told(`cd /w/main && demo --resume 'it'\''s-1'`)
		row, err := h.db.Sessions().SessionByID(t.Context(), s)
		must(t, err)
		if row.ParkedAt.IsZero() || len(h.workers.forgot) != 1 {
			t.Errorf("session %+v, closed %v", row, h.workers.forgot)
		}
		h.say("/status")
		h.told("handed over")
		h.say("/agent claude")
		h.say("hello")
		must(t, h.db.Sessions().Bind(t.Context(), h.conv().Session, "c-1", chat.Settings{}))
		h.say("/handoff")
		h.told("cannot go on in a terminal")
	})
}

func TestSessionsFromElsewhereAreListedAndTakenOverByOperators(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.member()
		h.agents.change(func(a *agents) {
			a.natives = []worker.Native{{ID: strings.Repeat("long/", 30), Title: "fix the\x1b[2J bug", Used: time.Now()}, {ID: "known", Title: "ours"}}
		})
		h.say("hello", in(team))
		must(t, h.db.Sessions().Bind(t.Context(), h.runner.last().Session, "known", chat.Settings{}))
		h.say("/sessions", in(team), from(bob))
		if all := h.voice.texts(); strings.Contains(all[len(all)-1], "fix the") {
			t.Error("a member sees what was done in a terminal")
		}
		h.say("/sessions", in(team))
		h.told("Begun elsewhere", "fix the[2J bug")
		if all := h.voice.texts(); strings.Contains(all[len(all)-1], "ours") {
			t.Error("a session of ours is listed as foreign")
		}
		ref, data := h.voice.button("take:")
		h.refused(h.press(ref, data, in(team), from(bob)), "not allowed")
		h.press(ref, data, in(team))
		h.told("goes on here")
		h.press(ref, data, in(team))
		h.told("no such session")
		h.say("what did we do?", in(team))
		s, err := h.db.Sessions().SessionByID(t.Context(), h.runner.last().Session)
		must(t, err)
		if s.NativeID != strings.Repeat("long/", 30) || !s.Adopted {
			t.Errorf("the turn ran in %+v", s)
		}
		h.say("/sessions", in(team))
		h.told("begun elsewhere")
	})
}

func TestRulesAreListedAndRemoved(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.member()
		h.runner.holds("work")
		h.say("work")
		run := h.runner.last()
		for i, e := range []chat.Effect{chat.EffectSession, chat.EffectAlways} {
			a, err := h.db.Asks().Ask(t.Context(), chat.Ask{
				Turn: run.ID, Session: run.Session, Place: run.Place, Asker: owner, Digest: fmt.Sprint("d", i), Expires: time.Now().Add(time.Hour),
				Question: chat.Question{Key: fmt.Sprint(i), Kind: chat.AskApproval, Tool: "Bash", Detail: fmt.Sprint("ls ", i)},
			}, nil)
			must(t, err)
			_, err = h.db.Asks().Decide(t.Context(), chat.Decision{
				Ask: a.ID, Place: run.Place, Role: chat.RoleOwner, Answer: chat.Answer{Effect: e, By: owner}, At: time.Now(),
			})
			must(t, err)
		}
		h.say("/rules", in(team), from(bob))
		h.told("not allowed")
		h.say("/rules")
		h.told("Allowed without asking: 2", "Bash ls 0 · in session #", "Bash ls 1 · always, with Demo", "Ann")
		h.click("rule:")
		h.told("removed")
		h.say("/rules remove 1")
		h.told("Rule #1")
		h.say("/rules")
		h.say("/rules remove 77")
		h.told("no rule #77")
		h.runner.end(run.ID, chat.TurnSucceeded)
	})
}

func TestCompactGoesToTheAgentOrIsSaidToBeImpossible(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/compact keep the names")
		h.prompts("/compact keep the names")
		h.say("/agent wild")
		h.say("/agent claude")
		h.say("/compact") // not known to be impossible: the agent says it
		h.prompts("/compact keep the names", "/compact")
	})
}

func TestLostSessionIsReplacedAsItsUserChooses(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", ":empty"} {
		play2(t, nil, func(t *testing.T, h *house) {
			h.runner.holds("hello")
			h.say("hello")
			run := h.runner.last()
			must(t, h.db.Runs().Finish(t.Context(), chat.Ending{Turn: run.ID, State: chat.TurnFailed, Reason: chat.NoSession}))
			h.runner.end(run.ID, chat.TurnFailed)
			h.say(fmt.Sprintf("/renew %d%s", run.ID, how))
			h.told("New session")
			again := h.runner.last()
			s, err := h.db.Sessions().SessionByID(t.Context(), again.Session)
			must(t, err)
			if again.Session == run.Session || again.Input.Text() != "hello" || again.Names != run.ID || s.Recap != (how == "") {
				t.Errorf("turn %+v in %+v", again, s)
			}
			h.runner.end(again.ID, chat.TurnSucceeded)
			h.say(fmt.Sprintf("/renew %d%s", run.ID, how))
			h.told("Already chosen: New session")
		})
	}
}

func TestShorteningLeavesTheOtherOffersOfItsMessage(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("long")
		h.say("long")
		run := h.runner.last()
		outs := h.voice.Compose(run.Place, 0, "offers", chat.OutNotice, chat.Reply{Kind: chat.ReplyNotice, Markdown: "too long", Buttons: [][]chat.Button{{
			{Label: "Compact", Data: fmt.Sprintf("compact:%d", run.ID)}, {Label: "Retry", Data: fmt.Sprintf("retry:%d", run.ID)},
		}}})
		must(t, h.db.Outbox().Enqueue(t.Context(), outs))
		h.voice.Wake(run.Place)
		h.runner.end(run.ID, chat.TurnFailed)
		h.click("compact:")
		h.prompts("long", "/compact")
		edits := h.voice.edits()
		left := edits[len(edits)-1].Part.Buttons
		if len(left) != 1 || len(left[0]) != 1 || left[0][0].Label != "Retry" {
			t.Errorf("left %+v", left)
		}
	})
}
