package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

// Replace is described at reply.Trouble.
func (v Outbox) Replace(ctx context.Context, id int64, p chat.Part) error {
	body, crc, err := seal(p)
	if err != nil {
		return err
	}
	return v.change(ctx, id, `UPDATE outbox AS o SET body = ?2, crc = ?3, spool = ?4 WHERE o.id = ?1 AND `+isOpen, body, crc, spooled(p))
}

// Bury is described at reply.Trouble.
func (v Outbox) Bury(ctx context.Context, id int64, s chat.OutState, reason string) error {
	if s != chat.OutDead && s != chat.OutDropped {
		return chat.E(chat.Invalid, "", fmt.Errorf("a row is not buried as %s", s))
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if err := changeOut(ctx, t, id, `UPDATE outbox AS o SET state = ?2, error = ?3 WHERE o.id = ?1 AND `+isOpen, s, reason); err != nil {
			return err
		}
		if s != chat.OutDead {
			return nil
		}
		return deadLetter(ctx, t, "outbox", id, reason)
	})
}

func deadLetter(ctx context.Context, t *tx, kind string, ref int64, reason string) error {
	_, err := t.exec(ctx, `INSERT INTO dead (kind, ref, reason, at) VALUES (?, ?, ?, ?)`, kind, ref, reason, micros(t.now))
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	return nil
}

// Park is described at reply.Trouble. The reason is noted in the rows that
// wait. A chat that was never seen has nothing to park.
func (v Outbox) Park(ctx context.Context, channel, reason string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `UPDATE place SET parked = 1 WHERE account || '/' || chat = ?`, channel); err != nil {
			return fmt.Errorf("park %s: %w", channel, err)
		}
		_, err := t.exec(ctx, `UPDATE outbox AS o SET error = ? WHERE o.channel = ? AND `+isOpen, reason, channel)
		return err
	})
}

// recent is how many of the newest rows Waits looks at: more than any service
// lets a bot send in the longest wait that it asks for.
const recent = 10_000

// Told is described at reply.Waits. What is over is forgotten here: there are
// never more rows than chats that have to wait now.
func (v Outbox) Told(ctx context.Context, channel string, until time.Time) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `DELETE FROM pause WHERE until < ?`, micros(t.now)); err != nil {
			return fmt.Errorf("forget waits: %w", err)
		}
		_, err := t.exec(ctx, `INSERT INTO pause (channel, until) VALUES (?, ?)
ON CONFLICT (channel) DO UPDATE SET until = max(until, excluded.until)`, channel, micros(until))
		if err != nil {
			return fmt.Errorf("wait of %s: %w", channel, err)
		}
		return nil
	})
}

// Waits is described at reply.Waits. Only a told wait puts the due time of a
// row into the future.
func (v Outbox) Waits(ctx context.Context) (map[string]time.Time, error) {
	type wait struct {
		channel string
		until   time.Time
	}
	waits := map[string]time.Time{}
	err := v.read(ctx, func(ctx context.Context, h handle) error {
		clear(waits)
		ws, err := list(ctx, h, func(r row) (w wait, err error) {
			return w, r.Scan(&w.channel, fromMicros(&w.until))
		}, `SELECT channel, max(until) FROM (SELECT channel, due_at AS until FROM outbox
WHERE id > (SELECT coalesce(max(id), 0) FROM outbox) - ? UNION ALL SELECT channel, until FROM pause) GROUP BY channel`, recent)
		for _, w := range ws {
			waits[w.channel] = w.until
		}
		return err
	})
	return waits, err
}

// isLive holds for the rows that made live messages which no row ended that
// names them.
const isLive = `o.turn > 0 AND o.class = 'progress' AND o.op = 'post'
AND NOT EXISTS (SELECT 1 FROM outbox f WHERE f.turn = o.turn AND f.turn > 0 AND f.op = 'finish' AND f.target = r.ref)`

const (
	findShown = `SELECT r.ref FROM outbox o JOIN receipt r ON r.outbox = o.id
WHERE o.turn = ? AND ` + isLive + ` ORDER BY o.id DESC LIMIT 1`
	findLoose = `SELECT o.id, o.turn, o.place, r.ref FROM turn q CROSS JOIN outbox o ON o.turn = q.id CROSS JOIN receipt r ON r.outbox = o.id
WHERE r.account = ? AND q.state IN ('queued', 'withdrawn', 'expired') AND ` + isLive + `
AND NOT EXISTS (SELECT 1 FROM outbox f WHERE f.turn = o.turn AND f.turn > 0 AND f.id > o.id AND f.op = 'finish' AND f.state IN ('pending', 'sending')) ORDER BY o.id`
)

// Shown is described at reply.Trouble.
func (v Outbox) Shown(ctx context.Context, turn int64) (ref chat.Ref, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ref, err = first(ctx, h, scanRef, findShown, turn)
		return err
	})
	return ref, err
}

// Loose is described at reply.Trouble. A turn that came to an end has a row that
// ends its live message, or is going to.
func (v Outbox) Loose(ctx context.Context, account string, part chat.Part) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		left, err := list(ctx, t, func(r row) (o chat.Out, err error) {
			return o, r.Scan(&o.ID, &o.Turn, &o.Place.ID, fromText(&o.Target))
		}, findLoose, account)
		if err != nil {
			return fmt.Errorf("find live messages without an end: %w", err)
		}
		for _, o := range left {
			o.Key, o.Class, o.Op, o.Part = fmt.Sprintf("loose/%d", o.ID), chat.OutProgress, chat.OpFinish, part
			if err := insertOut(ctx, t, o); err != nil {
				return fmt.Errorf("end a live message: %w", err)
			}
		}
		return nil
	})
}
