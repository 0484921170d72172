package receive_test

import (
	"testing"

	"cligate/internal/chat"
)

func TestAGestureIsMadeByWhoMayTalkOnAKnownMessage(t *testing.T) {
	t.Parallel()
	topic := chat.Place{Platform: "test", Chat: "g1", Thread: "77"}
	for name, c := range map[string]struct {
		who    chat.Person
		role   chat.Role // granted in that chat
		other  bool      // on a message that nobody knows
		stored bool
	}{
		"owner":             {owner, "", false, true},
		"member":            {member, chat.RoleMember, false, true},
		"viewer":            {member, chat.RoleViewer, false, false},
		"stranger":          {stranger, "", false, false},
		"a bot":             {chat.Person{ID: "100", Bot: true}, "", false, false},
		"on an unknown one": {owner, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if c.role != "" {
				_, err := d.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: c.who.ID, Role: c.role, By: "test"})
				must(t, err)
			}
			said := d.message(chat.KindText, topic, owner)
			d.receive(said)
			g := d.message(chat.KindGesture, chat.Place{Platform: "test", Chat: "g1"}, c.who) // the service names no thread
			g.Data = string(chat.GestureNow)
			if g.Ref = said.Ref; c.other {
				g.Ref.ID = "unknown"
			}
			acks := d.receive(g, g)
			rows := d.stored()
			if !c.stored {
				if len(rows) != 1 || acks[0] != (chat.Ack{}) {
					t.Errorf("stored %+v", rows)
				}
				return
			}
			if len(rows) != 2 || rows[1].Place.Thread != "77" || rows[1].Conversation != rows[0].Conversation || acks[1].Fresh {
				t.Errorf("stored %+v, acks %+v", rows, acks)
			}
		})
	}
}
