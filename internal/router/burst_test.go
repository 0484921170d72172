package router

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cligate/internal/chat"
)

func at(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }

func msg(id int64, person string, sent time.Time) chat.Inbound {
	return chat.Inbound{ID: id, Message: chat.Message{
		Kind: chat.KindText, Place: chat.Place{ID: 1}, Sender: chat.Person{ID: person}, SentAt: sent,
		Ref: chat.Ref{ID: fmt.Sprint("m", id)}, Text: fmt.Sprint(id),
	}}
}

func ids(bs []*burst) (out [][]int64) {
	for _, b := range bs {
		var row []int64
		for _, in := range sorted(b.rows) {
			row = append(row, in.ID)
		}
		out = append(out, row)
	}
	return out
}

func TestMessageBeforeAnUnrelatedOneDoesNotWait(t *testing.T) {
	t.Parallel()
	b := bursts{window: 150 * time.Millisecond, album: time.Second}
	if ready := b.add(msg(1, "a", at(0)), thread{}, at(60_000)); len(ready) != 0 {
		t.Fatal("did not wait")
	}
	ready := b.add(msg(2, "a", at(5000)), thread{}, at(60_001)) // sent much later, read together
	if got := ids(ready); len(got) != 1 || !slices.Equal(got[0], []int64{1}) {
		t.Errorf("ready = %v", got)
	}
	if !b.holds(2) || b.holds(1) {
		t.Error("holds the wrong message")
	}
}

func TestServicesThatOnlyKnowSecondsDoNotSplitWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	b := bursts{window: 150 * time.Millisecond}
	b.add(msg(1, "a", at(999).Truncate(time.Second)), thread{}, at(1000))
	if ready := b.add(msg(2, "a", at(1001).Truncate(time.Second)), thread{}, at(1010)); len(ready) != 0 {
		t.Errorf("split: %v", ids(ready))
	}
}

func TestStreamOfCompanionsEnds(t *testing.T) {
	t.Parallel()
	b := bursts{window: time.Second}
	var got [][]int64
	for i := range 200 {
		now := at(100 * i)
		got = append(got, ids(b.due(now))...)
		got = append(got, ids(b.add(msg(int64(i), "a", now), thread{}, now))...)
		if next := b.next(); !next.IsZero() && next.Sub(now) > burstMost {
			t.Fatalf("waits until %v", next)
		}
	}
	if len(got) < 3 {
		t.Errorf("%d turns in 20 s of uninterrupted messages", len(got))
	}
}

func TestBurstsKeepTheOrderOfSending(t *testing.T) {
	t.Parallel()
	b := bursts{album: time.Second}
	for i, ms := range []int{0, 20, -10, 20} {
		in := msg(int64(i), "a", at(ms))
		in.Group = "g"
		b.add(in, thread{}, at(100))
	}
	if got := ids(b.due(at(10_000))); !slices.Equal(got[0], []int64{2, 0, 1, 3}) {
		t.Errorf("order = %v", got)
	}
}

func TestPeopleDoNotMix(t *testing.T) {
	t.Parallel()
	b := bursts{window: time.Second}
	b.add(msg(1, "a", at(0)), thread{}, at(0))
	b.add(msg(2, "b", at(0)), thread{}, at(1))
	b.add(msg(3, "a", at(2)), thread{}, at(2))
	if got := ids(b.due(at(5000))); fmt.Sprint(got) != "[[1 3] [2]]" {
		t.Errorf("bursts = %v", got)
	}
}
