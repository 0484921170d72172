package receive_test

import (
	"context"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/receive"
)

// letIn gives people a role in the group.
func (d *door) letIn(people ...chat.Person) {
	d.t.Helper()
	for _, p := range people {
		_, err := d.db.People().Grant(d.t.Context(), chat.Grant{Account: "bot", Chat: group.Chat, Person: p.ID, Role: chat.RoleMember, By: "test"})
		must(d.t, err)
	}
}

func (d *door) set(r chat.Room) {
	d.t.Helper()
	must(d.t, d.db.Places().SetRoom(d.t.Context(), "bot", group.Chat, r, "test"))
}

func TestAGroupIsHeardAsItIsSet(t *testing.T) {
	t.Parallel()
	for mode, want := range map[chat.Listen][3]bool{ // talk, mention, reply
		"":                 {false, true, true},
		chat.ListenMention: {false, true, true},
		chat.ListenReply:   {false, false, true},
		chat.ListenAll:     {true, true, true},
	} {
		for _, kind := range []chat.MessageKind{chat.KindText, chat.KindEdit} {
			d := open(t)
			d.letIn(member)
			d.set(chat.Room{Listen: mode})
			for i, how := range []struct{ addressed, mentioned bool }{{false, false}, {true, true}, {true, false}} {
				before := len(d.stored())
				m := d.message(kind, group, member)
				m.Addressed, m.Mentioned = how.addressed, how.mentioned
				d.receive(m)
				if got := len(d.stored()) > before; got != want[i] {
					t.Errorf("mode %q, %s %d: heard is %v", mode, kind, i, got)
				}
			}
			m := d.message(kind, group, stranger)
			m.Addressed = true
			before := len(d.stored())
			if d.receive(m); len(d.stored()) != before {
				t.Errorf("mode %q: a stranger is heard", mode)
			}
		}
	}
}

func TestWhoeverIsAloneWithTheBotNeedNotNameIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   chat.Listen
		people int
		want   bool
	}{
		"alone":                          {"", 1, true},
		"not known":                      {"", 0, false},
		"two people":                     {"", 2, false},
		"the chat wants to be mentioned": {chat.ListenMention, 1, false},
		"the chat wants replies":         {chat.ListenReply, 1, false},
		"the chat is heard in any case":  {chat.ListenAll, 7, true},
	} {
		for _, kind := range []chat.MessageKind{chat.KindText, chat.KindEdit} {
			d := open(t)
			d.letIn(member)
			d.set(chat.Room{Listen: c.mode})
			for _, who := range []chat.Person{member, stranger} {
				m := d.message(kind, group, who)
				m.Addressed, m.People = false, c.people
				before := len(d.stored())
				d.receive(m)
				if got := len(d.stored()) > before; got != (c.want && who.ID == member.ID) {
					t.Errorf("%s: %s of %s heard: %v", name, kind, who.ID, got)
				}
			}
		}
	}
}

func TestInAGroupOfOwnSessionsEverybodyHasAPlace(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.letIn(member, stranger)
	place := func(who chat.Person) chat.Inbound {
		d.receive(d.message(chat.KindText, group, who))
		ins := d.stored()
		return ins[len(ins)-1]
	}
	shared := place(member)
	d.set(chat.Room{Sharing: chat.SharingPerson})
	a, b := place(member), place(stranger)
	if a.Place.Person != member.ID || b.Place.Person != stranger.ID || a.Conversation == b.Conversation || a.Conversation == shared.Conversation {
		t.Errorf("places %+v and %+v", a.Place, b.Place)
	}
	d.set(chat.Room{Sharing: chat.SharingShared})
	if again := place(stranger); again.Conversation != shared.Conversation {
		t.Errorf("the shared conversation is lost: %+v", again.Place)
	}
	d.set(chat.Room{Sharing: chat.SharingPerson})
	if again := place(stranger); again.Conversation != b.Conversation {
		t.Errorf("the own conversation is lost: %+v", again.Place)
	}
	m := d.message(chat.KindText, direct, owner)
	d.receive(m)
	if ins := d.stored(); ins[len(ins)-1].Place.Person != "" {
		t.Error("a direct chat is split")
	}
}

func TestAButtonBelongsToTheConversationOfItsMessage(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.letIn(member)
	d.set(chat.Room{Sharing: chat.SharingPerson})
	d.receive(d.message(chat.KindText, group, member))
	theirs := d.stored()[0].Place
	must(t, d.db.Outbox().Enqueue(t.Context(), []chat.Out{{Key: "k", Place: theirs, Class: chat.OutAsk, Part: chat.Part{Text: "allow?"}}}))
	must(t, d.db.Outbox().Sent(t.Context(), 1, chat.Ref{ID: "50", Chat: group.Chat}))
	for msg, want := range map[string]int64{"50": theirs.ID, "51": 0} {
		m := d.message(chat.KindClick, group, owner)
		m.Ref = chat.Ref{ID: msg, Chat: group.Chat}
		d.receive(m)
		ins := d.stored()
		if got := ins[len(ins)-1].Place; (got.ID == theirs.ID) != (want != 0) {
			t.Errorf("a press on message %s is taken at %+v", msg, got)
		}
	}
}

func TestWhoWritesAsTheGroupIsToldOnceWhereTheBotIsAtHome(t *testing.T) {
	t.Parallel()
	ghost := chat.Person{ID: "1087968824", Name: "Group", Bot: true, Hidden: true}
	for name, c := range map[string]struct {
		home, addressed bool
		who             chat.Person
		told            int
	}{
		"at home":                  {true, true, ghost, 1},
		"at home, to others":       {true, false, ghost, 0},
		"among strangers":          {false, true, ghost, 0},
		"another bot":              {true, true, chat.Person{ID: "77", Bot: true}, 0},
		"a channel of the group's": {true, true, chat.Person{ID: "777000", Bot: true}, 0},
	} {
		d := open(t)
		if c.home {
			d.letIn(member)
		}
		for range 3 {
			m := d.message(chat.KindText, group, c.who)
			m.Addressed = c.addressed
			d.receive(m)
		}
		if len(d.voice.said) != c.told || len(d.stored()) != 0 {
			t.Errorf("%s: told %q, stored %d", name, d.voice.said, len(d.stored()))
		}
		ss, err := d.db.People().Strangers(t.Context(), 10)
		must(t, err)
		if len(ss) != 0 {
			t.Errorf("%s: can be let in: %+v", name, ss)
		}
	}
}

func TestWhatHappensToAPlaceCountsWhoeverCausesIt(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.receive(d.message(chat.KindText, group, owner))
	p := d.stored()[0].Place
	must(t, d.db.Outbox().Enqueue(t.Context(), []chat.Out{{Key: "k", Place: p, Class: chat.OutFinal, Part: chat.Part{Text: "x"}}}))
	open := func() bool {
		cs, err := d.db.Outbox().Channels(t.Context())
		must(t, err)
		return len(cs) == 1
	}
	for _, who := range []chat.Person{stranger, {ID: "1087968824", Bot: true, Hidden: true}, {}} {
		d.receive(d.message(chat.KindLeft, group, who))
		if open() {
			t.Errorf("after %+v took the bot out, it still writes", who)
		}
		d.receive(d.message(chat.KindJoined, group, who))
		if !open() {
			t.Errorf("after %+v let the bot in, it does not write", who)
		}
	}
	if len(d.voice.woken) == 0 {
		t.Error("nobody looks whether something can be sent")
	}
	if n := len(d.stored()); n != 1 {
		t.Errorf("%d messages are stored", n)
	}
}

// tardy are rooms in which a receipt is stored only after somebody asked for it.
type tardy struct {
	receive.Rooms
	store func()
}

func (r *tardy) Owner(ctx context.Context, account, chatID, msg string) (chat.Place, error) {
	p, err := r.Rooms.Owner(ctx, account, chatID, msg)
	if chat.CodeOf(err) == chat.Missing {
		r.store()
	}
	return p, err
}

func TestAPressWaitsForTheReceiptOfItsMessage(t *testing.T) {
	t.Parallel()
	var rooms *tardy
	d := open(t, func(x *receive.Deps) {
		rooms = &tardy{Rooms: x.Rooms}
		x.Rooms = rooms
	})
	topic := group
	topic.Thread = "t1"
	topic, _, err := d.db.Places().Ensure(t.Context(), topic)
	must(t, err)
	must(t, d.db.Outbox().Enqueue(t.Context(), []chat.Out{{
		Key: "k", Place: topic, Class: chat.OutAsk, Op: chat.OpPost, Part: chat.Part{Text: "?"}, State: chat.OutPending,
	}}))
	o, err := d.db.Outbox().NextOut(t.Context(), topic.Channel())
	must(t, err)
	_, err = d.db.Outbox().Sending(t.Context(), o.ID)
	must(t, err)
	asked := 0
	rooms.store = func() {
		if asked++; asked == 1 {
			must(t, d.db.Outbox().Sent(t.Context(), o.ID, chat.Ref{ID: "m", Chat: group.Chat}))
		}
	}
	m := d.press(owner, "stop:1")
	m.Ref.ID = "m"
	d.receive(m)
	if rows := d.stored(); len(rows) != 1 || rows[0].Place.Thread != topic.Thread || asked != 1 {
		t.Errorf("after %d looks: %+v", asked, rows)
	}
	m.Key, m.Ref.ID = "another", "made up"
	d.receive(m) // nothing is being sent any more, so nothing is waited for
	if asked != 2 {
		t.Errorf("%d looks", asked)
	}
}
