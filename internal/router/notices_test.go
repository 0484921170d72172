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

// now is what a message of ours reads now.
func (v *voice) now(ref chat.Ref) (p chat.Part) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, o := range v.sent {
		if v.refs[i].ID == ref.ID {
			p = o.Part
		}
	}
	return p
}

func TestNoticeOfAMessageThatWaitsNoMoreOffersNothing(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Steer} })
		h.runner.holds("work")
		h.say("work")
		first := h.runner.last()
		h.say("more")
		ref, _ := h.voice.button("rm:")
		h.say("and more")
		other, _ := h.voice.button("rm:")
		if p := h.voice.now(ref); len(p.Buttons) != 1 || len(p.Buttons[0]) != 2 {
			t.Fatalf("the notice offers %+v", p)
		}
		h.click("rm:")
		if p := h.voice.now(other); len(p.Buttons) != 0 || p.Text != "No longer waiting." {
			t.Errorf("after it was removed: %+v", p)
		}
		if p := h.voice.now(ref); len(p.Buttons) == 0 {
			t.Error("the other notice has lost its buttons")
		}
		h.runner.end(first.ID, chat.TurnSucceeded)
		h.say("next")
		if p := h.voice.now(ref); len(p.Buttons) != 0 || p.Text != "No longer waiting." {
			t.Errorf("after it ran: %+v", p)
		}
	})
}

// refused checks that a press was answered by its refusal, and by nothing else.
func (h *house) refused(ack chat.Ack, want string) {
	h.t.Helper()
	if !ack.Alert || !strings.Contains(ack.Toast, want) {
		h.t.Fatalf("the press shows %+v, want %q", ack, want)
	}
	for _, x := range h.voice.texts() {
		if x == ack.Toast {
			h.t.Errorf("the chat is told, too: %q", x)
		}
	}
}

func TestRefusalOfAPressIsWhatItShows(t *testing.T) {
	bob := chat.Person{ID: "2", Name: "Bob"}
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: team.Chat, Person: bob.ID, Role: chat.RoleMember, By: "1"})
		must(t, err)
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Steer} })
		h.runner.holds("[message from Ann (id 1)]\nwork")
		h.say("work", in(team))
		run := h.runner.last()
		h.say("more", in(team))
		ref, rm := h.voice.button("rm:")
		_, now := h.voice.button("now:")
		id := strings.TrimPrefix(rm, "rm:")
		for data, want := range map[string]string{
			rm: "not allowed", now: "not allowed", "listen:all": "not allowed", "sharing:person": "not allowed", "rule:1": "not allowed",
			"take:abcdef": "not allowed", "stop:99": "no longer does", "rm:x": "no longer does", "what:1": "no longer does", "retry:" + id: "not over yet",
			"run:" + fmt.Sprint(run.Session): "Nothing is held", "use:99": "no session", "undo:" + fmt.Sprint(run.Session): "is session",
			"aged:run:1": "no older messages", "edit:again:99:1": "no longer does", "mode:yolo": "not allow", "recap:99": "no longer does",
		} {
			before := len(h.voice.texts())
			ack := h.press(ref, data, in(team), from(bob))
			if !ack.Alert || !strings.Contains(ack.Toast, want) {
				t.Errorf("%s shows %+v, want %q", data, ack, want)
			}
			if said := h.voice.texts()[before:]; len(said) != 0 {
				t.Errorf("%s is answered aloud, too: %q", data, said)
			}
		}
		if p := h.voice.now(ref); len(p.Buttons) == 0 {
			t.Error("somebody who may not press them has taken the buttons away")
		}
		if ack := h.press(ref, rm, in(team)); ack.Alert {
			t.Errorf("its author is refused: %+v", ack)
		}
		before := len(h.voice.texts())
		h.refused(h.press(ref, rm+"0", in(team)), "no longer does")
		ack := h.press(ref, now, in(team)) // what was removed cannot be given
		if !ack.Alert || !strings.Contains(ack.Toast, "does not wait any more") || len(h.voice.texts()) != before {
			t.Errorf("shown %+v, said %q", ack, h.voice.texts()[before:])
		}
		h.runner.end(run.ID, chat.TurnSucceeded)
		h.prompts("[message from Ann (id 1)]\nwork")
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d presses have no end", n)
		}
	})
}

func TestPressThatIsDeliveredAgainIsNotRefusedForWhatItDid(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		h.runner.end(h.runner.last().ID, chat.TurnInterrupted)
		ref, data := h.voice.button("drop:")
		m := h.message("", func(m *chat.Message) { m.Kind, m.Data, m.Ref = chat.KindClick, data, ref })
		first := h.receive(m)[0]
		synctest.Wait()
		stop := h.message("", func(m *chat.Message) { m.Kind, m.Data, m.Ref = chat.KindClick, "stop:1", ref })
		h.refused(h.receive(stop)[0], "already over")
		if again := h.receive(stop)[0]; again.Alert || again.Toast != first.Toast {
			t.Errorf("a refused press, delivered again, shows %+v", again)
		}
		if again := h.receive(m)[0]; again.Alert || again.Toast != first.Toast || again.Fresh {
			t.Errorf("first %+v, again %+v", first, again)
		}
	})
}

func TestContinueGoesOnWithWhatWasInterruptedWhateverWasSaidSince(t *testing.T) {
	play(t, func(s *setup) { s.cfg.Notices = router.NoticeText }, func(t *testing.T, h *house) {
		h.runner.holds("work", "third")
		h.say("work")
		cut := h.runner.last()
		h.runner.end(cut.ID, chat.TurnInterrupted)
		ref, data := h.voice.button("cont:")
		h.say("second")
		h.say("third")
		h.say("fourth")
		h.click("rm:") // what was taken back is no turn that ran
		h.say("/continue")
		h.heard(fmt.Sprintf("#%d", cut.ID), "work")
		if p := h.voice.now(ref); len(p.Buttons) != 0 || !strings.Contains(p.Text, "interrupted") {
			t.Errorf("the note reads %+v", p)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		q := h.runner.last()
		if q.Names != cut.ID || !strings.Contains(q.Input.Text(), "An earlier run") || !strings.Contains(q.Input.Text(), "work") {
			t.Errorf("turn %+v", q)
		}
		h.refused(h.press(ref, data), "Already chosen: Continue") // the note says the same
		h.say("/continue")
		h.told("was not interrupted")
		h.say("/drop")
		h.told("Dropped. The session is kept.")
	})
}

func TestDropNamesWhatIsDropped(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		cut := h.runner.last()
		h.runner.end(cut.ID, chat.TurnInterrupted)
		h.say("second")
		h.say("/drop")
		h.told(fmt.Sprintf("#%d", cut.ID), "work")
		h.say("/continue")
		h.told("was not interrupted")
		h.say("/retry")
		h.prompts("work", "second", "second")
		h.say(fmt.Sprintf("/retry %d", cut.ID))
		h.told("Already chosen: Drop")
	})
}

func TestWhatIsAskedForOnceMoreSaysThatItWaits(t *testing.T) {
	for name, form := range map[string]router.Notices{"reaction": router.NoticeReaction, "text": router.NoticeText, "off": router.NoticeOff} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *setup) { s.cfg.Notices = form }, func(t *testing.T, h *house) {
				h.runner.holds("work", "other", "third")
				h.say("work")
				cut := h.runner.last()
				h.runner.end(cut.ID, chat.TurnInterrupted)
				h.say("other")
				other := h.runner.last()
				h.click("retry:")
				h.heard("when what is running now has ended (1 before it)")
				h.heard(fmt.Sprintf("Runs #%d once more", cut.ID))
				again, _ := h.voice.button("rm:")
				if _, stop := h.voice.button("stop:"); stop != fmt.Sprintf("stop:%d", other.ID) {
					t.Errorf("offers %q", stop)
				}
				h.click("stop:") // what it waits for is ended, and it is held behind that
				h.click("run:")
				if p := h.voice.now(again); len(p.Buttons) != 0 || p.Text != "No longer waiting." {
					t.Errorf("the notice reads %+v", p)
				}
				if q := h.runner.last(); q.Names != cut.ID {
					t.Fatalf("turn %+v", q)
				}
				h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
				m := h.say("third")
				h.say("third, but better", func(e *chat.Message) { e.Kind, e.Ref = chat.KindEdit, m.Ref })
				h.click("edit:again:")
				h.told("(1 before it)")
				h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
				h.prompts("work", "other", "work", "third", "third, but better")
			})
		})
	}
}

func TestWordsThatAnAgentHasNotTakenYetAreSpokenOf(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.agents.change(func(a *agents) { a.can = worker.Abilities{worker.Steer} })
		answer := make(chan error)
		h.runner.steer = func(context.Context, int64, chat.Input) error { return <-answer }
		h.runner.holds("work", "before")
		h.say("work")
		run := h.runner.last()
		h.say("before")
		said := len(h.voice.texts())
		h.say("/steer left")
		if n := len(h.voice.texts()); n != said {
			t.Errorf("told before it is known: %q", h.voice.texts()[said:])
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		h.told("has not taken it yet")
		answer <- nil
		synctest.Wait()
		h.told("Taken into the running turn")
		h.say("/steer right")
		time.Sleep(2 * time.Second)
		h.runner.end(run.ID, chat.TurnSucceeded) // without having taken them
		answer <- chat.E(chat.Conflict, "", nil)
		synctest.Wait()
		h.told("it waits its turn") // others come before
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "before", "right")
	})
}
