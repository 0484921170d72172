package router_test

import (
	"fmt"
	"testing"

	"cligate/internal/chat"
)

func TestReturnToAnAgentThatActsWithoutAskingIsItsOwners(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.member()
		h.agents.change(func(a *agents) { a.unattended = true })
		h.say("hello", in(team))
		free := h.runner.last().Session
		must(t, h.db.Sessions().Wish(t.Context(), free, chat.SettingMode, "yolo"))
		h.say("/agent claude", in(team))
		h.say("hello claude", in(team))
		h.say("/agent demo", in(team))
		h.told(fmt.Sprintf("Now in session #%d", free))
		h.say("/agent claude", in(team))
		// A member works with that agent too, in a session of the ordinary kind.
		h.say("/agent demo", in(team), from(bob))
		h.told("Agent: Demo", "New session")
		h.say("and now?", in(team), from(bob))
		s, err := h.db.Sessions().SessionByID(t.Context(), h.runner.last().Session)
		must(t, err)
		if s.ID == free || s.Agent != "demo" || s.Mode != "" {
			t.Errorf("the turn ran in %+v", s)
		}
	})
}

func TestRecapThatCannotBeGivenIsSaidToBeLate(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		h.say("/agent claude")
		h.say("hello claude")
		h.say("/agent demo recap") // it has its own session here
		h.told("Now in session", "begun already", "/agent demo recap")
		h.say("/agent demo recap")
		h.told("already", "/new")
		h.say("/new")
		h.say("/agent demo recap")
		h.told("brings it a recap")
	})
}

func TestModeIsLeftByAButtonThoughTheAgentHasNotSaidWhichThereAre(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		h.say("/mode")
		if _, data := h.voice.button("mode:default"); data != "" {
			t.Error("nothing was chosen, and leaving it is offered")
		}
		h.say("/mode plan")
		h.say("/mode")
		h.told("Mode: plan", "has not said")
		h.click("mode:default")
		if c := h.conv(); c.Mode != "" {
			t.Errorf("wish %q", c.Mode)
		}
	})
}
