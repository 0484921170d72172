package store

import (
	"testing"

	"cligate/internal/chat"
)

func topicPlaceOf(thread, person string) chat.Place {
	p := groupPlace(newGroup)
	p.Thread, p.Person, p.Title = thread, person, "Plums"
	return p
}

// waitsIn stores a message for a place that cannot be sent because of s.
func (l *ledger) waitsIn(p chat.Place, key string, s chat.PlaceState) {
	l.t.Helper()
	ctx := l.t.Context()
	must(l.t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: key, Place: p, Class: chat.OutFinal, Part: chat.Part{Text: key}}}))
	id := ok[int64](l.t)(first(ctx, l.readers, value[int64], `SELECT id FROM outbox WHERE idem_key = ?`, key))
	_, err := l.Outbox().Sending(ctx, id)
	must(l.t, err)
	must(l.t, l.Outbox().Shut(ctx, id, s, true, "closed", nil))
}

func TestAClosedTopicHoldsItsOwnMessagesOnly(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	shut, open := l.hear(topicPlaceOf("77", ""), "a", 5).Place, l.hear(topicPlaceOf("78", ""), "b", 6).Place
	l.waitsIn(shut, "held", chat.PlaceShut)
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "other", Place: open, Class: chat.OutFinal, Part: chat.Part{Text: "x"}}}))
	if o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, shut.Channel())); o.Key != "other" {
		t.Fatalf("next is %s", o.Key)
	}
	must(t, l.Outbox().Sent(ctx, 2, chat.Ref{ID: "9", Num: 9}))
	l.hear(open, "c", 10) // another topic says nothing about this one
	if _, err := l.Outbox().NextOut(ctx, shut.Channel()); chat.CodeOf(err) != chat.Missing {
		t.Fatalf("%v", err)
	}
	must(t, l.Places().Note(ctx, chat.Message{Kind: chat.KindReopened, Place: shut}))
	if o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, shut.Channel())); o.Key != "held" || o.State != chat.OutPending {
		t.Errorf("after it opened: %+v", o)
	}
}

func TestATopicThatSpeaksIsOpen(t *testing.T) {
	t.Parallel()
	for _, s := range []chat.PlaceState{chat.PlaceShut, chat.PlaceVanished} {
		l := openTest(t)
		p := l.hear(topicPlaceOf("77", ""), "a", 5).Place
		l.waitsIn(p, "held", s)
		l.hear(topicPlaceOf("77", ""), "b", 6)
		if o := ok[chat.Out](t)(l.Outbox().NextOut(t.Context(), p.Channel())); o.Key != "held" {
			t.Errorf("state %d: %+v", s, o)
		}
	}
}

func TestWhatWaitsForADeletedTopicGoesWhereItIsSent(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	gone := l.hear(topicPlaceOf("77", ""), "a", 5).Place
	l.waitsIn(gone, "answer", chat.PlaceVanished)
	near := ok[chat.Place](t)(l.Outbox().Near(ctx, chat.Out{Place: gone}))
	if near.Thread != "" || near.Chat != newGroup {
		t.Fatalf("near is %+v", near)
	}
	if s := ok[chat.Seat](t)(l.Places().Seat(ctx, gone.ID)); s.Waiting != 1 || s.State != chat.PlaceVanished {
		t.Errorf("seat %+v", s)
	}
	for range 2 {
		must(t, l.Places().Redirect(ctx, gone.ID, near.ID))
	}
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "later", Place: gone, Class: chat.OutFinal, Part: chat.Part{Text: "x"}}}))
	if n := l.count(`SELECT count(*) FROM outbox WHERE place = ? AND state = 'pending'`, near.ID); n != 2 {
		t.Errorf("%d of 2 messages go there", n)
	}
}

func TestAClosedGeneralIsToldToWhoAsked(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	direct := l.hear(chat.Place{Platform: "telegram", Account: "bot", Chat: "11", Direct: true, Space: "bot"}, "hi", 90).Place
	in := l.hear(topicPlaceOf("77", ""), "a", 5)
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "a", Workspace: "/w"}))
	q := ok[chat.Turn](t)(l.Turns().NewTurn(ctx, chat.NewTurn{Conversation: in.Conversation, Session: s.ID, Place: in.Place, Inbound: []int64{in.ID}, By: in.Sender}))
	l.waitsIn(l.hear(topicPlaceOf("", ""), "b", 6).Place, "g", chat.PlaceShut)
	if p := ok[chat.Place](t)(l.Outbox().Near(ctx, chat.Out{Place: in.Place, Turn: q.ID})); p.ID != direct.ID {
		t.Errorf("told in %+v", p)
	}
	if _, err := l.Outbox().Near(ctx, chat.Out{Place: in.Place}); chat.CodeOf(err) != chat.Missing {
		t.Errorf("%v", err)
	}
}

func TestATopicThatWasMadeIsBoundAndGreetedOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	at := l.hear(groupPlace(newGroup), "/topic new", 5).Place
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "in/1/topic", Place: at, Class: chat.OutNotice, Op: chat.OpTopic, Part: chat.Part{
		Topic: &chat.Topic{Name: "Plums", Agent: "claude", Workspace: "/shop", Greeting: []chat.Part{{Text: "hello"}}},
	}}}))
	for range 2 {
		must(t, l.Outbox().Sent(ctx, 1, chat.Ref{ID: "77", Chat: newGroup, Num: 77}))
	}
	in := l.hear(topicPlaceOf("77", ""), "first", 79)
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, in.Conversation))
	if c.Workspace != "/shop" || c.Agent != "claude" || in.Place.Title != "Plums" {
		t.Errorf("conversation %+v at %+v", c, in.Place)
	}
	mine := l.hear(topicPlaceOf("77", "11"), "as one person", 80)
	if p := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, mine.Conversation)); p.ID == c.ID || p.Workspace != "/shop" {
		t.Errorf("one person's conversation %+v", p)
	}
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, at.Channel()))
	if o.Part.Text != "hello" || o.Place.Thread != "77" {
		t.Errorf("greeting %+v", o)
	}
	if n := l.count(`SELECT count(*) FROM outbox`); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestANewTopicGoesOnWithADeletedOne(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	for _, person := range []string{"", "11"} {
		gone := l.hear(topicPlaceOf("77", person), "a"+person, 5)
		l.waitsIn(gone.Place, "answer"+person, chat.PlaceVanished)
	}
	shared, own := l.hear(topicPlaceOf("77", ""), "b", 6), l.hear(topicPlaceOf("77", "11"), "b11", 7)
	l.waitsIn(shared.Place, "more", chat.PlaceVanished)
	at := l.hear(groupPlace(newGroup), "c", 8).Place
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "t", Place: at, Class: chat.OutNotice, Op: chat.OpTopic, Part: chat.Part{
		Topic: &chat.Topic{Name: "Plums", From: own.Place.ID}, // whoever's it is
	}}}))
	id := ok[int64](t)(first(ctx, l.readers, value[int64], `SELECT id FROM outbox WHERE idem_key = 't'`))
	must(t, l.Outbox().Sent(ctx, id, chat.Ref{ID: "90", Num: 90}))
	if in := l.hear(topicPlaceOf("90", ""), "d", 91); in.Conversation != shared.Conversation {
		t.Error("the topic's conversation does not go on")
	}
	if in := l.hear(topicPlaceOf("90", "11"), "e", 92); in.Conversation != own.Conversation {
		t.Error("a person's conversation does not go on")
	}
	if n := l.count(`SELECT count(*) FROM outbox o JOIN place p ON p.id = o.place WHERE p.thread = '90' AND p.parked = 0 AND o.state = 'pending'`); n != 3 {
		t.Errorf("%d of 3 messages go there", n)
	}
}
