package uplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	crowd = Trouble("crowd") // the operator's to end; the account can speak
	plain = "en"
)

// told is what the operator hears.
type told []string

func (o *told) tell(detail string, speaks bool) { *o = append(*o, fmt.Sprint(speaks, " ", detail)) }

func state(o *told, log *bytes.Buffer) *State {
	return NewState(Voice{
		Lang: plain,
		Says: func(t Trouble) string { return "it is " + string(t) },
		Tone: func(t Trouble) Tone { return Tone{Aloud: t == crowd || t == Rejected, Speaks: t == crowd} },
		Tell: o.tell,
	}, slog.New(slog.NewTextHandler(log, nil)))
}

func TestTroubleThatLastsIsToldOnceAndItsEndToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o told
		var log bytes.Buffer
		s := state(&o, &log)
		s.Set(t.Context(), None, nil)
		for range 30 { // half an hour of refused connections, of two kinds
			s.Set(t.Context(), Network, errors.New("refused"))
			time.Sleep(30 * time.Second)
			s.Set(t.Context(), Trouble("server"), nil)
			time.Sleep(30 * time.Second)
			if h := s.Health(); h.Connected || !strings.Contains(h.Detail, "since") {
				t.Fatalf("%+v", h)
			}
		}
		if len(o) != 1 || !strings.HasPrefix(o[0], "false") || !strings.Contains(o[0], "5m0s: it is ") {
			t.Errorf("the operator hears %q", o)
		}
		s.Set(t.Context(), None, nil)
		if len(o) != 2 || !strings.HasPrefix(o[1], "true") || !strings.Contains(o[1], "30m0s") {
			t.Errorf("the operator hears %q", o)
		}
		if h := s.Health(); !h.Connected || strings.Contains(h.Detail, "since") || !h.LastOK.Equal(time.Now()) {
			t.Errorf("%+v", h)
		}
	})
}

func TestTroubleThatPassesIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o told
		var log bytes.Buffer
		s := state(&o, &log)
		for range 20 {
			s.Set(t.Context(), Network, errors.New("refused"))
			time.Sleep(tellLate - time.Second)
			s.Set(t.Context(), None, nil)
		}
		if len(o) != 0 {
			t.Errorf("the operator hears %q", o)
		}
	})
}

func TestWhatOnlyTheOperatorCanEndIsToldAtOnceAndNotTwiceAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o told
		var log bytes.Buffer
		s := state(&o, &log)
		for range 12 { // taking turns with another program, for an hour
			s.Set(t.Context(), crowd, QuoteError("50 of 50"))
			s.Set(t.Context(), crowd, nil)
			time.Sleep(4 * time.Minute)
			s.Set(t.Context(), None, nil)
			time.Sleep(time.Minute)
		}
		if !slices.Equal(o, told{"true it is crowd. The service says: 50 of 50"}) {
			t.Errorf("the operator hears %q", o)
		}
		s.Set(t.Context(), crowd, nil)
		if len(o) != 2 {
			t.Errorf("after an hour the operator hears %q", o)
		}
		for range 3 {
			s.Once("scope", "grant it", true)
			time.Sleep(2 * tellAgain)
		}
		if len(o) != 3 || o[2] != "true grant it" {
			t.Errorf("once: %q", o)
		}
	})
}

func TestEachChangeIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var o told
	var log bytes.Buffer
	s := state(&o, &log)
	for _, tr := range []Trouble{None, None, Network, Network, Rejected, None} {
		s.Set(context.Background(), tr, nil)
	}
	if n := strings.Count(log.String(), "\n"); n != 4 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
