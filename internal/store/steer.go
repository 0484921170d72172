package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// The column held of a turn: 0 may start, 1 waits for a person's word, 2 its
// words are being given to the turn that runs, 3 may start, before all others,
// for its words are meant in place of what runs, 4 the same words while they
// are being given.

// Offer is described at router.QueueControl.
func (v Turns) Offer(ctx context.Context, turn int64) error {
	return v.queued(ctx, `UPDATE turn SET held = CASE held WHEN 3 THEN 4 ELSE 2 END
WHERE id = ? AND state = 'queued' AND held IN (0, 1, 3)`, turn)
}

// Return is described at router.QueueControl.
func (v Turns) Return(ctx context.Context, turn int64) error {
	return v.queued(ctx, `UPDATE turn SET held = 0 WHERE id = ? AND state = 'queued' AND held = 2`, turn)
}

// queued changes one queued turn; chat.Conflict when it is not what the change
// is meant for.
func (v Turns) queued(ctx context.Context, update string, turn int64) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, update, turn)
		if err != nil {
			return fmt.Errorf("change queued turn %d: %w", turn, err)
		}
		if n == 0 {
			return conflict("turn", turn)
		}
		return nil
	})
}

// Join is described at router.QueueControl.
func (v Turns) Join(ctx context.Context, turn, into int64, outs []chat.Out) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		q, err := turnByID(ctx, t, turn)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		running, err := turnByID(ctx, t, into)
		if err != nil {
			return fmt.Errorf("turn %d: %w", into, err)
		}
		if err := withdraw(ctx, t, turn); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE turn_input SET turn = ? WHERE turn = ?`, into, turn); err != nil {
			return fmt.Errorf("move messages: %w", err)
		}
		running.Input.Pieces = append(running.Input.Pieces, q.Input.Pieces...)
		if err := setInput(ctx, t, into, running.Input); err != nil {
			return err
		}
		return enqueue(ctx, t, outs)
	})
}

// Undecided is described at router.QueueControl.
func (v Turns) Undecided(ctx context.Context) (qs []chat.Turn, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		qs, err = list(ctx, t, scanTurn, `SELECT `+turnCols+` WHERE t.held IN (2, 4) AND t.state = 'queued' ORDER BY t.id`)
		if err != nil || len(qs) == 0 {
			return err
		}
		_, err = t.exec(ctx, `UPDATE turn SET held = 1 WHERE held IN (2, 4) AND state = 'queued'`)
		return err
	})
	return qs, err
}
