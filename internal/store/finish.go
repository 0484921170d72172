package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// Finish is described at turn.Ledger. Messages that show a question and were
// not sent yet are dropped with the question.
func (v Runs) Finish(ctx context.Context, e chat.Ending) error {
	if !e.State.Final() {
		return chat.E(chat.Invalid, "", fmt.Errorf("%s is no end of a turn", e.State))
	}
	usage := ""
	if e.Usage != (chat.Usage{}) {
		var err error
		if usage, err = encode(e.Usage); err != nil {
			return err
		}
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if err := endTurn(ctx, t, e, usage); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE attempt SET state = 'done', ended_at = ? WHERE turn = ? AND state <> 'done'`, micros(t.now), e.Turn)
		if err != nil {
			return fmt.Errorf("end attempt: %w", err)
		}
		if err := voidAsks(ctx, t, e.Turn); err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE session SET used_at = ?1, native_id = CASE ?2 WHEN '' THEN native_id ELSE ?2 END
WHERE id = (SELECT session FROM turn WHERE id = ?3)`, micros(t.now), e.NativeID, e.Turn)
		if err != nil {
			return fmt.Errorf("note the use of the session: %w", err)
		}
		if err := changeMode(ctx, t, e); err != nil {
			return err
		}
		if err := proveModel(ctx, t, e); err != nil {
			return err
		}
		return enqueue(ctx, t, e.Outs)
	})
}

// changeMode stores the mode that a session was left in. A conversation's own
// wish follows it; one that wishes for nothing goes on doing so.
func changeMode(ctx context.Context, t *tx, e chat.Ending) error {
	if e.Mode == nil {
		return nil
	}
	n, err := t.exec(ctx, `UPDATE session SET mode = ?1 WHERE mode = ?2 AND id = (SELECT session FROM turn WHERE id = ?3)`,
		e.Mode.To, e.Mode.From, e.Turn)
	if err != nil {
		return fmt.Errorf("store the mode of the session: %w", err)
	}
	if n == 0 || e.Mode.From == "" {
		return nil
	}
	_, err = t.exec(ctx, `UPDATE conversation SET mode = ?1 WHERE mode = ?2
AND id = (SELECT conversation FROM turn WHERE id = ?3) AND session = (SELECT session FROM turn WHERE id = ?3)`,
		e.Mode.To, e.Mode.From, e.Turn)
	if err != nil {
		return fmt.Errorf("store the mode of the conversation: %w", err)
	}
	return nil
}

// proveModel notes that the model that was chosen is one, or takes the one
// before it back: the agent knows no such model. What was chosen meanwhile
// stays.
func proveModel(ctx context.Context, t *tx, e chat.Ending) error {
	const which = ` WHERE unproven AND model = ?1 AND id = (SELECT session FROM turn WHERE id = ?2)`
	var stmts []string
	switch {
	case e.State == chat.TurnSucceeded:
		stmts = []string{`UPDATE session SET unproven = 0` + which}
	case e.Reason == chat.ModelUnknown:
		stmts = []string{
			`UPDATE conversation SET model = s.proven_model FROM session s
WHERE conversation.session = s.id AND conversation.model = ?1 AND s.unproven AND s.model = ?1 AND s.id = (SELECT session FROM turn WHERE id = ?2)`,
			`UPDATE session SET unproven = 0, model = proven_model` + which,
		}
	}
	for _, stmt := range stmts {
		if _, err := t.exec(ctx, stmt, e.Model, e.Turn); err != nil {
			return fmt.Errorf("note whether the model is known: %w", err)
		}
	}
	return nil
}

// endTurn moves a turn to its end, from the state that the caller expects.
func endTurn(ctx context.Context, t *tx, e chat.Ending, usage string) error {
	from := []chat.TurnState{e.From, e.From}
	if e.From == "" {
		from = []chat.TurnState{chat.TurnRunning, chat.TurnWaiting}
	}
	for _, f := range from {
		if !f.Can(e.State) {
			return chat.E(chat.Invalid, "", fmt.Errorf("a turn cannot move from %s to %s", f, e.State))
		}
	}
	n, err := t.exec(ctx, `UPDATE turn SET state = ?, reason = ?, usage = ?, ended_at = ? WHERE id = ? AND state IN (?, ?)`,
		e.State, e.Reason, usage, micros(t.now), e.Turn, from[0], from[1])
	if err != nil {
		return fmt.Errorf("end turn %d: %w", e.Turn, err)
	}
	if n == 0 {
		return conflict("turn", e.Turn)
	}
	_, err = unwait(ctx, t, e.Turn)
	return err
}

// voidAsks ends what a turn still asks.
func voidAsks(ctx context.Context, t *tx, turn int64) error {
	ids, err := list(ctx, t, value[int64], `SELECT id FROM ask WHERE turn = ? AND state = 'open'`, turn)
	if err != nil {
		return fmt.Errorf("find open asks: %w", err)
	}
	for _, id := range ids {
		if _, err := closeAsk(ctx, t, id, chat.AskVoid); err != nil {
			return err
		}
	}
	return nil
}

// Unfinished is described at turn.Recovery. An answer that was given after the
// newest question of the turn may not have arrived: the agent had not gone on.
func (v Runs) Unfinished(ctx context.Context) (us []chat.Unfinished, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) error {
		us = nil
		turns, err := list(ctx, h, scanTurn, `SELECT `+turnCols+` WHERE t.state IN ('running', 'waiting') ORDER BY +t.id`)
		if err != nil {
			return err
		}
		for _, q := range turns {
			u := chat.Unfinished{Turn: q}
			u.Attempt, err = first(ctx, h, scanAttempt, `SELECT `+attemptCols+` WHERE a.turn = ? ORDER BY a.no DESC LIMIT 1`, q.ID)
			if err != nil && chat.CodeOf(err) != chat.Missing {
				return err
			}
			u.Asks, err = list(ctx, h, scanAsk, `SELECT `+askCols+` WHERE k.turn = ?1 AND (k.state = 'open'
OR k.state = 'answered' AND k.used_at >= (SELECT max(at) FROM ask WHERE turn = ?1)) ORDER BY k.id`, q.ID)
			if err != nil {
				return err
			}
			u.Instead, err = first(ctx, h, scanTurn, `SELECT `+turnCols+` WHERE t.session = ? AND t.state = 'queued' AND t.held = 3 ORDER BY t.id LIMIT 1`, q.Session)
			if err != nil && chat.CodeOf(err) != chat.Missing {
				return err
			}
			us = append(us, u)
		}
		return nil
	})
	return us, err
}

// Requeue is described at turn.Recovery. chat.Conflict: the turn is not
// running, or its agent may have seen the prompt.
func (v Runs) Requeue(ctx context.Context, turn int64) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE turn SET state = 'queued', started_at = 0 WHERE id = ?1 AND state = 'running'
AND NOT EXISTS (SELECT 1 FROM attempt WHERE turn = ?1 AND state IN ('intent', 'sent'))`, turn)
		if err != nil {
			return fmt.Errorf("requeue turn %d: %w", turn, err)
		}
		if n == 0 {
			return conflict("turn", turn)
		}
		_, err = t.exec(ctx, `UPDATE attempt SET state = 'done', ended_at = ? WHERE turn = ? AND state <> 'done'`, micros(t.now), turn)
		return err
	})
}
