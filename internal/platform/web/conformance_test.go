package web

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/platformtest"
	"cligate/internal/web/api"
)

func TestTheAdapterConforms(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, func(t *testing.T) platformtest.House {
		t.Helper()
		h := open(t)
		h.say(key(1), "the ledger knows the chat from now on")
		h.end() // the suite runs the adapter itself
		return platformtest.House{Adapter: h.a, Place: h.place(room), Store: h.stored, Texts: h.ours, Say: h.insist}
	})
}

// stored queues a row that does not hold up the ones behind it.
func (h *house) stored(o chat.Out) chat.Out {
	h.t.Helper()
	o = h.queue(o)
	if err := h.db.Outbox().Sent(h.t.Context(), o.ID, chat.Ref{ID: o.Key}); err != nil {
		h.t.Error(err)
	}
	return o
}

// ours is what a reader who opens the chat sees of our messages.
func (h *house) ours() []string {
	h.t.Helper()
	var seen []string
	for _, m := range h.lines().Lines {
		if !m.Mine {
			seen = append(seen, m.Text)
		}
	}
	return seen
}

// insist posts a text until it is taken, as the page does.
func (h *house) insist(ctx context.Context, text string) error {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body := h.do("POST", at(room, "messages"), api.Post{Key: "key-of-" + text, Text: text})
		switch status {
		case http.StatusOK:
			return nil
		case http.StatusServiceUnavailable, http.StatusInternalServerError:
		default:
			return fmt.Errorf("status %d: %s", status, body)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
