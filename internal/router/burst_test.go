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

func TestPicturesThatDoNotTellOfEachOtherAreWaitedFor(t *testing.T) {
	t.Parallel()
	b := bursts{window: 150 * time.Millisecond, album: 1500 * time.Millisecond}
	for i, ms := range []int{0, 900, 2000} {
		in := msg(int64(i), "a", at(ms))
		in.Strewn = true
		if ready := append(b.due(at(ms)), b.add(in, thread{}, at(ms))...); len(ready) != 0 {
			t.Fatalf("ready after %d: %v", i, ids(ready))
		}
	}
	b.add(msg(3, "a", at(2200)), thread{}, at(2200)) // the words to them, which overtake a picture
	if got := ids(b.due(at(2350))); len(got) != 0 {
		t.Errorf("the words end the wait: %v", got)
	}
	if got := ids(b.due(at(3500))); fmt.Sprint(got) != "[[0 1 2 3]]" {
		t.Errorf("bursts = %v", got)
	}
	late := msg(4, "a", at(0))
	late.Strewn = true
	b.add(late, thread{}, at(9000))
	next := msg(5, "a", at(60_000)) // both lay around while the daemon was down
	next.Strewn = true
	if ready := b.add(next, thread{}, at(9001)); len(ready) != 1 {
		t.Error("pictures of different times are one message")
	}
}

func TestWhatTheServiceBringsOutOfOrderIsPutInOrder(t *testing.T) {
	t.Parallel()
	b := bursts{window: 150 * time.Millisecond}
	other := msg(9, "c", at(0))
	other.Conversation = 7
	b.add(msg(2, "b", at(20)), thread{}, at(100))
	b.add(msg(1, "a", at(0)), thread{}, at(150)) // sent before, arrived behind it
	b.add(other, thread{}, at(150))
	b.add(msg(3, "d", at(40)), thread{}, at(160))
	if got := ids(b.due(at(260))); fmt.Sprint(got) != "[[1] [2]]" {
		t.Errorf("bursts = %v", got)
	}
	if got := ids(b.due(at(320))); fmt.Sprint(got) != "[[9] [3]]" {
		t.Errorf("then %v", got)
	}
}
