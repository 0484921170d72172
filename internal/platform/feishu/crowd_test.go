package feishu

import (
	"fmt"
	"testing"

	"cligate/internal/chat"
	sim "cligate/internal/sim/feishu"
)

func TestHowManyThereAreInAGroupIsAskedWhereItMatters(t *testing.T) {
	t.Parallel()
	s, a := office(t)
	s.AddChat("oc_alone", sim.Group, "Mine", []string{appID}, anna)
	asked := func() (n int) {
		for _, c := range s.Calls() {
			if c.Method == "chat.get" {
				n++
			}
		}
		return n
	}
	see := func(m chat.Message) int {
		a.see(t.Context(), &m)
		return m.People
	}
	say := func(in string) chat.Message { return chat.Message{Kind: chat.KindText, Place: chat.Place{Chat: in}} }
	for range 2 { // the second time it is known
		for in, want := range map[string]int{"oc_alone": 1, team: 2} {
			if got := see(say(in)); got != want {
				t.Errorf("%s: %d, want %d", in, got, want)
			}
		}
	}
	named, private, program, sign := say("oc_x"), say("oc_x"), say("oc_x"), say("oc_x")
	named.Addressed, private.Place.Direct, program.Sender.Bot, sign.Kind = true, true, true, chat.KindGesture
	for _, m := range []chat.Message{named, private, program, sign} {
		see(m)
	}
	if n := asked(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	for _, event := range []string{eventCame, eventWent} {
		d := reader()
		d.mind = a.mind
		if got := taking(t, d, fmt.Appendf(nil, `{"header":{"event_id":"e","event_type":"%s"},"event":{"chat_id":"oc_alone"}}`, event)); got.ok {
			t.Errorf("%+v", got.msg)
		}
		see(say("oc_alone"))
	}
	if n := asked(); n != 4 {
		t.Errorf("asked %d times", n)
	}
	s.Withdraw(appID, "im:chat:readonly")
	for range 2 {
		if got := see(say("oc_other")); got != 0 {
			t.Errorf("made up: %d", got)
		}
	}
	if n := asked(); n != 5 {
		t.Errorf("asked %d times, though there is no answer", n)
	}
}
