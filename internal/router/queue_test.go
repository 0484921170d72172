package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/router"
	"cligate/internal/worker"
)

func TestWaitingIsShownOnTheMessageItself(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		m := h.say("next")
		if want := []string{m.Ref.ID + "😴"}; !slices.Equal(h.signals.marks, want) {
			t.Errorf("marks = %q, want %q", h.signals.marks, want)
		}
		if n := len(h.voice.texts()); n != 0 {
			t.Errorf("%d notices beside the reaction", n)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		if n := len(h.signals.marks); n != 1 { // what runs is shown by others
			t.Errorf("marks = %q", h.signals.marks)
		}
	})
}

func TestAMessageThatIsTakenBackShowsNothingMore(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		m := h.say("next")
		h.say("/cancel 2")
		if want := []string{m.Ref.ID + "😴", m.Ref.ID}; !slices.Equal(h.signals.marks, want) {
			t.Errorf("marks = %q, want %q", h.signals.marks, want)
		}
	})
}

func TestWaitingIsSaidWhereReactionsAreNotPossible(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.signals.no = true
		h.runner.holds("work")
		h.say("work")
		h.say("second")
		h.say("third")
		h.told("Waiting: 2 before it")
		h.click("rm:") // the newest: third
		h.told("Removed", "third")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "second")
	})
}

func TestNoticeOfWaitingCanBeOff(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeOff }, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		h.say("second")
		if len(h.signals.marks)+len(h.voice.texts()) != 0 {
			t.Errorf("marks %q, words %q", h.signals.marks, h.voice.texts())
		}
	})
}

func TestEveryWaitingMessageCanBeRemoved(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		for _, x := range []string{"a", "b", "c"} {
			h.say(x)
		}
		h.say("/queue")
		h.told("Waiting: 3", "a", "b", "c")
		waiting, err := h.db.Turns().Queued(t.Context(), h.conv().Session)
		must(t, err)
		ref, _ := h.voice.button("rm:")
		h.press(ref, fmt.Sprintf("rm:%d", waiting[1].ID))
		h.told("Removed", "b")
		h.press(ref, fmt.Sprintf("rm:%d", waiting[1].ID)) // once more: harmless
		h.press(ref, fmt.Sprintf("rm:%d", waiting[2].ID))
		edits := h.voice.edits()
		if n := len(edits[0].Part.Buttons); n != 2 {
			t.Errorf("%d buttons left after the first removal", n)
		}
		if left := edits[len(edits)-1].Part.Buttons; len(left) != 1 || left[0][0].Data != fmt.Sprintf("rm:%d", waiting[0].ID) {
			t.Errorf("buttons left after the second: %v", left)
		}
		h.say("d")
		h.say(fmt.Sprintf("/cancel #%d", waiting[2].ID+1))
		h.told("Removed", "d")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "a")
		h.say(fmt.Sprintf("/cancel %d", waiting[0].ID))
		h.told("does not wait any more")
	})
}

func TestRefusalSaysThatTheMessageWasNotTaken(t *testing.T) {
	play(t, func(s *setup) { s.cfg.QueueMax = 2 }, func(t *testing.T, h *house) {
		h.runner.holds("0")
		for i := range 5 {
			h.say(fmt.Sprint(i))
		}
		h.told("NOT taken")
		if n := len(h.voice.texts()); n != 2 {
			t.Errorf("%d refusals: %q", n, h.voice.texts())
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("0", "1", "2")
	})
}

func TestStopEndsTheTurnOnlyAndHoldsTheQueue(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		h.say("a")
		h.say("b")
		session := h.conv().Session
		h.say("/stop")
		h.heard("Stopping", "held back: 2")
		if !slices.Equal(h.runner.causes, []chat.Code{chat.Stopped}) {
			t.Errorf("causes = %v", h.runner.causes)
		}
		h.prompts("work")
		h.say("next") // at once; what is held stays behind
		h.prompts("work", "next")
		h.click("run:")
		h.prompts("work", "next", "a", "b")
		if h.conv().Session != session || len(h.workers.forgot) != 0 {
			t.Error("the stop cost the session or its process")
		}
	})
}

func TestHeldMessagesCanBeCleared(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work", "next")
		h.say("work")
		h.say("a")
		h.say("/stop")
		h.say("next")
		h.say("later") // waits, but is not held
		h.click("clear:")
		h.told("Removed from the queue: 1")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "next", "later")
	})
}

func TestStopIsHarmlessAtAnyTime(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/stop")
		h.told("Nothing is running")
		h.say("quick")
		h.say("/stop")
		h.told("Nothing is running")
		h.runner.holds("work")
		h.say("work")
		h.receive(h.message("/stop"), h.message("/stop"))
		synctest.Wait()
		h.say("after")
		h.prompts("quick", "work", "after")
		if q := h.turn(h.runner.last().ID); q.State != chat.TurnSucceeded {
			t.Errorf("the message after a stop is %s", q.State)
		}
	})
}

func TestOldStopButtonStopsNothingElse(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("first", "second")
		h.say("first")
		old := h.runner.last().ID
		h.runner.end(old, chat.TurnSucceeded)
		h.say("second")
		h.refused(h.press(chat.Ref{ID: "x"}, fmt.Sprintf("stop:%d", old)), "already over")
		if q := h.turn(h.runner.last().ID); q.State != chat.TurnRunning {
			t.Errorf("the other turn is %s", q.State)
		}
		h.press(chat.Ref{ID: "x"}, fmt.Sprintf("stop:%d", h.runner.last().ID))
		if q := h.turn(h.runner.last().ID); q.State != chat.TurnStopped {
			t.Errorf("the turn is %s", q.State)
		}
	})
}

func TestStopButtonOfATurnThatHasJustEndedStopsNothing(t *testing.T) {
	q := &lag{old: map[int64]chat.Turn{}}
	play(t, func(s *setup) { s.turns = func(i router.Turns) router.Turns { q.Turns = i; return q } }, func(t *testing.T, h *house) {
		h.runner.holds("first", "second")
		h.say("first")
		h.say("second")
		old := h.turn(h.runner.last().ID)
		h.runner.end(old.ID, chat.TurnSucceeded)
		q.old[old.ID] = old
		h.press(chat.Ref{ID: "x"}, fmt.Sprintf("stop:%d", old.ID))
		if q := h.turn(h.runner.last().ID); q.State != chat.TurnRunning || q.ID == old.ID {
			t.Errorf("turn %d is %s", q.ID, q.State)
		}
	})
}

func TestStopFreesALaneThatNobodyWorksIn(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.panics = 1
		h.say("lost") // claimed, and then nobody finishes it
		h.say("behind")
		h.prompts("lost")
		h.say("/stop")
		h.told("way is free")
		h.say("/queue run")
		h.prompts("lost", "behind")
	})
}

func TestStopReachesATurnThatTheAgentBegan(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		session := h.conv().Session
		q, a, err := h.db.Runs().Uninvited(t.Context(), session, 0)
		must(t, err)
		h.runner.alone = map[int64]bool{session: true}
		h.say("/stop")
		h.told("Stopping")
		h.say("wait for me")
		h.prompts("hello")
		must(t, h.db.Runs().Finish(t.Context(), chat.Ending{Turn: q.ID, Attempt: a.ID, State: chat.TurnStopped, Reason: chat.Stopped}))
		h.router.Lanes().Ended(q)
		synctest.Wait()
		h.prompts("hello", "wait for me")
	})
}

func TestEditChangesWhatWaits(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = time.Second }, func(t *testing.T, h *house) {
		edit := func(m chat.Message, text string) {
			h.say(text, func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
		}
		first := h.say("worrk")
		edit(first, "work") // still waiting for companions
		h.runner.holds("work")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		h.prompts("work")
		next := h.say("then that")
		time.Sleep(2 * time.Second)
		edit(next, "then this") // in the queue
		edit(first, "something else")
		h.told("already being worked on")
		edit(first, "and again")
		said := 0
		for _, x := range h.voice.texts() {
			if strings.Contains(x, "already being worked on") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("said %d times", said)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		edit(first, "too late, and nobody cares")
		h.prompts("work", "then this")
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages without an end", n)
		}
	})
}

func TestRecallRemovesWhatWaits(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Burst = time.Second }, func(t *testing.T, h *house) {
		recall := func(m chat.Message) {
			h.say("", func(e *chat.Message) { e.Kind, e.Ref = chat.KindRecall, m.Ref })
		}
		recall(h.say("never mind"))
		time.Sleep(2 * time.Second)
		h.runner.holds("work")
		working := h.say("work")
		time.Sleep(2 * time.Second)
		queued := h.say("queued")
		time.Sleep(2 * time.Second)
		recall(queued)
		recall(working)
		h.told("already being worked on")
		h.click("stop:") // what is told asks
		if id := h.runner.last().ID; h.turn(id).State != chat.TurnStopped {
			t.Errorf("turn %d is %s", id, h.turn(id).State)
		}
		h.prompts("work")
		recall(h.say("old", sentAgo(20*time.Hour)))
		h.refused(h.click("aged:run"), "no older messages")
		h.prompts("work")
	})
}

func TestEditedOldMessageIsAMessageOfNow(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		m := h.say("old", sentAgo(20*time.Hour))
		h.say("new words", func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
		h.prompts("new words")
		h.click("aged:run")
		h.prompts("new words")
	})
}

func TestNewWhileBusyWaitsForTheOldTurn(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("long")
		h.say("long")
		h.say("/new")
		h.told("goes on")
		old := h.runner.last()
		h.say("first of the new one")
		h.told("Waiting for the running turn")
		h.prompts("long")
		if h.conv().Session == old.Session {
			t.Fatal("no new session")
		}
		h.click("stop:") // of the old turn
		h.prompts("long", "first of the new one")
		if h.runner.last().Session == old.Session || h.turn(old.ID).State != chat.TurnStopped {
			t.Error("the turns are not where they belong")
		}
	})
}

func TestNewSessionWaitsForTheOldTurnThoughItsFirstTurnIsRemoved(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("long")
		h.say("long")
		h.say("/new")
		old := h.runner.last()
		h.say("first of the new one")
		h.say("second of the new one")
		h.click("rm:")
		h.prompts("long")
		h.say("third of the new one")
		h.prompts("long")
		h.press(chat.Ref{ID: "9"}, fmt.Sprintf("stop:%d", old.ID))
		h.prompts("long", "second of the new one", "third of the new one")
	})
}

func TestTurnOfANewSessionDoesNotWaitForHeldOnes(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("long")
		h.say("long")
		h.say("queued in the old session")
		h.say("/new with this")
		h.prompts("long")
		h.say("/stop") // the old turn; what waits behind it is held
		h.prompts("long", "with this")
	})
}

func TestReplacedSessionGivesItsProcessBack(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		old := h.conv().Session
		h.say("/new")
		if !slices.Equal(h.workers.forgot, []int64{old}) {
			t.Errorf("closed %v, want %d", h.workers.forgot, old)
		}
		h.runner.holds("long")
		h.say("long")
		h.say("/new")
		if len(h.workers.forgot) != 1 {
			t.Error("the process of a running turn was closed")
		}
	})
}

func TestConversationsDoNotWaitForEachOther(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("long")
		h.say("long")
		for i := range 10 {
			topic := chat.Place{Platform: "test", Account: "bot", Chat: "c1", Thread: fmt.Sprint(i), Direct: true}
			h.say(fmt.Sprintf("topic %d", i), in(topic))
		}
		if n := len(h.runner.prompts()); n != 11 {
			t.Errorf("%d turns ran", n)
		}
		for _, q := range h.runner.ran[1:] {
			if !strings.HasSuffix(q.Input.Text(), q.Place.Thread) {
				t.Errorf("%q is answered in thread %q", q.Input.Text(), q.Place.Thread)
			}
		}
	})
}

func TestDrainLetsRunningTurnsEnd(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("quick", "slow")
		other := chat.Place{Platform: "test", Account: "bot", Chat: "c2", Direct: true}
		h.say("quick")
		quick := h.runner.last().ID
		h.say("slow", in(other))
		h.say("queued")
		go func() {
			time.Sleep(time.Second)
			h.runner.end(quick, chat.TurnSucceeded)
		}()
		begin := time.Now()
		h.router.Lanes().Drain(10 * time.Second)
		if d := time.Since(begin); d != 10*time.Second {
			t.Errorf("drained in %v", d)
		}
		if q := h.turn(quick); q.State != chat.TurnSucceeded {
			t.Errorf("the quick turn is %s", q.State)
		}
		if !slices.Equal(h.runner.causes, []chat.Code{chat.Shutdown}) {
			t.Errorf("causes = %v", h.runner.causes)
		}
		h.router.Lanes().Drain(time.Hour) // again: harmless, and at once
		h.prompts("quick", "slow")
	})
}

func TestChoicesAboutAnInterruptedTurn(t *testing.T) {
	for _, c := range []struct {
		press, command string
		want           []string
		told           string
	}{
		{"cont:", "/continue", []string{"work", "Your previous run"}, "Already chosen: Continue"},
		{"retry:", "/retry", []string{"work", "work"}, "Already chosen: Retry"},
		{"drop:", "", []string{"work"}, "Already chosen: Drop"},
	} {
		t.Run(c.press, func(t *testing.T) {
			play(t, nil, func(t *testing.T, h *house) {
				h.runner.holds("work")
				h.say("work")
				old := h.runner.last()
				h.runner.end(old.ID, chat.TurnInterrupted)
				ref, data := h.voice.button(c.press)
				h.click(c.press)
				wantBegins(t, h.runner.prompts(), c.want)
				if c.press != "drop:" {
					q := h.runner.last()
					if q.Names != old.ID || q.Session != old.Session || q.ID == old.ID {
						t.Errorf("turn = %+v", q)
					}
				}
				edits := h.voice.edits()
				if len(edits) != 1 || len(edits[0].Part.Buttons) != 0 || !strings.Contains(edits[0].Part.Text, "answer: work") {
					t.Errorf("the old message became %+v", edits)
				}
				for _, v := range []string{"cont:", "retry:", "drop:"} { // a second choice is none
					h.refused(h.press(ref, v+strings.SplitN(data, ":", 2)[1]), c.told)
				}
				wantBegins(t, h.runner.prompts(), c.want)
			})
		})
		if c.command == "" {
			continue
		}
		t.Run(c.command, func(t *testing.T) {
			play(t, nil, func(t *testing.T, h *house) {
				h.runner.holds("work")
				h.say("work")
				h.runner.end(h.runner.last().ID, chat.TurnInterrupted)
				h.say(c.command)
				wantBegins(t, h.runner.prompts(), c.want)
				if q := h.turn(1); q.Choice == "" {
					t.Error("the choice was not noted")
				}
			})
		})
	}
}

func wantBegins(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Fatalf("prompts = %q, want %q", got, want)
	}
}

func TestRefusedRetryCanBeTriedAgain(t *testing.T) {
	play(t, func(s *setup) { s.cfg.QueueMax = 1 }, func(t *testing.T, h *house) {
		h.runner.holds("work", "busy")
		h.say("work")
		h.runner.end(h.runner.last().ID, chat.TurnInterrupted)
		h.say("busy")
		h.say("waits")
		h.click("retry:")
		h.told("NOT taken")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.click("retry:")
		h.prompts("work", "busy", "waits", "work")
	})
}

func TestContinueRunsInTheSessionThatWasInterrupted(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		old := h.runner.last()
		h.runner.end(old.ID, chat.TurnInterrupted)
		h.say("/new")
		h.click("cont:")
		if q := h.runner.last(); q.Session != old.Session {
			t.Errorf("ran in session %d, want %d", q.Session, old.Session)
		}
		if h.conv().Session == old.Session {
			t.Error("the current session changed")
		}
	})
}

func TestStatusTellsTheTruth(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/status")
		h.told("No session yet", "Agent: Demo", "/w/main")
		h.runner.holds("work")
		h.say("work")
		time.Sleep(83 * time.Second)
		h.say("behind")
		session := h.conv().Session
		must(t, h.db.Sessions().Bind(t.Context(), session, "native-7", chat.Settings{}))
		h.workers.change(func(w *workers) { w.live[session] = worker.Info{Model: "large"} })
		h.say("/status")
		h.told("model: large", "native-7", "process running", "for 1m23s: work", "Waiting: 1, held back: 0")
		h.say("/stop")
		h.workers.change(func(w *workers) { delete(w.live, session) })
		h.say("/status")
		h.told("no process", "Nothing is running", "held back: 1")
		h.say("/new")
		h.say("/status")
		h.told("not begun")
	})
}

func TestFiguresOfTheLastTurnAndOfTheSessionAreTold(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.usage = chat.Usage{In: 120, Out: 30, CostUSD: 0.25, Window: 1000, Used: 850}
		for range 3 {
			h.say("go on")
		}
		h.say("/status")
		h.told("Last turn: 120 tokens in, 30 out · $0.2500 · context 85% full", "This session: 360 tokens in, 90 out · $0.7500")
		h.say("/new")
		h.say("/status")
		if all := h.voice.texts(); strings.Contains(all[len(all)-1], "360") {
			t.Errorf("of another session: %q", all[len(all)-1])
		}
	})
}
