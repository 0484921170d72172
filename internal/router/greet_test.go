package router_test

import (
	"strings"
	"testing"

	"cligate/internal/chat"
)

// entering is that somebody opens a direct chat.
func entering(key string) func(*chat.Message) {
	return func(m *chat.Message) { m.Kind, m.Key, m.Ref = chat.KindJoined, key, chat.Ref{} }
}

func TestWhoOpensADirectChatIsWelcomedOnce(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		for range 3 {
			h.say("", entering("same"))
		}
		h.say("", entering("another")) // something was said by then
		if all := h.voice.texts(); len(all) != 1 || !strings.Contains(all[0], "Hello. What you write here goes to") {
			t.Errorf("%q", all)
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d events without an end", n)
		}
		h.prompts()
	})
}

func TestWhoHasSpokenIsNotWelcomed(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("/whoami")
		h.say("", entering("late"))
		if all := h.voice.texts(); len(all) != 1 || strings.Contains(all[0], "Hello") {
			t.Errorf("%q", all)
		}
	})
}

func TestWhatWasSaidBeforeADirectChatWasKnownGoesOnThere(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		before, after := direct, direct
		before.Chat, after.Chat = owner.ID, "oc_1"
		h.say("/whoami", in(before)) // from a menu, which tells no chat
		h.receive(h.message("", func(m *chat.Message) {
			m.Kind, m.Place, m.Moved = chat.KindMoved, before, &chat.Place{Chat: after.Chat}
		}))
		h.say("hello", in(after))
		h.say("/status", in(before))
		h.prompts("hello")
		place, conv, err := h.db.Places().Ensure(t.Context(), before)
		must(t, err)
		_, now, err := h.db.Places().Ensure(t.Context(), after)
		must(t, err)
		if place.Chat != after.Chat || conv != now {
			t.Errorf("%+v, conversation %d, want %d", place, conv, now)
		}
	})
}
