package store

import (
	"fmt"
	"testing"
	"time"

	"cligate/internal/chat"
)

// oldGroup and newGroup are one group before and after it became a supergroup.
const (
	oldGroup = "-500"
	newGroup = "-1000000000005"
)

func groupPlace(id string) chat.Place {
	p := chat.Place{Platform: "telegram", Account: "bot", Chat: id, Space: "bot", Title: "Team"}
	if id == newGroup {
		p.Space = newGroup
	}
	return p
}

// hear stores a message of a place and returns its row.
func (l *ledger) hear(p chat.Place, key string, num int64) chat.Inbound {
	l.t.Helper()
	ms := []chat.Inbound{{Message: chat.Message{
		Key: key, Kind: chat.KindText, Place: p, Text: key, Sender: chat.Person{ID: "11", Name: "Ann"},
		Ref: chat.Ref{ID: fmt.Sprint(num), Chat: p.Chat, Num: num}, SentAt: time.Now(),
	}, Role: chat.RoleMember}}
	_, err := l.Inbox().Record(l.t.Context(), "bot", "", ms)
	must(l.t, err)
	return ms[0]
}

func (l *ledger) move(from, to string) {
	l.t.Helper()
	dest := groupPlace(to)
	must(l.t, l.Places().Note(l.t.Context(), chat.Message{Kind: chat.KindMoved, Place: groupPlace(from), Moved: &dest}))
}

func (l *ledger) count(query string, args ...any) int {
	l.t.Helper()
	return ok[int](l.t)(first(l.t.Context(), l.readers, value[int], query, args...))
}

func TestAGroupThatMovesKeepsEverything(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	in := l.hear(groupPlace(oldGroup), "first", 15)
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "a", Workspace: "/w"}))
	ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{Conversation: in.Conversation, Session: s.ID, Place: in.Place, Inbound: []int64{in.ID}}))
	ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Chat: oldGroup, Person: "11", Role: chat.RoleOperator, By: "x"}))
	must(t, l.Places().SetRoom(ctx, "bot", oldGroup, chat.Room{Listen: chat.ListenAll, Sharing: chat.SharingPerson}, "x"))
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{
		{Key: "sure", Place: in.Place, Class: chat.OutFinal, Part: chat.Part{Text: "1"}},
		{Key: "unsure", Place: in.Place, Class: chat.OutFinal, Part: chat.Part{Text: "2"}},
		{Key: "edit", Place: in.Place, Class: chat.OutNotice, Op: chat.OpEdit, Target: chat.Ref{ID: "9", Chat: oldGroup}},
	}))
	_, err := l.Outbox().Sending(ctx, 2)
	must(t, err)
	for range 2 { // whatever is delivered again
		l.move(oldGroup, newGroup)
	}

	next := l.hear(groupPlace(newGroup), "second", 3)
	if next.Conversation != in.Conversation {
		t.Errorf("conversation %d, was %d", next.Conversation, in.Conversation)
	}
	late := l.hear(groupPlace(oldGroup), "late", 16)
	if late.Place.ID != next.Place.ID || late.Place.Chat != newGroup || late.Conversation != in.Conversation {
		t.Errorf("what still comes under the old address goes to %+v", late.Place)
	}
	if r, err := l.People().Role(ctx, "bot", newGroup, false, "11"); err != nil || r != chat.RoleOperator {
		t.Errorf("role %q, %v", r, err)
	}
	if r, err := l.People().Role(ctx, "bot", oldGroup, false, "11"); err != nil || r != chat.RoleNone {
		t.Errorf("the old address gives role %q, %v", r, err)
	}
	for _, id := range []string{oldGroup, newGroup} {
		if x := ok[chat.Room](t)(l.Places().Room(ctx, "bot", id)); x.Listen != chat.ListenAll || x.Sharing != chat.SharingPerson {
			t.Errorf("settings of %s: %+v", id, x)
		}
	}
	if o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, "bot/"+newGroup)); o.Key != "unsure" || o.Place.Chat != newGroup {
		t.Errorf("next is %+v", o)
	}
	if u, err := l.Outbox().Sending(ctx, 2); err != nil || u == nil || u.Since != 0 {
		t.Errorf("a doubtful message is looked for among ids of another space: %+v, %v", u, err)
	}
	if n := l.count(`SELECT count(*) FROM outbox WHERE idem_key = 'edit' AND state = 'dropped'`); n != 1 {
		t.Error("a message that is no more is to be changed")
	}
	if turns := ok[[]chat.Turn](t)(l.Turns().Queued(ctx, s.ID)); len(turns) != 1 || turns[0].Place.Chat != newGroup {
		t.Errorf("turns %+v", turns)
	}
	// The new numbers begin low: those of the old space must not count.
	if n := l.count(`SELECT coalesce(max(num), 0) FROM inbound WHERE space = ?`, newGroup); n != 3 {
		t.Errorf("highest number of the new space is %d", n)
	}
	if _, err := l.History().TurnOfMessage(ctx, next.Place.ID, "15"); chat.CodeOf(err) != chat.Missing {
		t.Errorf("an old id is found at the new address: %v", err)
	}
	// What was composed for the old place before it moved finds its way.
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "composed", Place: in.Place, Class: chat.OutFinal, Part: chat.Part{Text: "3"}}}))
	if n := l.count(`SELECT count(*) FROM outbox WHERE state = 'pending' AND channel = ? AND place = ?`, "bot/"+oldGroup, in.Place.ID); n != 0 {
		t.Errorf("%d messages are left behind", n)
	}
}

func TestAGroupThatSpokeBeforeItsMoveWasKnownKeepsBoth(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	in := l.hear(groupPlace(oldGroup), "remember plum", 15)
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "a", Workspace: "/w"}))
	early := l.hear(groupPlace(newGroup), "early", 2)
	e := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: early.Conversation, Agent: "a", Workspace: "/w"}))
	l.move(oldGroup, newGroup)
	next := l.hear(groupPlace(newGroup), "next", 4)
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, next.Conversation))
	if next.Conversation != in.Conversation || c.Session != s.ID {
		t.Errorf("conversation %d with session %d", next.Conversation, c.Session)
	}
	if all := ok[[]chat.Session](t)(l.Sessions().Sessions(ctx, c.ID)); len(all) != 2 {
		t.Errorf("session %d is not to be found any more: %+v", e.ID, all)
	}
	ins := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(ctx, 10))
	for _, in := range ins {
		if in.Place.ID != next.Place.ID || in.Conversation != c.ID {
			t.Errorf("%s waits at %+v, conversation %d", in.Text, in.Place, in.Conversation)
		}
	}
}

func TestAnOpenRequestOfAMovedGroupIsShownAgain(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	in := l.hear(groupPlace(oldGroup), "go", 15)
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "a", Workspace: "/w"}))
	q := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{Conversation: in.Conversation, Session: s.ID, Place: in.Place, Inbound: []int64{in.ID}, By: in.Sender}))
	_, err := l.Runs().Claim(ctx, q.ID, chat.AttemptClaimed)
	must(t, err)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, chat.Ask{Turn: q.ID, Session: s.ID, Place: in.Place, Asker: in.Sender, Digest: "d",
		Question: chat.Question{Key: "k"}}, func(int64) []chat.Out {
		return []chat.Out{{Key: "ask", Place: in.Place, Turn: q.ID, Class: chat.OutAsk, Part: chat.Part{Text: "allow?"}}}
	}))
	must(t, l.Outbox().Sent(ctx, 1, chat.Ref{ID: "16", Chat: oldGroup, Num: 16}))
	l.move(oldGroup, newGroup)
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, "bot/"+newGroup))
	if o.Ask != a.ID || o.Part.Text != "allow?" || o.Place.Chat != newGroup {
		t.Errorf("shown: %+v", o)
	}
	if got := ok[chat.Ask](t)(l.Asks().AskByID(ctx, a.ID)); got.Place.Chat != newGroup {
		t.Errorf("its buttons belong to %+v", got.Place)
	}
}

func TestARequestWhoseReceiptComesAfterTheMoveIsShownAgain(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	in := l.hear(groupPlace(oldGroup), "go", 15)
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "a", Workspace: "/w"}))
	q := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{Conversation: in.Conversation, Session: s.ID, Place: in.Place, Inbound: []int64{in.ID}, By: in.Sender}))
	_, err := l.Runs().Claim(ctx, q.ID, chat.AttemptClaimed)
	must(t, err)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, chat.Ask{Turn: q.ID, Session: s.ID, Place: in.Place, Asker: in.Sender, Digest: "d",
		Question: chat.Question{Key: "k"}}, func(int64) []chat.Out {
		return []chat.Out{{Key: "ask", Place: in.Place, Turn: q.ID, Class: chat.OutAsk, Part: chat.Part{Text: "allow?"}}}
	}))
	ok[*chat.Unsure](t)(l.Outbox().Sending(ctx, 1))
	l.move(oldGroup, newGroup) // while the request is on its way
	l.hear(groupPlace(newGroup), "early", 3)
	for range 2 { // whatever is told again
		must(t, l.Outbox().Sent(ctx, 1, chat.Ref{ID: "16", Chat: oldGroup, Num: 16}))
	}
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, "bot/"+newGroup))
	if o.ID == 1 || o.Ask != a.ID || o.Part.Text != "allow?" || o.Place.Chat != newGroup {
		t.Errorf("shown: %+v", o)
	}
	if n := l.count(`SELECT count(*) FROM outbox WHERE ask = ?`, a.ID); n != 2 {
		t.Errorf("the request has %d messages", n)
	}
	// An id of the old address counts there only.
	if n := l.count(`SELECT coalesce(max(num), 0) FROM receipt WHERE space = ?`, newGroup); n != 0 {
		t.Errorf("highest number of our messages in the new space is %d", n)
	}
	if p, err := l.Places().Owner(ctx, "bot", newGroup, "16"); chat.CodeOf(err) != chat.Missing {
		t.Errorf("message 16 of the new address is taken for ours: %+v, %v", p, err)
	}
	if p, err := l.Places().Owner(ctx, "bot", oldGroup, "16"); err != nil || p.Chat != oldGroup {
		t.Errorf("message 16 of the old address: %+v, %v", p, err)
	}
}

func TestARightGivenAtTheNewAddressCounts(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	for id, role := range map[string]chat.Role{oldGroup: chat.RoleOwner, newGroup: chat.RoleViewer} {
		ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Chat: id, Person: "11", Role: role, By: "x"}))
	}
	l.move(oldGroup, newGroup)
	if r := ok[chat.Role](t)(l.People().Role(ctx, "bot", newGroup, false, "11")); r != chat.RoleViewer {
		t.Errorf("role %q", r)
	}
}

func TestARenamedTopicKeepsItsNameAndItsConversation(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	p := groupPlace(newGroup)
	p.Thread, p.Title, p.Nameless = "77", "New Chat", true
	in := l.hear(p, "one", 5)
	if !in.Place.Nameless || in.Place.Title != "New Chat" {
		t.Errorf("place %+v", in.Place)
	}
	p.Title = "Plums"
	must(t, l.Places().Note(t.Context(), chat.Message{Kind: chat.KindRenamed, Place: p}))
	p.Title, p.Nameless = "New Chat", true // messages go on naming what it was called at first
	again := l.hear(p, "two", 6)
	if again.Place.Title != "Plums" || again.Place.Nameless || again.Conversation != in.Conversation {
		t.Errorf("place %+v", again.Place)
	}
}

func TestFactsMakeNoPlaces(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	for _, k := range []chat.MessageKind{chat.KindJoined, chat.KindLeft, chat.KindRenamed, chat.KindReopened} {
		must(t, l.Places().Note(t.Context(), chat.Message{Kind: k, Place: groupPlace(newGroup)}))
	}
	l.move(oldGroup, newGroup)
	if n := l.count(`SELECT count(*) FROM place`); n != 0 {
		t.Errorf("%d places", n)
	}
}
