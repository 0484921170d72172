package receive_test

import (
	"testing"

	"cligate/internal/chat"
)

// Some services say neither where nor who, only which message.
func TestAnEventAboutAMessageFindsItsPlaceAndAuthor(t *testing.T) {
	t.Parallel()
	topic := chat.Place{Platform: "test", Chat: "g1", Thread: "77"}
	d := open(t)
	d.letIn(member)
	said := d.message(chat.KindText, topic, member)
	d.receive(said)
	nowhere := chat.Place{Platform: "test"}
	back := d.message(chat.KindRecall, nowhere, chat.Person{})
	back.Ref = chat.Ref{ID: said.Ref.ID}
	sign := d.message(chat.KindGesture, nowhere, member)
	sign.Ref, sign.Data = chat.Ref{ID: said.Ref.ID}, string(chat.GestureRemove)
	d.receive(back, sign)
	rows := d.stored()
	if len(rows) != 3 {
		t.Fatalf("stored %+v", rows)
	}
	for _, r := range rows[1:] {
		if r.Place.ID != rows[0].Place.ID || r.Sender.ID != member.ID || r.Role != chat.RoleMember || r.Ref.ID != said.Ref.ID {
			t.Errorf("stored %+v", r)
		}
	}
	for _, kind := range []chat.MessageKind{chat.KindRecall, chat.KindGesture} {
		who := chat.Person{}
		if kind == chat.KindGesture {
			who = member
		}
		unknown := d.message(kind, nowhere, who)
		unknown.Ref = chat.Ref{ID: "unknown"}
		foreign := d.message(kind, nowhere, stranger)
		foreign.Ref = chat.Ref{ID: "unknown"}
		d.receive(unknown, foreign)
	}
	sign = d.message(chat.KindGesture, nowhere, stranger)
	sign.Ref = chat.Ref{ID: said.Ref.ID}
	d.receive(sign)
	if now := d.stored(); len(now) != 3 {
		t.Errorf("stored %+v", now[3:])
	}
}

func TestAReplyToTheBotIsForItThoughTheServiceDoesNotSayWhoseMessageThatIs(t *testing.T) {
	t.Parallel()
	for mode, want := range map[chat.Listen][2]bool{chat.ListenMention: {true, false}, chat.ListenReply: {true, false}, chat.ListenAll: {true, true}} {
		d := open(t)
		d.letIn(member)
		d.set(chat.Room{Listen: mode})
		d.receive(d.message(chat.KindText, group, member))
		place := d.stored()[0].Place
		out := chat.Out{Key: "o", Place: place, Class: chat.OutNotice, Op: chat.OpPost, Part: chat.Part{Text: "the answer"}}
		must(t, d.db.Outbox().Enqueue(t.Context(), []chat.Out{out}))
		next, err := d.db.Outbox().NextOut(t.Context(), place.Channel())
		must(t, err)
		_, err = d.db.Outbox().Sending(t.Context(), next.ID)
		must(t, err)
		must(t, d.db.Outbox().Sent(t.Context(), next.ID, chat.Ref{ID: "ours", Chat: group.Chat}))
		for i, to := range []string{"ours", "theirs"} {
			before := len(d.stored())
			m := d.message(chat.KindText, group, member)
			m.Addressed, m.Reply = false, chat.Ref{ID: to}
			m.Files = []chat.FileRef{{ID: to + "/reply/quote", Kind: chat.MediaQuote, Source: chat.Source{Kind: chat.SourceReply}}}
			d.receive(m)
			rows := d.stored()
			if got := len(rows) > before; got != want[i] {
				t.Errorf("listening to %s: a reply to %s is heard: %v", mode, to, got)
			} else if !got {
				continue
			}
			row := rows[len(rows)-1]
			if ours := to == "ours"; ours && (row.Quote != "the answer" || row.Source.Kind != chat.SourceOwn || len(row.Files) != 0) || !ours && len(row.Files) != 1 {
				t.Errorf("stored %+v", row)
			}
		}
	}
}

func TestAPictureInAThreadInWhichTheBotWorksIsForIt(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.letIn(member)
	topic, other := group, group
	topic.Thread, other.Thread = "om_1", "om_2"
	hand := func(p chat.Place, text string) bool {
		before := len(d.stored())
		m := d.message(chat.KindText, p, member)
		m.Addressed, m.Strewn, m.Text = false, true, text
		m.Files = []chat.FileRef{{ID: "f" + m.Key, Kind: chat.MediaPhoto}}
		d.receive(m)
		return len(d.stored()) > before
	}
	if hand(topic, "") {
		t.Error("heard where nobody spoke to the bot")
	}
	d.receive(d.message(chat.KindText, topic, member))
	in := d.stored()[0]
	s, err := d.db.Sessions().StartSession(t.Context(), chat.NewSession{Conversation: in.Conversation, Agent: "demo", Workspace: "/w"})
	must(t, err)
	_, err = d.db.Turns().NewTurn(t.Context(), chat.NewTurn{Conversation: in.Conversation, Session: s.ID, Place: in.Place, Inbound: []int64{in.ID}})
	must(t, err)
	if !hand(topic, "") {
		t.Error("not heard where the bot works")
	}
	if hand(other, "") || hand(group, "") || hand(topic, "among us") {
		t.Error("heard where it was not meant")
	}
}
