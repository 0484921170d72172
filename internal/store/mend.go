package store

import (
	"context"
	"errors"
	"fmt"
)

// mendLimit bounds how many damaged rows one read sets aside.
const mendLimit = 64

// readOpen is read for rows that somebody works off. A damaged one among them
// would hold up all behind it for ever: it is set aside, with a dead letter
// that names it, and the rest goes on.
func (c *core) readOpen(ctx context.Context, fn func(context.Context, handle) error) error {
	for range mendLimit {
		err := c.read(ctx, fn)
		var d *damageError
		if !errors.As(err, &d) {
			return err
		}
		c.w.log.ErrorContext(ctx, "ledger row is damaged; set aside", "table", d.table, "row", d.id, "err", err)
		if err := c.write(ctx, func(ctx context.Context, t *tx) error { return setAside(ctx, t, d) }); err != nil {
			return errors.Join(err, d)
		}
	}
	return errors.New("too many damaged rows: restore a backup")
}

// aside ends a row of a table, whose state says that it is still open.
var aside = map[string]string{
	"inbound": `UPDATE inbound SET state = 'refused', reason = 'internal' WHERE id = ? AND state IN ('new', 'asked')`,
	"outbox":  `UPDATE outbox SET state = 'dead', error = 'damaged' WHERE id = ? AND state IN ('pending', 'sending')`,
	"turn":    `UPDATE turn SET state = 'failed', reason = 'internal', ended_at = created_at WHERE id = ? AND state IN ('queued', 'running', 'waiting')`,
	"ask":     `UPDATE ask SET state = 'void' WHERE id = ? AND state IN ('open', 'answered')`,
}

func setAside(ctx context.Context, t *tx, d *damageError) error {
	update, ok := aside[d.table]
	if !ok {
		return d
	}
	n, err := t.exec(ctx, update, d.id)
	if err != nil {
		return fmt.Errorf("set %s %d aside: %w", d.table, d.id, err)
	}
	if n == 0 {
		return d
	}
	return deadLetter(ctx, t, d.table, d.id, d.why)
}
