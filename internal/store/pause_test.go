package store

import (
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestAToldWaitIsKnownWithoutARow(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	now := time.Now().Truncate(time.Microsecond)
	out := l.Outbox()
	must(t, out.Told(t.Context(), "main/1", now.Add(time.Minute)))
	must(t, out.Told(t.Context(), "main/1", now.Add(time.Second))) // the longer one counts
	must(t, out.Told(t.Context(), "main/2", now.Add(-time.Hour)))
	must(t, out.Told(t.Context(), "main/3", now.Add(time.Hour)))
	got := ok[map[string]time.Time](t)(out.Waits(t.Context()))
	if len(got) != 2 || !got["main/1"].Equal(now.Add(time.Minute)) || !got["main/3"].Equal(now.Add(time.Hour)) {
		t.Errorf("waits %v", got)
	}
}

func TestRowsOfLiveMessagesYieldToWords(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	m := l.say(1)[0]
	row := func(key string, c chat.OutClass) chat.Out {
		return chat.Out{Key: key, Place: m.Place, Turn: 1, Class: c, Op: chat.OpPost, Part: chat.Part{Text: key}}
	}
	must(t, l.Outbox().Enqueue(t.Context(), []chat.Out{row("live/1", chat.OutProgress), row("final/1", chat.OutFinal)}))
	channel := m.Place.Channel()
	if o := ok[chat.Out](t)(l.Outbox().NextOut(t.Context(), channel)); o.Key != "final/1" {
		t.Errorf("next is %s", o.Key)
	}
	rows := map[string]int64{}
	for _, key := range []string{"final/1", "live/1"} {
		o := ok[chat.Out](t)(l.Outbox().NextOut(t.Context(), channel))
		if o.Key != key {
			t.Errorf("next is %s, not %s", o.Key, key)
		}
		rows[key] = o.ID
		_, err := l.Outbox().Sending(t.Context(), o.ID)
		must(t, err)
		if key == "final/1" {
			must(t, l.Outbox().Sent(t.Context(), o.ID, chat.Ref{ID: "9"}))
		}
	}
	// What may have arrived comes first, whatever it is.
	must(t, l.Outbox().Enqueue(t.Context(), []chat.Out{row("final/2", chat.OutFinal)}))
	if o := ok[chat.Out](t)(l.Outbox().NextOut(t.Context(), channel)); o.ID != rows["live/1"] {
		t.Errorf("next is %s", o.Key)
	}
}
