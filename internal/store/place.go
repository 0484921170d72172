package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const placeCols = `p.id, p.platform, p.account, p.chat, p.thread, p.person, p.direct, p.space, p.title, p.nameless`

// placeDest is where placeCols are scanned to.
func placeDest(p *chat.Place) []any {
	return []any{&p.ID, &p.Platform, &p.Account, &p.Chat, &p.Thread, &p.Person, &p.Direct, &p.Space, &p.Title, &p.Nameless}
}

func scanPlace(r row) (chat.Place, error) {
	var p chat.Place
	err := r.Scan(placeDest(&p)...)
	return p, err
}

// known is a place with its conversation.
type known struct {
	chat.Place
	conversation int64
	state        chat.PlaceState
	movedTo      int64 // the place that took over, 0 = none
}

func scanKnown(r row) (known, error) {
	var k known
	err := r.Scan(append(placeDest(&k.Place), &k.conversation, &k.state, &k.movedTo)...)
	return k, err
}

const knownPlace = `SELECT ` + placeCols + `, p.conversation, p.parked, p.moved_to FROM place p `

// findPlace is the row of exactly that address.
func findPlace(ctx context.Context, h handle, p chat.Place) (known, error) {
	return first(ctx, h, scanKnown, knownPlace+`WHERE p.account = ? AND p.chat = ? AND p.thread = ? AND p.person = ?`,
		p.Account, p.Chat, p.Thread, p.Person)
}

func knownByID(ctx context.Context, h handle, id int64) (known, error) {
	return first(ctx, h, scanKnown, knownPlace+`WHERE p.id = ?`, id)
}

// livePlace is the row that words to or from p belong to now: that of its
// address, or the one that took over. chat.Missing; the place is then returned
// with the address that it has now.
func livePlace(ctx context.Context, h handle, p chat.Place) (known, error) {
	k, err := findPlace(ctx, h, p)
	if chat.CodeOf(err) == chat.Missing {
		to, moved, err := forwarding(ctx, h, p)
		if err != nil {
			return known{}, err
		}
		if !moved {
			return known{Place: p}, chat.E(chat.Missing, "", nil)
		}
		if k, err = findPlace(ctx, h, to); err != nil {
			return known{Place: to}, err
		}
	} else if err != nil {
		return known{}, fmt.Errorf("find place: %w", err)
	}
	if k.movedTo == 0 {
		return k, nil
	}
	return knownByID(ctx, h, k.movedTo)
}

// forwarding is p at the new address of its chat, if that has one.
func forwarding(ctx context.Context, h handle, p chat.Place) (chat.Place, bool, error) {
	to, err := first(ctx, h, func(r row) (to chat.Place, err error) {
		to = p
		return to, r.Scan(&to.Chat, &to.Space)
	}, `SELECT to_chat, space FROM chat_moved WHERE account = ? AND chat = ?`, p.Account, p.Chat)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return p, false, nil
	case err != nil:
		return p, false, fmt.Errorf("find the chat's new address: %w", err)
	}
	return to, true, nil
}

// seePlace finds the row of a place that something came from, or makes it
// together with its conversation, and keeps what the platform says about it up
// to date.
func seePlace(ctx context.Context, t *tx, p chat.Place) (known, error) {
	k, err := findPlace(ctx, t, p)
	if err == nil && k.movedTo != 0 {
		if k, err = arrived(ctx, t, k); err == nil && k.Chat != p.Chat {
			return k, nil // what is said about the old address does not count
		}
	}
	switch {
	case chat.CodeOf(err) == chat.Missing:
		var moved bool
		if p, moved, err = forwarding(ctx, t, p); err != nil {
			return known{}, err
		}
		if moved {
			return seePlace(ctx, t, p)
		}
		return newPlace(ctx, t, p)
	case err != nil:
		return known{}, fmt.Errorf("find place: %w", err)
	}
	p.ID, p.Nameless = k.ID, k.Nameless
	if p.Title == "" || p.Thread != "" && k.Title != "" { // a topic's name changes by its own event
		p.Title = k.Title
	}
	if p == k.Place {
		return k, nil
	}
	k.Place = p
	_, err = t.exec(ctx, `UPDATE place SET platform = ?, direct = ?, space = ?, title = ? WHERE id = ?`,
		p.Platform, p.Direct, p.Space, p.Title, p.ID)
	if err != nil {
		return known{}, fmt.Errorf("update place: %w", err)
	}
	return k, nil
}

// arrived is where a message of a place belongs that went on elsewhere. A topic
// that speaks was not deleted, whatever was believed.
func arrived(ctx context.Context, t *tx, k known) (known, error) {
	to, err := knownByID(ctx, t, k.movedTo)
	if err != nil || to.Chat != k.Chat {
		return to, err
	}
	k.movedTo = 0
	_, err = t.exec(ctx, `UPDATE place SET moved_to = 0 WHERE id = ?`, k.ID)
	return k, err
}

// newPlace makes a place and its conversation. One person's begins with what
// was chosen for everybody.
func newPlace(ctx context.Context, t *tx, p chat.Place) (known, error) {
	conv, err := t.insert(ctx, `INSERT INTO conversation (at) VALUES (?)`, micros(t.now))
	if err != nil {
		return known{}, fmt.Errorf("new conversation: %w", err)
	}
	if p.Person != "" {
		_, err = t.exec(ctx, `UPDATE conversation SET (agent, workspace, model, mode, effort) = (
	SELECT c.agent, c.workspace, c.model, c.mode, c.effort FROM conversation c JOIN place p ON p.conversation = c.id
	WHERE p.account = ?2 AND p.chat = ?3 AND p.thread = ?4 AND p.person = '')
WHERE id = ?1 AND EXISTS (SELECT 1 FROM place WHERE account = ?2 AND chat = ?3 AND thread = ?4 AND person = '')`,
			conv, p.Account, p.Chat, p.Thread)
		if err != nil {
			return known{}, fmt.Errorf("begin like the others: %w", err)
		}
	}
	return placeFor(ctx, t, p, conv)
}

// placeFor makes a place that leads to a conversation.
func placeFor(ctx context.Context, t *tx, p chat.Place, conv int64) (_ known, err error) {
	p.ID, err = t.insert(ctx, `INSERT INTO place (platform, account, chat, thread, person, direct, space, title, nameless, conversation)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, p.Platform, p.Account, p.Chat, p.Thread, p.Person, p.Direct, p.Space, p.Title, p.Nameless, conv)
	if err != nil {
		return known{}, fmt.Errorf("new place: %w", err)
	}
	return known{Place: p, conversation: conv}, nil
}

// unpark lets the rows of a chat, and of this place in it, be sent again.
func unpark(ctx context.Context, t *tx, k known) error {
	_, err := t.exec(ctx, `UPDATE place SET parked = 0 WHERE account = ? AND chat = ? AND (parked = 1 OR parked <> 0 AND id = ?)`,
		k.Account, k.Chat, k.ID)
	if err != nil {
		return fmt.Errorf("unpark: %w", err)
	}
	return nil
}

// heir is the id of the place that took over from place id, or id itself.
const heir = `(SELECT CASE h.moved_to WHEN 0 THEN h.id ELSE h.moved_to END FROM place h WHERE h.id = `

// Ensure is described at receive.Places. A known place is returned as it is
// stored.
func (v Places) Ensure(ctx context.Context, p chat.Place) (chat.Place, int64, error) {
	var k known
	err := v.write(ctx, func(ctx context.Context, t *tx) (err error) {
		k, err = ensure(ctx, t, p)
		return err
	})
	return k.Place, k.conversation, err
}

func ensure(ctx context.Context, t *tx, p chat.Place) (known, error) {
	k, err := livePlace(ctx, t, p)
	if chat.CodeOf(err) == chat.Missing {
		return newPlace(ctx, t, k.Place)
	}
	return k, err
}

// Where is described at receive.Places.
func (v Places) Where(ctx context.Context, account, chatID, msg string) (p chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		p, err = first(ctx, h, scanPlace, `SELECT `+placeCols+` FROM place p JOIN inbound i ON i.place = p.id
WHERE p.account = ? AND p.chat = ? AND i.msg = ? AND i.kind IN ('text', 'edit') ORDER BY i.id LIMIT 1`, account, chatID, msg)
		return err
	})
	return p, err
}

// Author is described at receive.Places.
func (v Places) Author(ctx context.Context, account, msg string) (p chat.Place, by chat.Person, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		// Message by message in each place: that is what there is an index for.
		_, err = first(ctx, h, func(r row) (none struct{}, err error) {
			return none, r.Scan(append(placeDest(&p), &by.ID, &by.Name, &by.Lang)...)
		}, `SELECT `+placeCols+`, i.sender, coalesce(w.name, ''), coalesce(w.lang, '')
FROM place p CROSS JOIN inbound i ON i.place = p.id LEFT JOIN person w ON w.account = p.account AND w.ext = i.sender
WHERE p.account = ? AND i.msg = ? AND i.kind = 'text' ORDER BY i.id LIMIT 1`, account, msg)
		return err
	})
	return p, by, err
}

// Busy is described at receive.Rooms.
func (v Places) Busy(ctx context.Context, p chat.Place) (bool, error) {
	k := known{}
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		k, err = findPlace(ctx, h, p)
		return err
	})
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return Inbox(v).Led(ctx, k.ID)
	case chat.Missing:
		return false, nil
	default:
		return false, err
	}
}

// Words is described at receive.Rooms.
func (v Places) Words(ctx context.Context, account, chatID, msg string) (string, error) {
	var l chat.Line
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		l, err = first(ctx, h, scanPosted, `SELECT `+postedCols+` JOIN place p ON p.id = o.place
WHERE r.account = ? AND r.msg = ? AND p.chat = ? AND o.op <> 'remove' ORDER BY o.id DESC LIMIT 1`, account, msg, chatID)
		return err
	})
	return l.Text, err
}
