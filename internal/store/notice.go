package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// waitsFor returns the queued turn that a message tells of, 0 for most
// messages; over is true when the turn waits no more: then there is nothing to
// tell.
func waitsFor(ctx context.Context, t *tx, p chat.Part) (turn int64, over bool, err error) {
	if p.Waits == nil {
		return 0, false, nil
	}
	s, err := first(ctx, t, value[chat.TurnState], `SELECT state FROM turn WHERE id = ?`, p.Waits.Turn)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return 0, false, fmt.Errorf("state of turn %d: %w", p.Waits.Turn, err)
	}
	return p.Waits.Turn, s != chat.TurnQueued, nil
}

// unwait sees to the messages that tell of a turn which has just left the
// queue, and reports whether there is something to send: what was not sent yet
// is not sent, what was shown is changed. What is on its way is seen to when it
// has arrived.
func unwait(ctx context.Context, t *tx, turn int64) (edits bool, err error) {
	_, err = t.exec(ctx, `UPDATE outbox SET state = 'dropped', error = 'its turn waits no more'
WHERE waits = ? AND waits > 0 AND state = 'pending' AND op = 'post'`, turn)
	if err != nil {
		return false, fmt.Errorf("drop messages about the waiting of turn %d: %w", turn, err)
	}
	shown, err := list(ctx, t, scanNotice, noticeCols+waitsOf, turn)
	if err != nil {
		return false, fmt.Errorf("find messages about the waiting of turn %d: %w", turn, err)
	}
	for _, n := range shown {
		if err := n.over(ctx, t); err != nil {
			return false, err
		}
	}
	return len(shown) > 0, nil
}

// arrivedLate sees to a message that has just been delivered, if it tells of a
// turn that waits no more.
func arrivedLate(ctx context.Context, t *tx, out int64) error {
	n, err := first(ctx, t, scanNotice, noticeCols+` JOIN turn t ON t.id = o.waits
WHERE o.id = ? AND o.waits > 0 AND o.op = 'post' AND t.state <> 'queued'`, out)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return nil
	case err != nil:
		return fmt.Errorf("look at the turn of row %d: %w", out, err)
	}
	return n.over(ctx, t)
}

// notice is a message that was delivered, about a turn that waited.
type notice struct {
	id    int64
	key   string
	place int64
	ref   chat.Ref
	body  sealed
}

const (
	noticeCols = `SELECT o.id, o.idem_key, o.place, r.ref, o.body, o.crc FROM outbox o JOIN receipt r ON r.outbox = o.id`
	waitsOf    = ` WHERE o.waits = ? AND o.waits > 0 AND o.op = 'post'`
)

func scanNotice(r row) (n notice, err error) {
	return n, r.Scan(&n.id, &n.key, &n.place, fromText(&n.ref), &n.body.body, &n.body.crc)
}

// over stores the edit that says that nothing waits any more. A damaged body
// leaves the message as it is: no turn is kept from starting by it.
func (n notice) over(ctx context.Context, t *tx) error {
	var p chat.Part
	if err := n.body.open("outbox", n.id, &p); err != nil || p.Waits == nil {
		return nil //nolint:nilerr // said by whoever reads the row next
	}
	err := insertOut(ctx, t, chat.Out{
		Key: n.key + "/over", Place: chat.Place{ID: n.place}, Class: chat.OutNotice, Op: chat.OpEdit, Part: p.Waits.Done(p), Target: n.ref,
	})
	if err != nil {
		return fmt.Errorf("change a message about a turn that waited: %w", err)
	}
	return nil
}
