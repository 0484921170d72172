package store

import (
	"context"
	"fmt"
)

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
	Unread   int // events that were not understood
}

// writeAudit writes a line of the audit trail. It must hold no secret and no
// message text.
func writeAudit(ctx context.Context, t *tx, actor, action, detail string) error {
	_, err := t.exec(ctx, `INSERT INTO audit (at, actor, action, detail) VALUES (?, ?, ?, ?)`, micros(t.now), actor, action, detail)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Counts returns how much of everything is open.
func (v Books) Counts(ctx context.Context) (c Counts, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		c, err = first(ctx, h, func(r row) (c Counts, err error) {
			return c, r.Scan(&c.New, &c.Asked, &c.Queued, &c.Active, &c.Asks, &c.Outbox, &c.Parked, &c.Dead, &c.Sessions, &c.Unread)
		}, `SELECT
	(SELECT count(*) FROM inbound WHERE state IN ('new', 'asked') AND state = 'new'),
	(SELECT count(*) FROM inbound WHERE state IN ('new', 'asked') AND state = 'asked'),
	(SELECT count(*) FROM turn WHERE state = 'queued'),
	(SELECT count(*) FROM turn WHERE state IN ('running', 'waiting')),
	(SELECT count(*) FROM ask WHERE state = 'open'),
	(SELECT count(*) FROM outbox o WHERE `+isOpen+`),
	(SELECT count(*) FROM outbox o JOIN place p ON p.id = o.place WHERE `+isOpen+` AND p.parked <> 0),
	(SELECT count(*) FROM dead),
	(SELECT count(*) FROM session WHERE state = 'open'),
	(SELECT count(*) FROM unread)`)
		return err
	})
	return c, err
}
