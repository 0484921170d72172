package router_test

import (
	"testing"

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
