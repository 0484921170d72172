package feishu

import (
	"slices"
	"testing"

	"cligate/internal/chat"
	sim "cligate/internal/sim/feishu"
)

// A turn that an earlier process began ends in this one: its message shows how,
// and no more that it is being worked on.
func TestASignOfAnEarlierProcessIsTakenAway(t *testing.T) {
	t.Parallel()
	s, before := office(t)
	place := chat.Place{Platform: Name, Account: "feishu", Chat: team}
	id, _ := s.Say(sim.Say{App: appID, Chat: team, From: anna, Text: "work", Quiet: true})
	s.React(appID, id, ben, "THUMBSUP")
	show := func(a *Adapter, emoji string) {
		t.Helper()
		if err := a.Signal(t.Context(), place, chat.Ref{ID: id, Chat: team}, chat.Signal{Kind: chat.SignalReact, Emoji: emoji}); err != nil {
			t.Error(err)
		}
	}
	shown := func() []string { m := s.Shown(team); return m[len(m)-1].Reactions }
	show(before, "👀")
	show(before, "✍")
	now := adapter(t, s, nil)
	t.Cleanup(now.rest.client.CloseIdleConnections)
	show(now, "👌")
	if got := shown(); !slices.Equal(got, []string{"DONE", "THUMBSUP"}) {
		t.Errorf("shows %q", got)
	}
	show(now, "")
	if got := shown(); !slices.Equal(got, []string{"THUMBSUP"}) {
		t.Errorf("shows %q", got)
	}
	// Whoever may not read reactions shows the new one all the same.
	s.Withdraw(appID, "im:message.reactions:read", "im:message:readonly", "im:message")
	show(now, "👀")
	blind := adapter(t, s, nil)
	t.Cleanup(blind.rest.client.CloseIdleConnections)
	_ = blind.Signal(t.Context(), place, chat.Ref{ID: id, Chat: team}, chat.Signal{Kind: chat.SignalReact, Emoji: "💔"})
	if got := shown(); !slices.Contains(got, "BROKENHEART") {
		t.Errorf("shows %q", got)
	}
}

// What comes to this process has no sign yet, so nobody is asked for one.
func TestNobodyIsAskedForTheSignsOfANewMessage(t *testing.T) {
	t.Parallel()
	s, a := office(t)
	in := &ledger{}
	run(t, a, in)
	connected(t, s, 1)
	id, _ := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return in.count() > 0 }) {
		t.Fatal("nothing arrives")
	}
	place := chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}
	if err := a.Signal(t.Context(), place, chat.Ref{ID: id, Chat: direct}, chat.Signal{Kind: chat.SignalReact, Emoji: "👀"}); err != nil {
		t.Error(err)
	}
	for _, c := range s.Calls() {
		if c.Method == "reaction.list" {
			t.Errorf("asked: %+v", c)
		}
	}
}
