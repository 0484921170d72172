package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const turnCols = `t.id, t.conversation, t.session, t.origin, t.state, t.reason, t.body, t.crc, t.sender, t.reply_to,
t.names, t.after, t.held IN (1, 2, 4), t.choice, t.usage, t.created_at, t.started_at, t.ended_at, ` + placeCols + `
FROM turn t JOIN place p ON p.id = t.place`

func scanTurn(r row) (chat.Turn, error) {
	var t chat.Turn
	var b sealed
	dest := append([]any{
		&t.ID, &t.Conversation, &t.Session, &t.Origin, &t.State, &t.Reason, &b.body, &b.crc,
		fromText(&t.By), fromText(&t.ReplyTo), &t.Names, &t.After, &t.Held, &t.Choice, fromText(&t.Usage),
		fromMicros(&t.CreatedAt), fromMicros(&t.StartedAt), fromMicros(&t.EndedAt),
	}, placeDest(&t.Place)...)
	if err := r.Scan(dest...); err != nil {
		return t, err
	}
	return t, b.open("turn", t.ID, &t.Input)
}

// mayStart holds for queued turns that nothing but the running turn keeps from
// starting. One that waits for a turn of another session is not overtaken by
// those behind it.
const (
	mayStart = `t.state = 'queued' AND t.held IN (0, 3) AND NOT EXISTS (` + blocks + `b.id = t.after)
AND (t.held = 3 OR NOT EXISTS (
	SELECT 1 FROM turn e WHERE e.session = t.session AND e.state = 'queued' AND e.held = 0 AND e.after > 0 AND e.id < t.id AND EXISTS (` + blocks + `b.id = e.after)))`
	blocks = `SELECT 1 FROM turn b WHERE b.state IN ('queued', 'running', 'waiting') AND b.held IN (0, 3) AND `
)

// inLine is the order of what waits in a session.
const inLine = ` ORDER BY t.held >= 3 DESC, t.id`

// NewTurn is described at router.Turns.
func (v Turns) NewTurn(ctx context.Context, n chat.NewTurn) (q chat.Turn, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		id, err := newTurn(ctx, t, n, chat.TurnQueued)
		if err != nil {
			return fmt.Errorf("new turn: %w", err)
		}
		q, err = turnByID(ctx, t, id)
		return err
	})
	return q, err
}

func newTurn(ctx context.Context, t *tx, n chat.NewTurn, s chat.TurnState) (int64, error) {
	body, crc, err := seal(n.Input)
	if err != nil {
		return 0, err
	}
	by, err := asText(n.By)
	if err != nil {
		return 0, err
	}
	reply, err := asText(n.ReplyTo)
	if err != nil {
		return 0, err
	}
	origin := n.Origin
	if origin == "" {
		origin = chat.OriginUser
	}
	started := int64(0)
	if s == chat.TurnRunning {
		started = micros(t.now)
	}
	id, err := t.insert(ctx, `INSERT INTO turn
(conversation, session, place, origin, state, body, crc, sender, reply_to, names, after, held, cause, created_at, started_at)
VALUES (?, ?, `+heir+`?), ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN ? THEN 3 ELSE 0 END, ?, ?, ?)`,
		n.Conversation, n.Session, n.Place.ID, origin, s, body, crc, by, reply, n.Names, n.After, n.Instead, n.Cause, micros(t.now), started)
	if isTaken(err) {
		return 0, conflict("cause or session of a turn", max(n.Cause, n.Session))
	} else if err != nil {
		return 0, err
	}
	return id, bindInputs(ctx, t, id, n.Inbound)
}

// bindInputs makes messages the inputs of a turn, all of them or none.
func bindInputs(ctx context.Context, t *tx, turn int64, inbound []int64) error {
	for _, in := range inbound {
		ok, err := settleOne(ctx, t, in, chat.InboundTurn, chat.CodeNone)
		if err != nil {
			return err
		}
		if !ok {
			return conflict("message", in)
		}
		if _, err := t.exec(ctx, `INSERT INTO turn_input (inbound, turn) VALUES (?, ?)`, in, turn); isTaken(err) {
			return conflict("message", in)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func turnByID(ctx context.Context, t *tx, id int64) (chat.Turn, error) {
	return first(ctx, t, scanTurn, `SELECT `+turnCols+` WHERE t.id = ?`, id)
}

// NextTurn is described at router.Turns.
func (v Turns) NextTurn(ctx context.Context, session int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.session = ? AND `+mayStart+inLine+` LIMIT 1`, session)
}

// Active is described at router.Turns.
func (v Turns) Active(ctx context.Context, session int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.session = ? AND t.state IN ('running', 'waiting')`, session)
}

// LastTurn is described at router.History.
func (v Turns) LastTurn(ctx context.Context, session int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.session = ? ORDER BY t.id DESC LIMIT 1`, session)
}

// LastRun is described at command.Turns.
func (v Turns) LastRun(ctx context.Context, session int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.session = ? AND t.state NOT IN ('withdrawn', 'expired') ORDER BY t.id DESC LIMIT 1`, session)
}

// CutOff is described at command.Turns.
func (v Turns) CutOff(ctx context.Context, session int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.session = ? AND t.choice = ''
AND (t.state = 'interrupted' OR t.state IN ('failed', 'stopped') AND t.reason IN (?, ?, ?)) ORDER BY t.id DESC LIMIT 1`,
		session, chat.Crashed, chat.TimedOut, chat.Stalled)
}

// TurnByID is described at router.Turns.
func (v Turns) TurnByID(ctx context.Context, id int64) (chat.Turn, error) {
	return v.one(ctx, `WHERE t.id = ?`, id)
}

func (v Turns) one(ctx context.Context, where string, args ...any) (q chat.Turn, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		q, err = first(ctx, h, scanTurn, `SELECT `+turnCols+` `+where, args...)
		return err
	})
	return q, err
}

// Queued is described at router.Turns.
func (v Turns) Queued(ctx context.Context, session int64) (qs []chat.Turn, err error) {
	err = v.readOpen(ctx, func(ctx context.Context, h handle) (err error) {
		qs, err = list(ctx, h, scanTurn, `SELECT `+turnCols+` WHERE t.session = ? AND t.state = 'queued'`+inLine, session)
		return err
	})
	return qs, err
}

// WaitingSessions is described at router.Turns.
func (v Turns) WaitingSessions(ctx context.Context) (ids []int64, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ids, err = list(ctx, h, value[int64], `SELECT t.session FROM turn t WHERE `+mayStart+` GROUP BY t.session ORDER BY min(t.id)`)
		return err
	})
	return ids, err
}
