package store

import (
	"fmt"
	"testing"
	"time"

	"cligate/internal/chat"
)

// ledger is an open ledger with a clock that moves one second per look.
type ledger struct {
	*DB
	t   *testing.T
	cfg Config
}

func openTest(t *testing.T) *ledger {
	t.Helper()
	return openIn(t, Config{Dir: t.TempDir(), Ballast: -1})
}

func openIn(t *testing.T, cfg Config) *ledger {
	t.Helper()
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ledger{DB: db, t: t, cfg: cfg}
}

// ok ends the test on an error and returns v otherwise.
func ok[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code chat.Code) {
	t.Helper()
	if got := chat.CodeOf(err); got != code {
		t.Fatalf("got code %q (%v), want %q", got, err, code)
	}
}

var ann = chat.Person{ID: "ann", Name: "Ann", Lang: "en"}

func message(n int) chat.Inbound {
	return chat.Inbound{
		Message: chat.Message{
			Key: fmt.Sprintf("event-%d", n), Kind: chat.KindText,
			Place:  chat.Place{Platform: "telegram", Account: "bot", Chat: "c1", Direct: true, Space: "private"},
			Sender: ann, Ref: chat.Ref{ID: fmt.Sprint(n), Num: int64(n)}, Text: fmt.Sprintf("text %d", n),
			Addressed: true, SentAt: time.Unix(int64(n), 0).UTC(), Raw: []byte{0, 1, 2, byte(n)},
		},
		Role: chat.RoleOwner,
	}
}

// say records messages and returns them as they are stored.
func (l *ledger) say(ns ...int) []chat.Inbound {
	l.t.Helper()
	ms := make([]chat.Inbound, len(ns))
	for i, n := range ns {
		ms[i] = message(n)
	}
	ok[[]chat.Recorded](l.t)(l.Inbox().Record(l.t.Context(), "bot", "", ms))
	return ms
}

// session starts a session in the conversation of m.
func (l *ledger) session(m chat.Inbound) chat.Session {
	l.t.Helper()
	return ok[chat.Session](l.t)(l.Sessions().StartSession(l.t.Context(),
		chat.NewSession{Conversation: m.Conversation, Agent: "demo", Workspace: "/w"}))
}

// turn queues a turn whose input is m.
func (l *ledger) turn(s chat.Session, ms ...chat.Inbound) chat.Turn {
	l.t.Helper()
	n := chat.NewTurn{Conversation: s.Conversation, Session: s.ID, Place: ms[0].Place, By: ann, ReplyTo: ms[0].Ref}
	for _, m := range ms {
		n.Inbound = append(n.Inbound, m.ID)
		n.Input.Pieces = append(n.Input.Pieces, chat.Piece{Inbound: m.ID, Text: m.Text})
	}
	return ok[chat.Turn](l.t)(l.Turns().NewTurn(l.t.Context(), n))
}

// running queues and claims a turn.
func (l *ledger) running(n int) (chat.Session, chat.Turn, chat.Attempt) {
	l.t.Helper()
	m := l.say(n)[0]
	s := l.session(m)
	q := l.turn(s, m)
	a := ok[chat.Attempt](l.t)(l.Runs().Claim(l.t.Context(), q.ID, chat.AttemptClaimed))
	return s, q, a
}

func TestMessageBecomesTurnBecomesAnswer(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, a := l.running(1)
	must(t, l.Runs().Advance(ctx, a.ID, chat.AttemptSent, "runner"))
	out := chat.Out{Key: "final/1/1", Place: q.Place, Turn: q.ID, Class: chat.OutFinal, Part: chat.Part{Text: "done"}}
	must(t, l.Runs().Finish(ctx, chat.Ending{
		Turn: q.ID, Attempt: a.ID, State: chat.TurnSucceeded, NativeID: "native",
		Usage: chat.Usage{In: 3}, Outs: []chat.Out{out},
	}))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); got.NativeID != "native" {
		t.Errorf("native id %q", got.NativeID)
	}
	o := ok[chat.Out](t)(l.Outbox().NextOut(ctx, q.Place.Channel()))
	if o.Part.Text != "done" || o.Turn != q.ID || o.Seq != 1 || o.Place != q.Place {
		t.Errorf("out %+v", o)
	}
	u, err := l.Outbox().Sending(ctx, o.ID)
	if err != nil || u != nil {
		t.Fatalf("unsure %v, %v", u, err)
	}
	must(t, l.Outbox().Sent(ctx, o.ID, chat.Ref{ID: "2", Num: 2}))
	_, err = l.Outbox().NextOut(ctx, q.Place.Channel())
	wantCode(t, err, chat.Missing)
	lines := ok[[]chat.Line](t)(l.History().Lines(ctx, q.Conversation, time.Time{}, 10))
	if len(lines) != 2 || lines[0].Text != "text 1" || lines[1].Text != "done" || lines[1].Ref.ID != "2" {
		t.Errorf("lines %+v", lines)
	}
	if got := ok[chat.Turn](t)(l.Turns().TurnByID(ctx, q.ID)); got.Usage.In != 3 || got.State != chat.TurnSucceeded {
		t.Errorf("turn %+v", got)
	}
}
