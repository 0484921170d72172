package router_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/router"
)

// meeting is a queue in which a turn is made when another one is, too.
type meeting struct {
	router.Turns
	other chan struct{}
	alone atomic.Int64
}

func (q *meeting) NewTurn(ctx context.Context, n chat.NewTurn) (chat.Turn, error) {
	select {
	case q.other <- struct{}{}:
	case <-q.other:
	case <-time.After(time.Second):
		q.alone.Add(1)
	}
	return q.Turns.NewTurn(ctx, n)
}

func TestConversationsGetTheirTurnsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &meeting{other: make(chan struct{})}
		h := open(t, func(s *setup) {
			s.turns = func(db router.Turns) router.Turns { q.Turns = db; return q }
			s.cfg.Burst = 0
		})
		h.receive(h.message("here"), h.message("there", in(team)))
		h.settleDown()
		got := h.runner.prompts()
		slices.Sort(got)
		if !slices.Equal(got, []string{"[message from Ann (id 1)]\nthere", "here"}) {
			t.Errorf("prompts = %q", got)
		}
		if n := q.alone.Load(); n != 0 {
			t.Errorf("%d turns were made alone", n)
		}
	})
}

// stumble is a queue that does not take a turn at first.
type stumble struct {
	router.Turns
	fails atomic.Int64
}

func (q *stumble) NewTurn(ctx context.Context, n chat.NewTurn) (chat.Turn, error) {
	if q.fails.Add(-1) >= 0 {
		return chat.Turn{}, errors.New("the ledger is busy")
	}
	return q.Turns.NewTurn(ctx, n)
}

func TestAMessageDoesNotOvertakeOneThatCouldNotBeTaken(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"no window": 0, "window": 150 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := &stumble{}
				q.fails.Store(1)
				h := open(t, func(s *setup) {
					s.turns = func(db router.Turns) router.Turns { q.Turns = db; return q }
					s.cfg.Burst = window
				})
				other := chat.Person{ID: "2", Name: "Bob"}
				_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: team.Chat, Person: other.ID, Role: chat.RoleMember})
				must(t, err)
				h.receive(h.message("first", in(team)), h.message("second", in(team), from(other)))
				h.settleDown()
				h.prompts("[message from Ann (id 1)]\nfirst", "[message from Bob (id 2)]\nsecond")
			})
		})
	}
}
