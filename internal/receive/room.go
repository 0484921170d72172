package receive

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// note keeps what happened to a place, whoever caused it: also a stranger can
// take the bot out of a group. What can be sent now is sent.
func (g *Gate) note(ctx context.Context, m chat.Message) error {
	if !m.Kind.Fact() {
		return nil
	}
	if err := g.Rooms.Note(ctx, m); err != nil {
		return fmt.Errorf("note what happened to a chat: %w", err)
	}
	p := m.Place
	if m.Moved != nil {
		p.Chat = m.Moved.Chat
	}
	if m.Kind != chat.KindLeft {
		g.Voice.Wake(p)
	}
	return nil
}

// home is the place of the message that a button is on. The ledger knows that
// of our own messages; a service may leave out the thread and the kind of chat,
// and a client may make them up. Where there is no receipt, known is false and
// it is the place that the service tells.
func (g *Gate) home(ctx context.Context, m chat.Message) (p chat.Place, known bool, err error) {
	if m.Kind != chat.KindClick {
		return m.Place, false, nil
	}
	of, err := g.owner(ctx, m)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		p = m.Place
		p.Thread, p.Person, p.Direct = of.Thread, of.Person, of.Direct
		p.Title = cmp.Or(p.Title, of.Title)
		return p, true, nil
	case chat.Missing:
		return m.Place, false, nil
	default:
		return p, false, fmt.Errorf("find the message of a button: %w", err)
	}
}

// How long a press waits for the receipt of the message that it is on, and how
// often it looks. Services want their answer within 3 s.
const (
	receiptWait = 1500 * time.Millisecond
	receiptLook = 20 * time.Millisecond
)

// owner is the place that the message of a press was sent for; chat.Missing. A
// message can be pressed before its receipt is stored.
func (g *Gate) owner(ctx context.Context, m chat.Message) (chat.Place, error) {
	look := time.NewTicker(receiptLook)
	defer look.Stop()
	for late := time.Now().Add(receiptWait); ; {
		sending, err := g.Rooms.Sending(ctx, m.Place.Account, m.Place.Chat)
		if err != nil {
			return chat.Place{}, fmt.Errorf("look for what is being sent: %w", err)
		}
		of, err := g.Rooms.Owner(ctx, m.Place.Account, m.Place.Chat, m.Ref.ID)
		if chat.CodeOf(err) != chat.Missing || !sending || time.Now().After(late) {
			return of, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return chat.Place{}, context.Cause(ctx)
		}
	}
}

// seat says whose conversation an event of a group belongs to, and whether the
// group is set so that it is for the bot. A button belongs to the conversation
// of its message, whoever presses it, and so does the edit of a message; with
// known that place is found already.
func (g *Gate) seat(ctx context.Context, m chat.Message, known bool) (_ chat.Message, meant bool, err error) {
	switch {
	case known:
		return m, true, nil
	case m.Place.Direct:
		m, err = g.answers(ctx, m)
		return m, true, err
	case m.Kind.Fact():
		return m, m.Addressed, nil
	}
	room, err := g.Rooms.Room(ctx, m.Place.Account, m.Place.Chat)
	if err != nil {
		return m, false, fmt.Errorf("look up what a chat is set to: %w", err)
	}
	if m, err = g.answers(ctx, m); err != nil {
		return m, false, err
	}
	if room.Or(g.cfg.Room).Sharing == chat.SharingPerson {
		m.Place.Person = m.Sender.ID
	}
	if m, err = g.handed(ctx, m); err != nil {
		return m, false, err
	}
	m.Place.Person, err = g.person(ctx, m)
	return m, room.Hears(m, g.cfg.Room), err
}

// person is whose conversation an event is about: that of the message which it
// is about, however the chat is set by now.
func (g *Gate) person(ctx context.Context, m chat.Message) (string, error) {
	if m.Kind != chat.KindEdit && m.Kind != chat.KindRecall {
		return m.Place.Person, nil
	}
	of, err := g.Places.Where(ctx, m.Place.Account, m.Place.Chat, m.Ref.ID)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return of.Person, nil
	case chat.Missing: // it was not for the bot, or is not stored yet
		return m.Place.Person, nil
	default:
		return "", fmt.Errorf("find the message that an event is about: %w", err)
	}
}

// hidden answers a person who writes as the group itself: who that is cannot be
// known, so nothing can be allowed. It is said now and then, in groups where
// the bot is at home; bots and channels get no answer ever.
func (g *Gate) hidden(ctx context.Context, m chat.Message) error {
	if !m.Sender.Hidden || !m.Addressed || m.Kind != chat.KindText || m.Place.Direct || !plainID(m.Sender.ID) || m.Key == "" {
		return nil
	}
	home, err := g.Rooms.Inhabited(ctx, m.Place.Account, m.Place.Chat)
	if err != nil {
		return fmt.Errorf("look who lives in a chat: %w", err)
	}
	if !home {
		return nil
	}
	tell, err := g.Access.Stranger(ctx, m, time.Now(), g.cfg.Quiet)
	if err != nil {
		return fmt.Errorf("note stranger: %w", err)
	}
	if tell {
		g.say(ctx, m, "hidden", i18n.T(m.Sender.Lang, "receive.hidden"))
	}
	return nil
}
