package router_test

import (
	"fmt"
	"strings"
	"testing"

	"cligate/internal/chat"
)

// verbs are those of the buttons of commands.
var verbs = []string{
	"stop", "rm", "use", "undo", "retry", "cont", "agent", "model", "effort", "mode", "verbosity", "rich", "compact", "ws", "file",
	"listen", "sharing", "rule", "drop", "run", "now", "recap", "renew", "take", "lost", "clear",
}

func TestWhereEverybodyHasAConversationNobodyPressesTheButtonsOfAnothers(t *testing.T) {
	bob, cid, dan := chat.Person{ID: "2", Name: "Bob"}, chat.Person{ID: "3", Name: "Cid"}, chat.Person{ID: "4", Name: "Dan"}
	play(t, nil, func(t *testing.T, h *house) {
		for p, role := range map[string]chat.Role{bob.ID: chat.RoleMember, cid.ID: chat.RoleMember, dan.ID: chat.RoleOperator} {
			_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: team.Chat, Person: p, Role: role, By: "test"})
			must(t, err)
		}
		must(t, h.db.Places().SetRoom(t.Context(), "bot", team.Chat, chat.Room{Sharing: chat.SharingPerson}, "test"))
		h.say("hello", in(team), from(bob))
		bobs := team
		bobs.Person = bob.ID
		bobs, conv, err := h.db.Places().Ensure(t.Context(), bobs)
		must(t, err)
		before, err := h.db.Sessions().ConversationByID(t.Context(), conv)
		must(t, err)
		denied := func(verb, arg string, who chat.Person) bool {
			t.Helper()
			data := verb + ":" + arg
			reply := chat.Reply{Markdown: "what?", Buttons: [][]chat.Button{{{Label: verb, Data: data}}}}
			must(t, h.voice.Say(t.Context(), bobs, fmt.Sprintf("%s/%s", data, who.ID), reply))
			ref, _ := h.voice.button(data)
			return strings.Contains(h.press(ref, data, in(team), from(who)).Toast, "not allowed")
		}
		for _, verb := range verbs {
			if !denied(verb, "1", cid) {
				t.Errorf("%s: pressed by another member", verb)
			}
		}
		if !denied("mode", "plan", cid) || !denied("ws", "shop", cid) || !denied("verbosity", "0", cid) {
			t.Error("another member changes what the conversation runs with")
		}
		after, err := h.db.Sessions().ConversationByID(t.Context(), conv)
		must(t, err)
		if before.Workspace != after.Workspace || before.Verbosity != after.Verbosity || before.Session != after.Session {
			t.Errorf("the conversation was %+v and is %+v", before, after)
		}
		for _, who := range []chat.Person{bob, dan, owner} {
			if denied("verbosity", "1", who) || denied("ws", "shop", who) {
				t.Errorf("%s may press nothing", who.Name)
			}
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d presses are left", n)
		}
	})
}
