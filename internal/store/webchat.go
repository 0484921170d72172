package store

import (
	"context"
	"math"

	"cligate/internal/chat"
)

// WebChats is described at web.History.
func (v WebChats) WebChats(ctx context.Context, account string, limit int) (ps []chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ps, err = list(ctx, h, scanPlace, `SELECT `+placeCols+` FROM place p WHERE p.account = ?
ORDER BY coalesce((SELECT max(i.id) FROM inbound i WHERE i.conversation = p.conversation), 0) DESC, p.id DESC LIMIT ?`, account, limit)
		return err
	})
	return ps, err
}

const ofChat = `IN (SELECT id FROM place WHERE account = ? AND chat = ?)`

// Tail is described at web.History.
func (v WebChats) Tail(ctx context.Context, account, chatID string, before chat.Mark, limit int) (ls []chat.Line, err error) {
	if before.Inbound == 0 {
		before.Inbound = math.MaxInt64
	}
	if before.Outbox == 0 {
		before.Outbox = math.MaxInt64
	}
	err = v.read(ctx, func(ctx context.Context, h handle) error {
		all, err := v.lines(ctx, h, `< ? AND `, `DESC`, account, chatID, before, limit)
		ls = newest(all, limit)
		return err
	})
	return ls, err
}

// Since is described at web.History.
func (v WebChats) Since(ctx context.Context, account, chatID string, after chat.Mark, limit int) (ls []chat.Line, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) error {
		all, err := v.lines(ctx, h, `> ? AND `, `ASC`, account, chatID, after, limit)
		all = ordered(all)
		ls = all[:min(limit, len(all))]
		return err
	})
	return ls, err
}

// lines reads both tables on one side of the mark, place by place: each is
// read in its order and left when there are enough.
func (v WebChats) lines(ctx context.Context, h handle, side, order, account, chatID string, m chat.Mark, limit int) ([]chat.Line, error) {
	places, err := list(ctx, h, scanSpot, `SELECT id, conversation FROM place WHERE account = ? AND chat = ?`, account, chatID)
	if err != nil {
		return nil, err
	}
	var all []chat.Line
	for _, p := range places {
		said, err := list(ctx, h, v.sound(scanSaid), `SELECT `+saidCols+` WHERE i.conversation = ? AND +i.place = ? AND i.id `+side+wasSaid+`
ORDER BY i.id `+order+` LIMIT ?`, p.conversation, p.place, m.Inbound, limit)
		if err != nil {
			return nil, err
		}
		posted, err := list(ctx, h, v.sound(scanPosted), `SELECT `+postedCols+` WHERE o.place = ? AND o.id `+side+wasPosted+`
ORDER BY o.id `+order+` LIMIT ?`, p.place, m.Outbox, limit)
		if err != nil {
			return nil, err
		}
		all = append(append(all, said...), posted...)
	}
	return all, nil
}

// FateOf is described at web.History.
func (v WebChats) FateOf(ctx context.Context, account, chatID, msg string) (f chat.Fate, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		f, err = first(ctx, h, scanFate, `SELECT i.id, i.state, i.reason, coalesce(t.id, 0), coalesce(t.state, '')
FROM inbound i LEFT JOIN turn t ON t.id = coalesce(
	(SELECT x.turn FROM turn_input x WHERE x.inbound = i.id), (SELECT c.id FROM turn c WHERE c.cause = i.id AND c.cause > 0))
WHERE i.place `+ofChat+` AND i.msg = ? AND i.kind = 'text' ORDER BY i.id DESC LIMIT 1`, account, chatID, msg)
		return err
	})
	return f, err
}

func scanFate(r row) (chat.Fate, error) {
	var f chat.Fate
	err := r.Scan(&f.Inbound, &f.State, &f.Reason, &f.Turn, &f.As)
	switch f.State {
	case chat.InboundNew, chat.InboundAsked:
	case chat.InboundTurn, chat.InboundDone:
		f.Ended = f.Turn == 0 || f.As.Final()
	case chat.InboundRefused, chat.InboundExpired, chat.InboundWithdrawn, chat.InboundIgnored:
		f.Ended = true
	}
	return f, err
}

// OutByID is described at web.History.
func (v WebChats) OutByID(ctx context.Context, id int64) (o chat.Out, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		o, err = first(ctx, h, scanOut, `SELECT `+outCols+` WHERE o.id = ?`, id)
		return err
	})
	return o, err
}

// AskByID is described at web.History.
func (v WebChats) AskByID(ctx context.Context, id int64) (chat.Ask, error) {
	return Asks(v).AskByID(ctx, id)
}
