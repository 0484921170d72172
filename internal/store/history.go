package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cligate/internal/chat"
)

const saidCols = `i.id, i.event_key, coalesce(x.turn, 0), i.body, i.crc, i.at
FROM inbound i LEFT JOIN turn_input x ON x.inbound = i.id`

func scanSaid(r row) (chat.Line, error) {
	var l chat.Line
	var b sealed
	if err := r.Scan(&l.Inbound, &l.Key, &l.Turn, &b.body, &b.crc, fromMicros(&l.At)); err != nil {
		return l, err
	}
	var m chat.Message
	if err := b.open("inbound", l.Inbound, &m); err != nil {
		return l, err
	}
	l.From, l.Text, l.Ref = m.Sender, m.Said(), m.Ref
	return l, nil
}

const postedCols = `o.id, o.idem_key, o.turn, o.ask, o.class, o.body, o.crc, coalesce(r.ref, ''), o.at
FROM outbox o LEFT JOIN receipt r ON r.outbox = o.id`

func scanPosted(r row) (chat.Line, error) {
	var l chat.Line
	var b sealed
	err := r.Scan(&l.Outbox, &l.Key, &l.Turn, &l.Ask, &l.Class, &b.body, &b.crc, fromText(&l.Ref), fromMicros(&l.At))
	if err != nil {
		return l, err
	}
	if err := b.open("outbox", l.Outbox, &l.Part); err != nil {
		return l, err
	}
	l.Text = l.Part.Text
	return l, nil
}

// What counts as said: a person's own words that were not taken back and that
// the bot was meant to read; of ours, what was posted or will be.
const (
	wasSaid   = `i.kind = 'text' AND i.state NOT IN ('ignored', 'withdrawn')`
	wasPosted = `(o.op = 'post' OR o.op = 'finish' AND o.class = 'final') AND o.state NOT IN ('dead', 'dropped')`
)

// spot is a place with its conversation.
type spot struct{ place, conversation int64 }

func scanSpot(r row) (spot, error) {
	var s spot
	err := r.Scan(&s.place, &s.conversation)
	return s, err
}

// Lines is described at router.History. Live messages are no lines: their turn
// has a final or an end of its own.
func (v History) Lines(ctx context.Context, conversation int64, before time.Time, limit int) (ls []chat.Line, err error) {
	until := micros(before)
	if until == 0 {
		until = math.MaxInt64
	}
	err = v.read(ctx, func(ctx context.Context, h handle) error {
		all, err := list(ctx, h, v.sound(scanSaid), `SELECT `+saidCols+`
WHERE i.conversation = ? AND i.at < ? AND `+wasSaid+` ORDER BY i.id DESC LIMIT ?`, conversation, until, limit)
		if err != nil {
			return err
		}
		places, err := list(ctx, h, value[int64], `SELECT id FROM place WHERE conversation = ?`, conversation)
		if err != nil {
			return err
		}
		for _, place := range places { // one by one: each is read backwards and left when there are enough
			posted, err := list(ctx, h, v.sound(scanPosted), `SELECT `+postedCols+`
WHERE o.place = ? AND o.at < ? AND o.class <> 'progress' AND `+wasPosted+` ORDER BY o.id DESC LIMIT ?`, place, until, limit)
			if err != nil {
				return err
			}
			all = append(all, posted...)
		}
		ls = newest(all, limit)
		return nil
	})
	return ls, err
}

// byTime orders lines; of two in the same instant the question comes first.
func byTime(a, b chat.Line) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.Inbound, 0)-cmp.Compare(a.Inbound, 0),
		cmp.Compare(a.Inbound, b.Inbound), cmp.Compare(a.Outbox, b.Outbox))
}

// sound leaves damaged rows out of a history, with a word in the log: the
// other lines are good.
func (c *core) sound(scan func(row) (chat.Line, error)) func(row) (chat.Line, error) {
	return func(r row) (chat.Line, error) {
		l, err := scan(r)
		var d *damageError
		if errors.As(err, &d) {
			c.w.log.Error("history line is damaged; left out", "table", d.table, "row", d.id, "err", err)
			return chat.Line{}, nil
		}
		return l, err
	}
}

// ordered sorts lines and removes what sound left empty.
func ordered(ls []chat.Line) []chat.Line {
	ls = slices.DeleteFunc(ls, func(l chat.Line) bool { return l.Inbound == 0 && l.Outbox == 0 })
	slices.SortFunc(ls, byTime)
	return ls
}

// newest keeps the last lines.
func newest(ls []chat.Line, limit int) []chat.Line {
	ls = ordered(ls)
	return ls[max(0, len(ls)-limit):]
}

// TurnOfMessage is described at router.History.
func (v History) TurnOfMessage(ctx context.Context, place int64, msg string) (q chat.Turn, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		q, err = first(ctx, h, scanTurn, `SELECT `+turnCols+` WHERE t.id = coalesce(
	(`+outOfMessage("o.turn")+` AND o.turn > 0 ORDER BY o.id DESC LIMIT 1),
	(SELECT x.turn FROM inbound i JOIN turn_input x ON x.inbound = i.id
	WHERE i.place = ? AND i.msg = ? AND i.kind = 'text' ORDER BY i.id DESC LIMIT 1))`,
			place, msg, place, place, msg)
		return err
	})
	return q, err
}

// LastTurn is described at router.History.
func (v History) LastTurn(ctx context.Context, session int64) (chat.Turn, error) {
	return Turns(v).LastTurn(ctx, session)
}
