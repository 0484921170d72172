package telegram

import (
	"net/url"
	"testing"
	"time"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

func TestHowManyAreInAGroupIsKnownWithEachMessageThatNamesNobody(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second})
	const few = -4401
	srv.AddChat(few, fakebot.Group, "Two")
	srv.Members(few, 2)
	in := newInbox()
	start(t, a, in)
	last := func(n int) chat.Message {
		t.Helper()
		if !srv.Wait(patience, func() bool { return len(in.texts()) == n }) {
			t.Fatalf("got %q", in.texts())
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.msgs[n-1]
	}
	say := func(text string) { srv.Say(testToken, fakebot.Say{Chat: few, From: ann, Text: text}) }
	say("one")
	if m := last(1); m.People != 1 || m.Addressed {
		t.Errorf("alone: %+v", m)
	}
	srv.Members(few, 3) // nobody is told
	say("two")
	if m := last(2); m.People != 1 {
		t.Errorf("each message asks again: %d", m.People)
	}
	srv.Join(testToken, few, 9001)
	say("three")
	if m := last(3); m.People != 3 {
		t.Errorf("after somebody joined there are %d", m.People)
	}
	srv.Leave(testToken, few, 9001)
	srv.Members(few, 2)
	say("four")
	if m := last(4); m.People != 1 {
		t.Errorf("after they left there are %d", m.People)
	}
	say("/status")
	if m := last(5); m.People != 0 || !m.Addressed {
		t.Errorf("a command: %+v", m)
	}
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "direct"})
	if m := last(6); m.People != 0 || !m.Place.Direct {
		t.Errorf("in private: %+v", m)
	}
}

func TestACountIsBelievedForAWhile(t *testing.T) {
	t.Parallel()
	asked, fails := 0, false
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) {
		if asked++; fails {
			return no(400, "Bad Request: chat not found")
		}
		return ok("2")
	})
	now := time.Now()
	c := a.intake.crowd
	c.now = func() time.Time { return now }
	talk := chat.Message{Kind: chat.KindText, Place: chat.Place{Chat: "-5"}}
	see := func(after time.Duration, people, calls int) {
		t.Helper()
		now = now.Add(after)
		m := talk
		if c.see(t.Context(), &m); m.People != people || asked != calls {
			t.Errorf("%d people after %d calls, want %d after %d", m.People, asked, people, calls)
		}
	}
	see(0, 1, 1)
	see(crowdKeeps-time.Second, 1, 1)
	fails = true
	see(2*time.Second, 0, 2)
	see(crowdAgain-time.Second, 0, 2) // a service in trouble is not asked with every message
	fails = false
	see(2*time.Second, 1, 3)
	for kind, m := range map[string]chat.Message{
		"a click": {Kind: chat.KindClick, Place: talk.Place}, "a bot": {Kind: chat.KindText, Place: talk.Place, Sender: chat.Person{Bot: true}},
	} {
		c.changed("-5")
		if c.see(t.Context(), &m); asked != 3 {
			t.Errorf("%s is counted for", kind)
		}
	}
}
