package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const attemptCols = `a.id, a.turn, a.no, a.state, a.runner FROM attempt a`

func scanAttempt(r row) (chat.Attempt, error) {
	var a chat.Attempt
	err := r.Scan(&a.ID, &a.Turn, &a.No, &a.State, &a.Runner)
	return a, err
}

// Claim is described at turn.Ledger.
func (v Runs) Claim(ctx context.Context, turn int64, s chat.AttemptState) (a chat.Attempt, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE turn SET state = 'running', held = 0, started_at = ? WHERE id = ? AND state = 'queued'`,
			micros(t.now), turn)
		if isTaken(err) {
			return conflict("session of turn", turn)
		} else if err != nil {
			return fmt.Errorf("claim turn %d: %w", turn, err)
		}
		if n == 0 {
			return conflict("turn", turn)
		}
		if a, err = newAttempt(ctx, t, turn, s); err != nil {
			return err
		}
		a.Notices, err = unwait(ctx, t, turn)
		return err
	})
	return a, err
}

func newAttempt(ctx context.Context, t *tx, turn int64, s chat.AttemptState) (chat.Attempt, error) {
	no, err := first(ctx, t, value[int], `SELECT coalesce(max(no), 0) + 1 FROM attempt WHERE turn = ?`, turn)
	if err != nil {
		return chat.Attempt{}, fmt.Errorf("count attempts: %w", err)
	}
	sent := int64(0)
	if s == chat.AttemptSent {
		sent = micros(t.now)
	}
	id, err := t.insert(ctx, `INSERT INTO attempt (turn, no, state, at, sent_at) VALUES (?, ?, ?, ?, ?)`,
		turn, no, s, micros(t.now), sent)
	if err != nil {
		return chat.Attempt{}, fmt.Errorf("new attempt: %w", err)
	}
	return chat.Attempt{ID: id, Turn: turn, No: no, State: s}, nil
}

// Advance is described at turn.Ledger. An empty state keeps the known one; an
// attempt that is done does not move (chat.Conflict).
func (v Runs) Advance(ctx context.Context, attempt int64, s chat.AttemptState, runner string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE attempt SET
	state = CASE ?1 WHEN '' THEN state ELSE ?1 END,
	runner = CASE ?2 WHEN '' THEN runner ELSE ?2 END,
	sent_at = CASE ?1 WHEN 'sent' THEN ?3 ELSE sent_at END
WHERE id = ?4 AND state <> 'done'`, s, runner, micros(t.now), attempt)
		if err != nil {
			return fmt.Errorf("advance attempt %d: %w", attempt, err)
		}
		if n == 0 {
			return conflict("attempt", attempt)
		}
		return nil
	})
}

// Rebind is described at turn.Ledger.
func (v Runs) Rebind(ctx context.Context, turn, session int64) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE turn SET session = ? WHERE id = ? AND state IN ('running', 'waiting')`, session, turn)
		if isTaken(err) {
			return conflict("session", session)
		} else if err != nil {
			return fmt.Errorf("rebind turn %d: %w", turn, err)
		}
		if n == 0 {
			return conflict("turn", turn)
		}
		return nil
	})
}

// Uninvited is described at turn.Ledger. Place 0 is the place of the session's
// last turn.
func (v Runs) Uninvited(ctx context.Context, session, place int64) (q chat.Turn, a chat.Attempt, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		s, err := sessionByID(ctx, t, session)
		if err != nil {
			return err
		}
		if place == 0 {
			place, err = first(ctx, t, value[int64], `SELECT place FROM turn WHERE session = ? ORDER BY id DESC LIMIT 1`, session)
			if err != nil {
				return fmt.Errorf("find a place for the turn: %w", err)
			}
		}
		n := chat.NewTurn{
			Conversation: s.Conversation, Session: session,
			Place: chat.Place{ID: place}, Origin: chat.OriginAgent,
		}
		id, err := newTurn(ctx, t, n, chat.TurnRunning)
		if err != nil {
			return fmt.Errorf("new uninvited turn: %w", err)
		}
		if a, err = newAttempt(ctx, t, id, chat.AttemptSent); err != nil {
			return err
		}
		q, err = turnByID(ctx, t, id)
		return err
	})
	return q, a, err
}
