package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

const outCols = `o.id, o.idem_key, o.turn, o.seq, o.ask, o.class, o.op, o.body, o.crc, o.target, o.state, o.tries, o.due_at, ` + placeCols + `
FROM outbox o JOIN place p ON p.id = o.place`

func scanOut(r row) (chat.Out, error) {
	var o chat.Out
	var b sealed
	dest := append([]any{
		&o.ID, &o.Key, &o.Turn, &o.Seq, &o.Ask, &o.Class, &o.Op, &b.body, &b.crc, fromText(&o.Target), &o.State, &o.Tries,
		fromMicros(&o.DueAt),
	}, placeDest(&o.Place)...)
	if err := r.Scan(dest...); err != nil {
		return o, err
	}
	return o, b.open("outbox", o.ID, &o.Part)
}

// isOpen is exactly the condition of the index of open rows, which is ordered
// nearly as they are sent: by state downwards (sending before pending), then by
// age.
const isOpen = `o.state IN ('pending', 'sending')`

// Enqueue is described at reply.Outbox.
func (v Outbox) Enqueue(ctx context.Context, outs []chat.Out) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error { return enqueue(ctx, t, outs) })
}

// enqueue stores rows in their order. Within a turn the ledger numbers them:
// what is said about a turn comes from several places, and each counts from
// one.
func enqueue(ctx context.Context, t *tx, outs []chat.Out) error {
	for _, o := range outs {
		if err := insertOut(ctx, t, o); err != nil {
			return fmt.Errorf("enqueue %s: %w", o.Key, err)
		}
	}
	return nil
}

func insertOut(ctx context.Context, t *tx, o chat.Out) error {
	body, crc, err := seal(o.Part)
	if err != nil {
		return err
	}
	target, err := asText(o.Target)
	if err != nil {
		return err
	}
	if o.DueAt.IsZero() {
		o.DueAt = t.now
	}
	if o.Op == "" {
		o.Op = chat.OpPost
	}
	waits, over, err := waitsFor(ctx, t, o.Part)
	if err != nil || over {
		return err
	}
	n, err := t.exec(ctx, `INSERT INTO outbox
(idem_key, place, channel, turn, seq, ask, class, op, target, body, crc, state, due_at, at, spool, waits)
SELECT ?1, p.id, p.account || '/' || p.chat, ?3,
	CASE ?3 WHEN 0 THEN 0 ELSE (SELECT coalesce(max(seq), 0) + 1 FROM outbox WHERE turn = ?3 AND turn > 0) END,
	?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11, ?12, ?13 FROM place p WHERE p.id = `+heir+`?2)
ON CONFLICT (idem_key) DO NOTHING`,
		o.Key, o.Place.ID, o.Turn, o.Ask, o.Class, o.Op, target, body, crc, micros(o.DueAt), micros(t.now), spooled(o.Part), waits)
	if err != nil || n == 1 {
		return err
	}
	// Known already, or for a place that is not there: that must not pass as
	// stored.
	_, err = first(ctx, t, value[int64], `SELECT id FROM outbox WHERE idem_key = ?`, o.Key)
	if chat.CodeOf(err) == chat.Missing {
		return missing("place", o.Place.ID)
	}
	return err
}

// spooled is the file in the spool that a part sends; empty when there is none.
func spooled(p chat.Part) string {
	if p.File == nil {
		return ""
	}
	return p.File.Spool
}

// Spooled returns the files in the spool that are still needed: those of open
// rows, and those that an account has shown since then, for its chats are read
// again later.
func (v Outbox) Spooled(ctx context.Context, account string, since time.Time) (names []string, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		names, err = list(ctx, h, value[string], `SELECT DISTINCT o.spool FROM outbox o JOIN place p ON p.id = o.place
WHERE o.spool <> '' AND (`+isOpen+` OR p.account = ? AND o.at >= ?)`, account, micros(since))
		return err
	})
	return names, err
}

// Channels is described at reply.Outbox.
func (v Outbox) Channels(ctx context.Context) (cs []string, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		cs, err = list(ctx, h, value[string], `SELECT DISTINCT o.channel FROM outbox o JOIN place p ON p.id = o.place
WHERE `+isOpen+` AND p.parked = 0 ORDER BY o.channel`)
		return err
	})
	return cs, err
}

// NextOut is described at reply.Outbox. Rows of a parked channel wait.
func (v Outbox) NextOut(ctx context.Context, channel string) (o chat.Out, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		o, err = first(ctx, h, scanOut, `SELECT `+outCols+` WHERE o.id = (
SELECT o.id FROM outbox o JOIN place p ON p.id = o.place WHERE o.channel = ? AND `+isOpen+` AND p.parked = 0
ORDER BY o.state DESC, o.class = 'progress', o.id LIMIT 1)`, channel)
		return err
	})
	return o, err
}

// intent is what is needed to write one.
type intent struct {
	state   chat.OutState
	account string
	space   string
	since   int64
	at      time.Time // of the first intent
}

// Sending is described at reply.Outbox. chat.Conflict: the row is not open any
// more.
func (v Outbox) Sending(ctx context.Context, id int64) (u *chat.Unsure, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		u = nil
		in, err := first(ctx, t, func(r row) (in intent, err error) {
			return in, r.Scan(&in.state, &in.account, &in.space, &in.since, fromMicros(&in.at))
		}, `SELECT o.state, p.account, p.space, o.since, CASE o.intent_at WHEN 0 THEN o.at ELSE o.intent_at END
FROM outbox o JOIN place p ON p.id = o.place WHERE o.id = ?`, id)
		if err != nil {
			return fmt.Errorf("intent of row %d: %w", id, err)
		}
		switch in.state {
		case chat.OutPending:
			in.at = t.now
			if in.since, err = highestKnown(ctx, t, in); err != nil {
				return err
			}
		case chat.OutSending:
			if u, err = knownSince(ctx, t, in); err != nil {
				return err
			}
		default: // closed
			return conflict("outbox row", id)
		}
		_, err = t.exec(ctx, `UPDATE outbox SET state = 'sending', tries = tries + 1, since = ?, intent_at = ? WHERE id = ?`,
			in.since, micros(in.at), id)
		return err
	})
	return u, err
}

// highestKnown is the highest number known in an id space; 0 where ids carry no
// order.
func highestKnown(ctx context.Context, t *tx, in intent) (int64, error) {
	if in.space == "" {
		return 0, nil
	}
	return first(ctx, t, value[int64], `SELECT max(
	(SELECT coalesce(max(num), 0) FROM inbound WHERE account = ?1 AND space = ?2 AND num > 0),
	(SELECT coalesce(max(num), 0) FROM receipt WHERE account = ?1 AND space = ?2 AND num > 0))`, in.account, in.space)
}

// knownSince is what is known about the id space since the first intent. A click
// does not count: it names one of our own messages, perhaps the very one that
// is looked for.
func knownSince(ctx context.Context, t *tx, in intent) (*chat.Unsure, error) {
	u := &chat.Unsure{At: in.at, Since: in.since}
	if in.space == "" {
		return u, nil
	}
	var err error
	u.Known, err = list(ctx, t, value[int64], `SELECT num FROM inbound
	WHERE account = ?1 AND space = ?2 AND num > 0 AND num > ?3 AND kind <> 'click'
UNION SELECT num FROM receipt WHERE account = ?1 AND space = ?2 AND num > 0 AND num > ?3
ORDER BY num LIMIT 200`, in.account, in.space, in.since)
	if err != nil {
		return nil, fmt.Errorf("read id space: %w", err)
	}
	return u, nil
}

// Sent is described at reply.Outbox. A receipt is a fact: it is stored
// whatever became of the row meanwhile.
func (v Outbox) Sent(ctx context.Context, id int64, ref chat.Ref) error {
	text, err := encode(ref)
	if err != nil {
		return err
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if err := openTopic(ctx, t, id, ref); err != nil {
			return fmt.Errorf("topic of row %d: %w", id, err)
		}
		next, late, err := leftBehind(ctx, t, id, ref)
		if err != nil {
			return fmt.Errorf("address of row %d: %w", id, err)
		}
		n, err := t.exec(ctx, `INSERT INTO receipt (outbox, account, msg, space, num, ref, at)
SELECT o.id, p.account, ?2, p.space, ?3, ?4, ?5 FROM outbox o JOIN place p ON p.id = o.place WHERE o.id = ?1
ON CONFLICT (outbox) DO NOTHING`, id, ref.ID, ref.Num, text, micros(t.now))
		if err != nil {
			return fmt.Errorf("receipt of row %d: %w", id, err)
		}
		if n == 0 {
			return nil // known already
		}
		if _, err = t.exec(ctx, `UPDATE outbox SET state = 'sent', error = '' WHERE id = ?`, id); err != nil {
			return err
		}
		if late {
			if err := again(ctx, t, next, `o.id = ?`, id); err != nil {
				return err
			}
		}
		return arrivedLate(ctx, t, id)
	})
}

// Later is described at reply.Trouble.
func (v Outbox) Later(ctx context.Context, id int64, at time.Time, sure bool, reason string) error {
	return v.change(ctx, id, `UPDATE outbox AS o SET state = CASE WHEN ?2 THEN 'pending' ELSE o.state END, due_at = ?3, error = ?4
WHERE o.id = ?1 AND `+isOpen, sure, micros(at), reason)
}

// change changes an open row; chat.Conflict when it is not open any more.
func (v Outbox) change(ctx context.Context, id int64, update string, args ...any) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error { return changeOut(ctx, t, id, update, args...) })
}

func changeOut(ctx context.Context, t *tx, id int64, update string, args ...any) error {
	n, err := t.exec(ctx, update, append([]any{id}, args...)...)
	if err != nil {
		return fmt.Errorf("change outbox row %d: %w", id, err)
	}
	if n == 0 {
		return conflict("outbox row", id)
	}
	return nil
}
