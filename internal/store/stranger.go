package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

// strangerLimit bounds what people without rights can make us keep.
const strangerLimit = 1000

type seenStranger struct{ told, count int64 }

// forgetStrangers keeps those who wrote last.
func forgetStrangers(ctx context.Context, t *tx) error {
	_, err := t.exec(ctx, `DELETE FROM stranger WHERE id IN (SELECT id FROM stranger ORDER BY last_at DESC, id DESC LIMIT -1 OFFSET ?)`, strangerLimit)
	if err != nil {
		return fmt.Errorf("forget strangers: %w", err)
	}
	return nil
}

// nobody stands for whoever writes as a chat itself. It is kept when they were
// told, but there is no person who could be let in.
const nobody = ""

// Stranger is described at receive.Access.
func (v People) Stranger(ctx context.Context, m chat.Message, now time.Time, quiet time.Duration) (tell bool, err error) {
	who := m.Sender.ID
	if m.Sender.Hidden {
		who = nobody
	}
	err = v.accept(ctx, func(ctx context.Context, t *tx) error {
		s, err := first(ctx, t, func(r row) (s seenStranger, err error) {
			return s, r.Scan(&s.told, &s.count)
		}, `INSERT INTO stranger (account, chat, person, name, direct, first_at, last_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (account, chat, person) DO UPDATE SET
	name = CASE excluded.name WHEN '' THEN name ELSE excluded.name END, last_at = excluded.last_at, count = count + 1
RETURNING notified_at, count`, m.Place.Account, m.Place.Chat, who, m.Sender.Name, m.Place.Direct, micros(now))
		if err != nil {
			return fmt.Errorf("note stranger: %w", err)
		}
		if s.count == 1 {
			if err := forgetStrangers(ctx, t); err != nil {
				return err
			}
		}
		if tell = s.told == 0 || micros(now)-s.told >= quiet.Microseconds(); !tell {
			return nil
		}
		_, err = t.exec(ctx, `UPDATE stranger SET notified_at = ? WHERE account = ? AND chat = ? AND person = ?`,
			micros(now), m.Place.Account, m.Place.Chat, who)
		return err
	})
	return tell, err
}

// Strangers returns the persons who wrote without a grant, the last first.
func (v People) Strangers(ctx context.Context, limit int) (ss []chat.Stranger, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ss, err = list(ctx, h, func(r row) (s chat.Stranger, err error) {
			return s, r.Scan(&s.ID, &s.Account, &s.Chat, &s.Direct, &s.Person.ID, &s.Person.Name,
				fromMicros(&s.FirstAt), fromMicros(&s.LastAt), &s.Count)
		}, `SELECT id, account, chat, direct, person, name, first_at, last_at, count FROM stranger WHERE person <> ? ORDER BY last_at DESC, id DESC LIMIT ?`, nobody, limit)
		return err
	})
	return ss, err
}
