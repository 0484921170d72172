package router_test

import (
	"context"
	"errors"
	"sync/atomic"

	"cligate/internal/chat"
	"cligate/internal/router"
)

// trap is an inbox with faults.
type trap struct {
	router.Inbox
	poison string       // revising to this text panics
	fails  atomic.Int64 // so many Settles fail, as if the daemon had died before them
}

func (i *trap) Revise(ctx context.Context, place int64, msg string, now chat.Message) (int64, error) {
	if i.poison != "" && now.Text == i.poison {
		panic("poison")
	}
	return i.Inbox.Revise(ctx, place, msg, now)
}

func (i *trap) Settle(ctx context.Context, ids []int64, s chat.InboundState, why chat.Code, outs []chat.Out) error {
	if i.fails.Add(-1) >= 0 {
		return errors.New("died before the end of the message was stored")
	}
	return i.Inbox.Settle(ctx, ids, s, why, outs)
}

// lag is a queue that knows some turns only as they were a moment ago.
type lag struct {
	router.Turns
	old map[int64]chat.Turn
}

func (q *lag) TurnByID(ctx context.Context, id int64) (chat.Turn, error) {
	if t, ok := q.old[id]; ok {
		return t, nil
	}
	return q.Turns.TurnByID(ctx, id)
}
