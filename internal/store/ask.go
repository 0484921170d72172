package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

const askCols = `k.id, k.turn, k.session, k.asker, coalesce(w.name, ''), coalesce(w.lang, ''), k.body, k.crc, k.digest, k.state,
k.answer, k.at, k.expires_at, ` + placeCols + `
FROM ask k JOIN place p ON p.id = k.place LEFT JOIN person w ON w.account = p.account AND w.ext = k.asker`

func scanAsk(r row) (chat.Ask, error) {
	var a chat.Ask
	var b sealed
	dest := append([]any{
		&a.ID, &a.Turn, &a.Session, &a.Asker.ID, &a.Asker.Name, &a.Asker.Lang, &b.body, &b.crc, &a.Digest, &a.State,
		fromText(&a.Answer), fromMicros(&a.At), fromMicros(&a.Expires),
	}, placeDest(&a.Place)...)
	if err := r.Scan(dest...); err != nil {
		return a, err
	}
	return a, b.open("ask", a.ID, &a.Question)
}

func askByID(ctx context.Context, h handle, id int64) (chat.Ask, error) {
	a, err := first(ctx, h, scanAsk, `SELECT `+askCols+` WHERE k.id = ?`, id)
	if err != nil {
		return a, fmt.Errorf("ask %d: %w", id, err)
	}
	return a, nil
}

// Ask is described at turn.Asks. outs runs on the writer's goroutine and may
// run twice: it only makes the rows.
func (v Asks) Ask(ctx context.Context, a chat.Ask, outs func(id int64) []chat.Out) (stored chat.Ask, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		var done bool
		if stored, done, err = knownAsk(ctx, t, a); done || err != nil {
			return err
		}
		id, err := newAsk(ctx, t, a)
		if err != nil {
			return err
		}
		if outs != nil {
			rows := outs(id)
			for i := range rows {
				rows[i].Ask = id
			}
			if err := enqueue(ctx, t, rows); err != nil {
				return err
			}
		}
		stored, err = askByID(ctx, t, id)
		return err
	})
	return stored, err
}

// knownAsk finds the row of an ask that was asked before, or a rule that
// answers it.
func knownAsk(ctx context.Context, t *tx, a chat.Ask) (chat.Ask, bool, error) {
	old, err := first(ctx, t, scanAsk, `SELECT `+askCols+` WHERE k.turn = ? AND k.ask_key = ? AND k.digest = ?`,
		a.Turn, a.Question.Key, a.Digest)
	if err == nil || chat.CodeOf(err) != chat.Missing {
		return old, err == nil, err
	}
	by, err := ruleFor(ctx, t, a.Session, a.Digest)
	if chat.CodeOf(err) == chat.Missing {
		return chat.Ask{}, false, nil
	} else if err != nil {
		return chat.Ask{}, false, fmt.Errorf("find rule: %w", err)
	}
	a.State = chat.AskAnswered
	a.Answer = chat.Answer{Effect: chat.EffectAllow, By: chat.Person{ID: by}}
	for _, o := range a.Question.Options {
		if o.Effect == chat.EffectAllow {
			a.Answer.Option = o.ID
			break
		}
	}
	return a, true, nil
}

func newAsk(ctx context.Context, t *tx, a chat.Ask) (int64, error) {
	n, err := t.exec(ctx, `UPDATE turn SET state = 'waiting' WHERE id = ? AND state IN ('running', 'waiting')`, a.Turn)
	if err != nil {
		return 0, fmt.Errorf("hold turn %d: %w", a.Turn, err)
	}
	if n == 0 {
		return 0, conflict("turn", a.Turn)
	}
	body, crc, err := seal(a.Question)
	if err != nil {
		return 0, err
	}
	id, err := t.insert(ctx, `INSERT INTO ask (turn, session, place, asker, ask_key, digest, body, crc, state, expires_at, at)
VALUES (?, ?, `+heir+`?), ?, ?, ?, ?, ?, 'open', ?, ?)`,
		a.Turn, a.Session, a.Place.ID, a.Asker.ID, a.Question.Key, a.Digest, body, crc, micros(a.Expires), micros(t.now))
	if err != nil {
		return 0, fmt.Errorf("new ask: %w", err)
	}
	return id, nil
}

// CloseAsk is described at turn.Asks.
func (v Asks) CloseAsk(ctx context.Context, id int64, s chat.AskState) (a chat.Ask, err error) {
	if s != chat.AskExpired && s != chat.AskVoid {
		return a, chat.E(chat.Invalid, "", fmt.Errorf("an ask is not closed as %s", s))
	}
	var late error
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		late = nil
		ok, err := closeAsk(ctx, t, id, s)
		if err != nil {
			return err
		}
		if !ok {
			late = conflict("ask", id)
		}
		a, err = askByID(ctx, t, id)
		return err
	})
	if err == nil {
		err = late
	}
	return a, err
}

// closeAsk ends an open ask and reports whether it was open. Its messages that
// were not sent yet are dropped.
func closeAsk(ctx context.Context, t *tx, id int64, s chat.AskState) (bool, error) {
	n, err := t.exec(ctx, `UPDATE ask SET state = ?, used_at = ? WHERE id = ? AND state = 'open'`, s, micros(t.now), id)
	if err != nil {
		return false, fmt.Errorf("close ask %d: %w", id, err)
	}
	if n == 0 {
		return false, nil
	}
	_, err = t.exec(ctx, `UPDATE outbox SET state = 'dropped', error = 'the question is closed'
WHERE ask = ? AND ask > 0 AND state = 'pending' AND op = 'post'`, id)
	if err != nil {
		return false, fmt.Errorf("drop the messages of ask %d: %w", id, err)
	}
	return true, nil
}

// Resume is described at turn.Asks.
func (v Asks) Resume(ctx context.Context, turn int64) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE turn SET state = 'running' WHERE id = ?1 AND state = 'waiting'
AND NOT EXISTS (SELECT 1 FROM ask WHERE turn = ?1 AND state = 'open')`, turn)
		return err
	})
}

// AskByID is described at receive.Asks.
func (v Asks) AskByID(ctx context.Context, id int64) (a chat.Ask, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		a, err = askByID(ctx, h, id)
		return err
	})
	return a, err
}

// OpenAsks is described at router.Asks.
func (v Asks) OpenAsks(ctx context.Context, place int64) ([]chat.Ask, error) {
	return v.many(ctx, `WHERE k.place = ? AND k.state = 'open' ORDER BY k.id`, place)
}

// Expiring is described at turn.Recovery.
func (v Runs) Expiring(ctx context.Context, at time.Time) ([]chat.Ask, error) {
	return Asks(v).many(ctx, `WHERE k.state = 'open' AND k.expires_at > 0 AND k.expires_at < ? ORDER BY +k.id`, micros(at))
}

// recentAsks is how many asks are looked at for buttons that were left behind.
const recentAsks = 1000

// Offering is described at turn.Recovery. The edit that takes the buttons off
// is known by its key.
func (v Runs) Offering(ctx context.Context) ([]chat.Ask, error) {
	return Asks(v).many(ctx, `WHERE k.id > (SELECT coalesce(max(id), 0) FROM ask) - ? AND k.state <> 'open'
AND EXISTS (SELECT 1 FROM outbox o WHERE o.ask = k.id AND o.ask > 0 AND o.op = 'post' AND o.state IN ('pending', 'sending', 'sent'))
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.ask = k.id AND o.ask > 0 AND o.idem_key LIKE 'asked/%')
ORDER BY k.id`, recentAsks)
}

func (v Asks) many(ctx context.Context, where string, args ...any) (as []chat.Ask, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		as, err = list(ctx, h, scanAsk, `SELECT `+askCols+` `+where, args...)
		return err
	})
	return as, err
}
