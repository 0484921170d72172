package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

// flip changes one byte of a stored body, as a disk would.
func (l *ledger) flip(table string, id int64) {
	l.t.Helper()
	must(l.t, l.write(l.t.Context(), func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE `+table+` SET body = CAST(replace(body, 'e', 'E') AS BLOB) WHERE id = ?`, id)
		if n != 1 {
			return errors.Join(err, errors.New("no such row"))
		}
		return err
	}))
}

func TestChangedBodyIsReportedWithItsRow(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	_, q, _ := l.running(1)
	a := ok[chat.Ask](t)(l.Asks().Ask(ctx, question(q, "k"), nil))
	o := l.post(chat.Inbound{Message: chat.Message{Place: q.Place}}, "text e")
	m := l.say(2)[0]
	read := map[string]func() error{
		"inbound": func() error {
			return l.read(ctx, func(ctx context.Context, h handle) error {
				_, err := list(ctx, h, scanInbound, `SELECT `+inboundCols+` WHERE i.id = ?`, m.ID)
				return err
			})
		},
		"outbox": func() error { _, err := l.WebChats().OutByID(ctx, o.ID); return err },
		"ask":    func() error { _, err := l.Asks().AskByID(ctx, a.ID); return err },
		"turn": func() error {
			return l.read(ctx, func(ctx context.Context, h handle) error {
				_, err := list(ctx, h, scanTurn, `SELECT `+turnCols+` WHERE t.id = ?`, q.ID)
				return err
			})
		},
	}
	ids := map[string]int64{"inbound": m.ID, "outbox": o.ID, "ask": a.ID, "turn": q.ID}
	for table, fn := range read {
		must(t, fn())
		l.flip(table, ids[table])
		err := fn()
		wantCode(t, err, chat.Internal)
		if !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%v does not name the row", err)
		}
	}
}

func TestDamagedRowDoesNotHoldUpTheRest(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ms := l.say(1, 2, 3)
	l.flip("inbound", ms[0].ID)
	un := ok[[]chat.Inbound](t)(l.Inbox().Unrouted(ctx, 10))
	if len(un) != 2 || un[0].ID != ms[1].ID {
		t.Errorf("unrouted %+v", un)
	}
	if ls := ok[[]chat.Line](t)(l.History().Lines(ctx, ms[0].Conversation, time.Time{}, 10)); len(ls) != 2 {
		t.Errorf("lines %+v", ls)
	}

	bad := l.post(ms[0], "first e")
	must(t, l.Outbox().Enqueue(ctx, []chat.Out{{Key: "good", Place: ms[0].Place}}))
	l.flip("outbox", bad.ID)
	if o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, ms[0].Place.Channel())); o.Key != "good" {
		t.Errorf("next is %+v", o)
	}

	s := l.session(ms[1])
	broken, sound := l.turn(s, ms[1]), l.turn(s, ms[2])
	l.flip("turn", broken.ID)
	if q := ok[chat.Turn](t)(l.Turns().NextTurn(ctx, s.ID)); q.ID != sound.ID {
		t.Errorf("next is %+v", q)
	}
	ok[chat.Attempt](t)(l.Runs().Claim(ctx, sound.ID, chat.AttemptSent))
	l.flip("turn", sound.ID)
	if us := ok[[]chat.Unfinished](t)(l.Runs().Unfinished(ctx)); len(us) != 0 {
		t.Errorf("unfinished %+v", us)
	}
	ds := ok[[]DeadLetter](t)(l.Books().DeadLetters(ctx, 10))
	if len(ds) != 4 {
		t.Errorf("dead letters %+v", ds)
	}
	// A row that has come to its end stays as it is.
	_, err := l.Turns().TurnByID(ctx, broken.ID)
	wantCode(t, err, chat.Internal)
	if ds = ok[[]DeadLetter](t)(l.Books().DeadLetters(ctx, 10)); len(ds) != 4 {
		t.Errorf("dead letters %+v", ds)
	}
}
