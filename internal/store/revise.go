package store

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
)

// Revise is described at router.Inbox. The stored message changes with its
// piece, so that the history shows what was asked. A file that stays keeps what
// is known about it.
func (v Inbox) Revise(ctx context.Context, place int64, msg string, now chat.Message) (turn int64, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		in, q, err := queuedPiece(ctx, t, place, msg)
		if err != nil {
			return err
		}
		turn = q.ID
		for i := range q.Input.Pieces {
			if p := &q.Input.Pieces[i]; p.Inbound == in {
				p.Text, p.Files = now.Text, chat.RevisedFiles(p.Files, now.Files)
			}
		}
		if err := setInput(ctx, t, q.ID, q.Input); err != nil {
			return err
		}
		return reviseMessage(ctx, t, in, func(m *chat.Message) {
			m.Text, m.Files = now.Text, chat.RevisedFiles(m.Files, now.Files)
		})
	})
	return turn, err
}

// Recall is described at router.Inbox.
func (v Inbox) Recall(ctx context.Context, place int64, msg string) (turn int64, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		in, q, err := queuedPiece(ctx, t, place, msg)
		if err != nil {
			return err
		}
		turn = q.ID
		q.Input.Pieces = slices.DeleteFunc(q.Input.Pieces, func(p chat.Piece) bool { return p.Inbound == in })
		if _, err := t.exec(ctx, `UPDATE inbound SET state = 'withdrawn' WHERE id = ?`, in); err != nil {
			return fmt.Errorf("withdraw message: %w", err)
		}
		if len(q.Input.Pieces) == 0 {
			return withdraw(ctx, t, q.ID)
		}
		if _, err := t.exec(ctx, `DELETE FROM turn_input WHERE inbound = ?`, in); err != nil {
			return fmt.Errorf("unbind message: %w", err)
		}
		return setInput(ctx, t, q.ID, q.Input)
	})
	return turn, err
}

// queuedPiece finds the message behind a platform message and the queued turn
// that it is an input of.
func queuedPiece(ctx context.Context, t *tx, place int64, msg string) (inbound int64, q chat.Turn, err error) {
	inbound, err = first(ctx, t, value[int64], `SELECT i.id FROM inbound i JOIN turn_input x ON x.inbound = i.id
JOIN turn t ON t.id = x.turn
WHERE i.place = ? AND i.msg = ? AND i.kind = 'text' AND t.state = 'queued' ORDER BY i.id DESC LIMIT 1`, place, msg)
	if err != nil {
		return 0, q, fmt.Errorf("find queued message: %w", err)
	}
	q, err = first(ctx, t, scanTurn, `SELECT `+turnCols+` WHERE t.id = (SELECT turn FROM turn_input WHERE inbound = ?)`, inbound)
	return inbound, q, err
}

func setInput(ctx context.Context, t *tx, turn int64, in chat.Input) error {
	body, crc, err := seal(in)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, `UPDATE turn SET body = ?, crc = ? WHERE id = ?`, body, crc, turn); err != nil {
		return fmt.Errorf("revise turn: %w", err)
	}
	return nil
}

// reviseMessage changes the body of a stored message.
func reviseMessage(ctx context.Context, t *tx, inbound int64, change func(*chat.Message)) error {
	in, err := first(ctx, t, scanInbound, `SELECT `+inboundCols+` WHERE i.id = ?`, inbound)
	if err != nil {
		return err
	}
	change(&in.Message)
	body, crc, err := seal(in.Message)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, `UPDATE inbound SET body = ?, crc = ? WHERE id = ?`, body, crc, inbound); err != nil {
		return fmt.Errorf("revise message: %w", err)
	}
	return nil
}
