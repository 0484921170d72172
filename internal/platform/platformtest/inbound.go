package platformtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// limit bounds every wait; machines that test are slow.
const limit = 20 * time.Second

var errFull = errors.New("the disk is full")

// ledger is an inbox that can refuse.
type ledger struct {
	mu      sync.Mutex
	refuse  int            // so many batches
	refused []chat.Message // what was in them
	stored  []chat.Message
	cursor  string
	asked   map[string]bool // accounts whose cursor was asked for
}

// Receive implements platform.Inbound.
func (l *ledger) Receive(_ context.Context, b platform.Batch) ([]chat.Ack, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := slices.DeleteFunc(slices.Clone(b.Messages), func(m chat.Message) bool {
		return m.Kind == chat.KindMoved || m.Kind == chat.KindRenamed || m.Kind == chat.KindReopened // never stored
	})
	if l.refuse > 0 {
		l.refuse--
		l.refused = append(l.refused, said...)
		return nil, errFull
	}
	l.stored = append(l.stored, said...)
	if b.Cursor != "" {
		l.cursor = b.Cursor
	}
	return make([]chat.Ack, len(b.Messages)), nil
}

// Cursor implements platform.Inbound.
func (l *ledger) Cursor(_ context.Context, account string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[string]bool{}
	}
	l.asked[account] = true
	return l.cursor, nil
}

func (l *ledger) messages() (stored, refused []chat.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(stored, l.stored...), append(refused, l.refused...)
}

// start lets the adapter receive; stop ends that and returns what Run said.
func start(t *testing.T, h House, in platform.Inbound) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Adapter.Run(ctx, in) }() // ends with ctx
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(limit):
			return errors.New("Run goes on after its context")
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

func say(t *testing.T, h House, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := h.Say(ctx, text); err != nil {
		t.Fatalf("say %q: %v", text, err)
	}
}

func receives(t *testing.T, h House) {
	in := &ledger{}
	stop := start(t, h, in)
	for i, text := range []string{"one", "two"} {
		say(t, h, text)
		stored, _ := in.messages()
		if len(stored) != i+1 {
			t.Fatalf("acknowledged with %d messages stored", len(stored))
		}
		m := stored[i]
		if m.Text != text || m.Kind != chat.KindText || m.Key == "" || m.Sender.ID == "" || m.Ref.Zero() {
			t.Errorf("message %+v", m)
		}
		if m.Place.Account != h.Place.Account || m.Place.Channel() != h.Place.Channel() {
			t.Errorf("came from %+v, want %+v", m.Place, h.Place)
		}
	}
	if hl, ok := h.Adapter.(platform.Healther); ok && !hl.Health().Connected {
		t.Errorf("health while it receives: %+v", hl.Health())
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if stored, _ := in.messages(); len(stored) != 2 || stored[0].Key == stored[1].Key {
		t.Errorf("stored %+v", stored)
	}
	for a := range in.asked {
		if a != h.Place.Account {
			t.Errorf("asked for the cursor of %q", a)
		}
	}
}

func waitsForTheDisk(t *testing.T, h House) {
	in := &ledger{refuse: 2}
	start(t, h, in)
	say(t, h, "precious")
	stored, refused := in.messages()
	if len(stored) != 1 || stored[0].Text != "precious" {
		t.Fatalf("acknowledged, and stored %+v", stored)
	}
	if len(refused) != 2 {
		t.Fatalf("%d messages were refused", len(refused))
	}
	for _, m := range refused {
		if m.Key != stored[0].Key {
			t.Errorf("the same message has the keys %q and %q", m.Key, stored[0].Key)
		}
	}
}
