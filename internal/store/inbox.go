package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const inboundCols = `i.id, i.conversation, i.role, i.state, i.body, i.crc, i.at, ` + placeCols + `
FROM inbound i JOIN place p ON p.id = i.place`

func scanInbound(r row) (chat.Inbound, error) {
	var in chat.Inbound
	var b sealed
	var p chat.Place
	dest := append([]any{&in.ID, &in.Conversation, &in.Role, &in.State, &b.body, &b.crc, fromMicros(&in.At)}, placeDest(&p)...)
	if err := r.Scan(dest...); err != nil {
		return in, err
	}
	if err := b.open("inbound", in.ID, &in.Message); err != nil {
		return in, err
	}
	in.Place = p
	return in, nil
}

// Record is described at receive.Inbox.
func (v Inbox) Record(ctx context.Context, account, cursor string, ms []chat.Inbound) ([]chat.Recorded, error) {
	var recs []chat.Recorded
	var seen []known
	err := v.accept(ctx, func(ctx context.Context, t *tx) error {
		recs, seen = make([]chat.Recorded, len(ms)), make([]known, len(ms))
		for i := range ms {
			var err error
			if recs[i], seen[i], err = recordOne(ctx, t, account, &ms[i]); err != nil {
				return fmt.Errorf("record message: %w", err)
			}
		}
		if cursor == "" {
			return nil
		}
		_, err := t.exec(ctx, `INSERT INTO cursor (account, value) VALUES (?, ?)
ON CONFLICT (account) DO UPDATE SET value = excluded.value`, account, cursor)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, k := range seen {
		ms[i].Place, ms[i].Conversation, ms[i].ID = k.Place, k.conversation, recs[i].ID
	}
	return recs, nil
}

const findTwin = `SELECT id, place FROM inbound WHERE account = ? AND twin = ? AND twin <> '' AND event_key <> ?`

// twinOf is the stored message that in was delivered as before, under another
// event key; id 0 when there is none.
func twinOf(ctx context.Context, t *tx, account string, in chat.Inbound) (id int64, k known, err error) {
	if in.Twin == "" {
		return 0, k, nil
	}
	var place int64
	_, err = first(ctx, t, func(r row) (none struct{}, err error) { return none, r.Scan(&id, &place) },
		findTwin, account, in.Twin, in.Key)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return 0, k, nil
	case err != nil:
		return 0, k, fmt.Errorf("find a twin: %w", err)
	}
	k, err = knownByID(ctx, t, place)
	return id, k, err
}

// recordOne stores one message with its place and its sender. A known event key
// changes nothing, and so does a known message under a new one.
func recordOne(ctx context.Context, t *tx, account string, in *chat.Inbound) (chat.Recorded, known, error) {
	in.Place.Account = account
	if id, k, err := twinOf(ctx, t, account, *in); err != nil || id != 0 {
		return chat.Recorded{ID: id, Twin: true}, k, err // before a place is made for it
	}
	k, err := seePlace(ctx, t, in.Place)
	if err != nil {
		return chat.Recorded{}, k, err
	}
	id, err := first(ctx, t, value[int64], `SELECT id FROM inbound WHERE account = ? AND event_key = ?`, account, in.Key)
	if err == nil {
		return chat.Recorded{ID: id}, k, nil
	} else if chat.CodeOf(err) != chat.Missing {
		return chat.Recorded{}, k, err
	}
	if err := seePerson(ctx, t, account, in.Sender, k.Place); err != nil {
		return chat.Recorded{}, k, err
	}
	if id, err = insertInbound(ctx, t, account, in, k); err != nil {
		return chat.Recorded{}, k, err
	}
	if k.state != chat.PlaceOpen && in.Kind != chat.KindLeft {
		if err := unpark(ctx, t, k); err != nil {
			return chat.Recorded{}, k, err
		}
	}
	return chat.Recorded{ID: id, Fresh: true}, k, nil
}

func insertInbound(ctx context.Context, t *tx, account string, in *chat.Inbound, k known) (int64, error) {
	m := in.Message
	m.Place, m.Pairing = k.Place, "" // a code is never stored
	body, crc, err := seal(m)
	if err != nil {
		return 0, err
	}
	msg, num := in.Ref.ID, in.Ref.Num
	if in.Place.Chat != k.Chat {
		msg, num = "", 0 // the ids of the old address mean nothing at the new one
	}
	state := in.State
	if state == "" {
		state = chat.InboundNew
	}
	return t.insert(ctx, `INSERT INTO inbound
(account, event_key, place, conversation, kind, sender, role, msg, space, num, body, crc, state, sent_at, at, twin)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		account, in.Key, k.ID, k.conversation, in.Kind, in.Sender.ID, in.Role, msg, k.Space, num,
		body, crc, state, micros(in.SentAt), micros(t.now), in.Twin)
}

// seePerson keeps what is known about a person up to date.
func seePerson(ctx context.Context, t *tx, account string, p chat.Person, at chat.Place) error {
	if p.ID == "" {
		return nil
	}
	direct := int64(0)
	if at.Direct && !p.Bot {
		direct = at.ID
	}
	_, err := t.exec(ctx, `INSERT INTO person (account, ext, name, lang, direct, seen_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account, ext) DO UPDATE SET
	name = CASE excluded.name WHEN '' THEN name ELSE excluded.name END,
	lang = CASE excluded.lang WHEN '' THEN lang ELSE excluded.lang END,
	direct = CASE excluded.direct WHEN 0 THEN direct ELSE excluded.direct END,
	seen_at = excluded.seen_at`, account, p.ID, p.Name, p.Lang, direct, micros(t.now))
	if err != nil {
		return fmt.Errorf("note person: %w", err)
	}
	return nil
}

// Cursor is described at receive.Inbox.
func (v Inbox) Cursor(ctx context.Context, account string) (string, error) {
	var c string
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		c, err = first(ctx, h, value[string], `SELECT value FROM cursor WHERE account = ?`, account)
		return err
	})
	if chat.CodeOf(err) == chat.Missing {
		return "", nil
	}
	return c, err
}

// Unrouted is described at router.Inbox.
func (v Inbox) Unrouted(ctx context.Context, limit int) (ins []chat.Inbound, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		ins, err = list(ctx, h, scanInbound, `SELECT `+inboundCols+`
WHERE i.state IN ('new', 'asked') AND i.state = 'new' ORDER BY i.id LIMIT ?`, limit)
		return err
	})
	return ins, err
}

// Aged is described at router.Inbox.
func (v Inbox) Aged(ctx context.Context, place int64) (ins []chat.Inbound, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		ins, err = list(ctx, h, scanInbound, `SELECT `+inboundCols+`
WHERE i.state IN ('new', 'asked') AND i.state = 'asked' AND +i.place = ? ORDER BY i.id`, place)
		return err
	})
	return ins, err
}

// Versions is described at router.Inbox.
func (v Inbox) Versions(ctx context.Context, place int64, msg string) (ins []chat.Inbound, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		ins, err = list(ctx, h, scanInbound, `SELECT `+inboundCols+`
WHERE i.place = ? AND i.msg = ? AND i.kind IN ('text', 'edit') ORDER BY i.id`, place, msg)
		return err
	})
	return ins, err
}

// Led is described at router.Inbox.
func (v Inbox) Led(ctx context.Context, place int64) (led bool, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		led, err = first(ctx, h, value[bool], `SELECT EXISTS (SELECT 1 FROM turn
WHERE conversation = (SELECT conversation FROM place WHERE id = ?1) AND place = ?1)`, place)
		return err
	})
	return led, err
}

// Settle is described at router.Inbox. A message that has moved on already
// keeps its state.
func (v Inbox) Settle(ctx context.Context, ids []int64, s chat.InboundState, reason chat.Code, outs []chat.Out) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		for _, id := range ids {
			if _, err := settleOne(ctx, t, id, s, reason); err != nil {
				return fmt.Errorf("settle message %d: %w", id, err)
			}
		}
		return enqueue(ctx, t, outs)
	})
}

// settleOne moves a message from new or asked to s and reports whether it did.
func settleOne(ctx context.Context, t *tx, id int64, s chat.InboundState, reason chat.Code) (bool, error) {
	n, err := t.exec(ctx, `UPDATE inbound SET state = ?, reason = ? WHERE id = ? AND state IN ('new', 'asked')`, s, reason, id)
	return n == 1, err
}
