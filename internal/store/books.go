package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

// Entry is one line of the audit trail.
type Entry struct {
	ID     int64
	At     time.Time
	Actor  string
	Action string
	Detail string
}

// DeadLetter is something that was given up.
type DeadLetter struct {
	ID     int64
	Kind   string // outbox, inbound
	Ref    int64  // the row
	Reason string
	At     time.Time
}

// Counts is how much of everything is open.
type Counts struct {
	New      int // messages that nobody has looked at
	Asked    int // old messages whose author is asked what to do
	Queued   int // turns
	Active   int // turns
	Asks     int // open
	Outbox   int // rows to send
	Parked   int // of them, in chats that cannot be reached
	Dead     int // letters
	Sessions int // open
}

// Audit writes a line of the audit trail. It must hold no secret and no
// message text.
func (v Books) Audit(ctx context.Context, actor, action, detail string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error { return writeAudit(ctx, t, actor, action, detail) })
}

func writeAudit(ctx context.Context, t *tx, actor, action, detail string) error {
	_, err := t.exec(ctx, `INSERT INTO audit (at, actor, action, detail) VALUES (?, ?, ?, ?)`, micros(t.now), actor, action, detail)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Trail returns the last lines of the audit trail, newest first.
func (v Books) Trail(ctx context.Context, limit int) (es []Entry, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		es, err = list(ctx, h, func(r row) (e Entry, err error) {
			return e, r.Scan(&e.ID, fromMicros(&e.At), &e.Actor, &e.Action, &e.Detail)
		}, `SELECT id, at, actor, action, detail FROM audit ORDER BY id DESC LIMIT ?`, limit)
		return err
	})
	return es, err
}

// DeadLetters returns what was given up, newest first.
func (v Books) DeadLetters(ctx context.Context, limit int) (ds []DeadLetter, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ds, err = list(ctx, h, func(r row) (d DeadLetter, err error) {
			return d, r.Scan(&d.ID, &d.Kind, &d.Ref, &d.Reason, fromMicros(&d.At))
		}, `SELECT id, kind, ref, reason, at FROM dead ORDER BY id DESC LIMIT ?`, limit)
		return err
	})
	return ds, err
}

// Counts returns how much of everything is open.
func (v Books) Counts(ctx context.Context) (c Counts, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		c, err = first(ctx, h, func(r row) (c Counts, err error) {
			return c, r.Scan(&c.New, &c.Asked, &c.Queued, &c.Active, &c.Asks, &c.Outbox, &c.Parked, &c.Dead, &c.Sessions)
		}, `SELECT
	(SELECT count(*) FROM inbound WHERE state IN ('new', 'asked') AND state = 'new'),
	(SELECT count(*) FROM inbound WHERE state IN ('new', 'asked') AND state = 'asked'),
	(SELECT count(*) FROM turn WHERE state = 'queued'),
	(SELECT count(*) FROM turn WHERE state IN ('running', 'waiting')),
	(SELECT count(*) FROM ask WHERE state = 'open'),
	(SELECT count(*) FROM outbox o WHERE `+isOpen+`),
	(SELECT count(*) FROM outbox o JOIN place p ON p.id = o.place WHERE `+isOpen+` AND p.parked = 1),
	(SELECT count(*) FROM dead),
	(SELECT count(*) FROM session WHERE state = 'open')`)
		return err
	})
	return c, err
}

// Meta returns a note of the gateway about itself, empty when there is none.
func (v Books) Meta(ctx context.Context, key string) (string, error) {
	var val string
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		val, err = first(ctx, h, value[string], `SELECT value FROM meta WHERE key = ?`, key)
		return err
	})
	if chat.CodeOf(err) == chat.Missing {
		return "", nil
	}
	return val, err
}

// SetMeta writes such a note.
func (v Books) SetMeta(ctx context.Context, key, val string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, putMeta, key, val)
		return err
	})
}
