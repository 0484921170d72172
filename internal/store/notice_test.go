package store

import (
	"testing"

	"cligate/internal/chat"
)

// tell stores a message that says that q waits; over is what it says later.
func (l *ledger) tell(q chat.Turn, key, over string) {
	l.t.Helper()
	w := &chat.Waiting{Turn: q.ID}
	if over != "" {
		w.Over = &chat.Part{Text: over}
	}
	must(l.t, l.Outbox().Enqueue(l.t.Context(), []chat.Out{{Key: key, Place: q.Place, Class: chat.OutNotice, Part: chat.Part{
		Text: "waits", Buttons: [][]chat.Button{{{Label: "Remove", Data: "rm:1"}}}, Waits: w,
	}}}))
}

// sends takes the next row to the service, which gives it the id.
func (l *ledger) sends(q chat.Turn, id string) chat.Out {
	l.t.Helper()
	o := l.begins(q)
	must(l.t, l.Outbox().Sent(l.t.Context(), o.ID, chat.Ref{ID: id}))
	return o
}

// begins is sends up to the moment before the service answers.
func (l *ledger) begins(q chat.Turn) chat.Out {
	l.t.Helper()
	o := ok[chat.Out](l.t)(l.Outbox().NextOut(l.t.Context(), q.Place.Channel()))
	ok[*chat.Unsure](l.t)(l.Outbox().Sending(l.t.Context(), o.ID))
	return o
}

// wantNothing checks that no row waits to be sent.
func (l *ledger) wantNothing(q chat.Turn) {
	l.t.Helper()
	_, err := l.Outbox().NextOut(l.t.Context(), q.Place.Channel())
	wantCode(l.t, err, chat.Missing)
}

func TestMessageAboutWaitingOffersNothingOnceItsTurnHasBegun(t *testing.T) {
	t.Parallel()
	leave := map[string]func(l *ledger, q, run chat.Turn){
		"begun": func(l *ledger, q, run chat.Turn) {
			must(t, l.Runs().Finish(t.Context(), chat.Ending{Turn: run.ID, State: chat.TurnSucceeded}))
			if a := ok[chat.Attempt](t)(l.Runs().Claim(t.Context(), q.ID, chat.AttemptClaimed)); !a.Notices {
				t.Error("nobody is told that there is something to send")
			}
		},
		"withdrawn": func(l *ledger, q, _ chat.Turn) { must(t, l.Turns().Withdraw(t.Context(), q.ID, nil)) },
		"taken":     func(l *ledger, q, run chat.Turn) { must(t, l.Turns().Join(t.Context(), q.ID, run.ID, nil)) },
		"recalled": func(l *ledger, q, _ chat.Turn) {
			ok[int64](t)(l.Inbox().Recall(t.Context(), q.Place.ID, q.ReplyTo.ID))
		},
	}
	for name, leaves := range leave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openTest(t)
			s, run, _ := l.running(1)
			q := l.turn(s, l.say(2)...)
			l.tell(q, "shown", "over")
			l.sends(q, "m1")
			l.tell(q, "kept", "")
			l.sends(q, "m2")
			l.tell(q, "late", "over")
			late := l.begins(q)
			l.tell(q, "unsent", "over")
			leaves(l, q, run)
			l.tell(q, "afterwards", "over")
			must(t, l.Outbox().Sent(t.Context(), late.ID, chat.Ref{ID: "m3"}))
			got := map[string]chat.Part{}
			for range 3 {
				o := l.sends(q, "")
				if o.Op != chat.OpEdit {
					t.Errorf("row %+v", o)
				}
				got[o.Target.ID] = o.Part
			}
			l.wantNothing(q)
			for id, text := range map[string]string{"m1": "over", "m2": "waits", "m3": "over"} {
				if p := got[id]; p.Text != text || len(p.Buttons) != 0 {
					t.Errorf("%s reads %+v", id, p)
				}
			}
		})
	}
}

func TestMessageAboutWaitingStaysWhileItsTurnWaits(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	s, run, _ := l.running(1)
	q, other := l.turn(s, l.say(2)...), l.turn(s, l.say(3)...)
	l.tell(q, "shown", "over")
	if o := l.sends(q, "m1"); len(o.Part.Buttons) == 0 {
		t.Errorf("row %+v", o)
	}
	must(t, l.Turns().Withdraw(t.Context(), other.ID, nil))
	ok[int](t)(l.Turns().Hold(t.Context(), s.ID))
	must(t, l.Runs().Finish(t.Context(), chat.Ending{Turn: run.ID, State: chat.TurnSucceeded}))
	l.wantNothing(q)
}
