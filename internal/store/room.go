package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

func scanRoom(r row) (chat.Room, error) {
	var x chat.Room
	err := r.Scan(&x.Listen, &x.Sharing)
	return x, err
}

// Room is described at receive.Rooms.
func (v Places) Room(ctx context.Context, account, chatID string) (x chat.Room, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		x, err = first(ctx, h, scanRoom, `SELECT listen, sharing FROM chat_setting WHERE account = ?1
AND chat = coalesce((SELECT to_chat FROM chat_moved WHERE account = ?1 AND chat = ?2), ?2)`, account, chatID)
		return err
	})
	if chat.CodeOf(err) == chat.Missing {
		return chat.Room{}, nil
	}
	return x, err
}

// SetRoom is described at command.Rooms.
func (v Places) SetRoom(ctx context.Context, account, chatID string, x chat.Room, by string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO chat_setting (account, chat, listen, sharing) VALUES (?, ?, ?, ?)
ON CONFLICT (account, chat) DO UPDATE SET listen = excluded.listen, sharing = excluded.sharing`, account, chatID, x.Listen, x.Sharing)
		if err != nil {
			return fmt.Errorf("set chat %s: %w", chatID, err)
		}
		return writeAudit(ctx, t, by, "room", fmt.Sprintf("%s/%s listen=%s sharing=%s", account, chatID, x.Listen, x.Sharing))
	})
}

// Owner is described at receive.Rooms. A live message that became the last word
// has the receipt of its end only.
func (v Places) Owner(ctx context.Context, account, chatID, msg string) (p chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		p, err = first(ctx, h, scanPlace, `SELECT `+placeCols+` FROM receipt r JOIN outbox o ON o.id = r.outbox JOIN place p ON p.id = o.place
WHERE r.account = ? AND r.msg = ? AND p.chat = ? ORDER BY o.op <> 'post', o.id LIMIT 1`, account, msg, chatID)
		return err
	})
	return p, err
}

const findSending = `SELECT EXISTS (SELECT 1 FROM outbox o WHERE o.channel = ? AND o.state = 'sending' AND ` + isOpen + `)`

// Sending is described at receive.Rooms.
func (v Places) Sending(ctx context.Context, account, chatID string) (bool, error) {
	var is bool
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		is, err = first(ctx, h, value[bool], findSending, chat.Place{Account: account, Chat: chatID}.Channel())
		return err
	})
	return is, err
}

// Inhabited is described at receive.Rooms.
func (v Places) Inhabited(ctx context.Context, account, chatID string) (bool, error) {
	var n int
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		n, err = first(ctx, h, value[int], `SELECT count(*) FROM (SELECT 1 FROM access WHERE account = ?1 AND chat = ?2 AND revoked_at = 0
UNION ALL SELECT 1 FROM place p JOIN inbound i ON i.place = p.id WHERE p.account = ?1 AND p.chat = ?2 LIMIT 1)`, account, chatID)
		return err
	})
	return n > 0, err
}

const seatCols = placeCols + `, p.conversation, c.workspace, c.agent, p.parked,
	(SELECT count(*) FROM outbox o WHERE o.place = p.id AND ` + isOpen + `)
FROM place p JOIN conversation c ON c.id = p.conversation`

func scanSeat(r row) (chat.Seat, error) {
	var s chat.Seat
	err := r.Scan(append(placeDest(&s.Place), &s.Conversation, &s.Workspace, &s.Agent, &s.State, &s.Waiting)...)
	return s, err
}

// Seats is described at command.Rooms.
func (v Places) Seats(ctx context.Context, account, chatID string) (ss []chat.Seat, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ss, err = list(ctx, h, scanSeat, `SELECT `+seatCols+` WHERE p.account = ? AND p.chat = ? AND p.moved_to = 0 ORDER BY p.id`, account, chatID)
		return err
	})
	return ss, err
}

// Seat is described at command.Rooms.
func (v Places) Seat(ctx context.Context, place int64) (s chat.Seat, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		s, err = first(ctx, h, scanSeat, `SELECT `+seatCols+` WHERE p.id = ?`, place)
		return err
	})
	return s, err
}

// Named is described at router.Places.
func (v Places) Named(ctx context.Context, place int64, title string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE place SET nameless = 0, title = ? WHERE id = ?`, title, place)
		return err
	})
}
