package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const placeCols = `p.id, p.platform, p.account, p.chat, p.thread, p.person, p.direct, p.space, p.title`

// placeDest is where placeCols are scanned to.
func placeDest(p *chat.Place) []any {
	return []any{&p.ID, &p.Platform, &p.Account, &p.Chat, &p.Thread, &p.Person, &p.Direct, &p.Space, &p.Title}
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
	parked       bool
}

func scanKnown(r row) (known, error) {
	var k known
	err := r.Scan(append(placeDest(&k.Place), &k.conversation, &k.parked)...)
	return k, err
}

const findPlace = `SELECT ` + placeCols + `, p.conversation, p.parked FROM place p
WHERE p.account = ? AND p.chat = ? AND p.thread = ? AND p.person = ?`

// seePlace finds the row of a place, or makes it together with its
// conversation, and keeps what the platform says about it up to date.
func seePlace(ctx context.Context, t *tx, p chat.Place) (known, error) {
	k, err := first(ctx, t, scanKnown, findPlace, p.Account, p.Chat, p.Thread, p.Person)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return newPlace(ctx, t, p)
	case err != nil:
		return known{}, fmt.Errorf("find place: %w", err)
	}
	p.ID = k.ID
	if p.Title == "" {
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

func newPlace(ctx context.Context, t *tx, p chat.Place) (known, error) {
	conv, err := t.insert(ctx, `INSERT INTO conversation (at) VALUES (?)`, micros(t.now))
	if err != nil {
		return known{}, fmt.Errorf("new conversation: %w", err)
	}
	p.ID, err = t.insert(ctx, `INSERT INTO place (platform, account, chat, thread, person, direct, space, title, conversation)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, p.Platform, p.Account, p.Chat, p.Thread, p.Person, p.Direct, p.Space, p.Title, conv)
	if err != nil {
		return known{}, fmt.Errorf("new place: %w", err)
	}
	return known{Place: p, conversation: conv}, nil
}

// unpark lets the rows of a chat be sent again.
func unpark(ctx context.Context, t *tx, account, chatID string) error {
	_, err := t.exec(ctx, `UPDATE place SET parked = 0 WHERE account = ? AND chat = ? AND parked = 1`, account, chatID)
	return err
}

// Ensure is described at receive.Places. A known place is returned as it is
// stored.
func (v Places) Ensure(ctx context.Context, p chat.Place) (chat.Place, int64, error) {
	var k known
	err := v.write(ctx, func(ctx context.Context, t *tx) (err error) {
		k, err = first(ctx, t, scanKnown, findPlace, p.Account, p.Chat, p.Thread, p.Person)
		if chat.CodeOf(err) == chat.Missing {
			k, err = newPlace(ctx, t, p)
		}
		return err
	})
	return k.Place, k.conversation, err
}
