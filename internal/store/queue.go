package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// Withdraw is described at router.QueueControl.
func (v Turns) Withdraw(ctx context.Context, turn int64, outs []chat.Out) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if err := withdraw(ctx, t, turn); err != nil {
			return err
		}
		return enqueue(ctx, t, outs)
	})
}

func withdraw(ctx context.Context, t *tx, turn int64) error {
	n, err := t.exec(ctx, `UPDATE turn SET state = 'withdrawn', ended_at = ? WHERE id = ? AND state = 'queued'`, micros(t.now), turn)
	if err != nil {
		return fmt.Errorf("withdraw turn %d: %w", turn, err)
	}
	if n == 0 {
		return conflict("turn", turn)
	}
	_, err = unwait(ctx, t, turn)
	return err
}

// Hold is described at router.QueueControl.
func (v Turns) Hold(ctx context.Context, session int64) (int, error) {
	return v.held(ctx, `UPDATE turn SET held = CASE WHEN held IN (0, 3) THEN 1 ELSE held END WHERE session = ? AND state = 'queued'`, session)
}

// Release is described at router.QueueControl.
func (v Turns) Release(ctx context.Context, session int64) (int, error) {
	return v.held(ctx, `UPDATE turn SET held = 0 WHERE session = ? AND state = 'queued' AND held = 1`, session)
}

func (v Turns) held(ctx context.Context, update string, session int64) (int, error) {
	var n int64
	err := v.write(ctx, func(ctx context.Context, t *tx) (err error) {
		n, err = t.exec(ctx, update, session)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// Choose is described at router.QueueControl.
func (v Turns) Choose(ctx context.Context, turn int64, choice string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE turn SET choice = ? WHERE id = ? AND choice = ''
AND state NOT IN ('queued', 'running', 'waiting')`, choice, turn)
		if err != nil {
			return fmt.Errorf("note choice about turn %d: %w", turn, err)
		}
		if n == 0 {
			return conflict("turn", turn)
		}
		return nil
	})
}
