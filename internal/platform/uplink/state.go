// Package uplink holds what every adapter with a service at the other end has:
// the state of its connection and who is told of it (State), the listener that
// services post to (Hooks), and the HTTP client with its proxy. It knows no
// service; what is said in words comes from the adapter.
package uplink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// Trouble is why an account does not receive. Services add their own.
type Trouble string

// Troubles that every service has.
const (
	None     Trouble = "" // all is well
	Starting Trouble = "starting"
	Network  Trouble = "network"
	Rejected Trouble = "rejected" // the service does not accept the account
	Storage  Trouble = "storage"  // what arrives cannot be stored
)

// Tone is how the operator is told of a trouble.
type Tone struct {
	// Aloud is trouble that only the operator can end: it is told at once. Other
	// trouble is told when it has lasted for a while.
	Aloud bool
	// Speaks says that the account can still send.
	Speaks bool
}

// Voice is how a state is told to the operator.
type Voice struct {
	Lang string                 // of the operator
	Says func(t Trouble) string // one sentence; also for None
	Tone func(t Trouble) Tone   // for every trouble
	// Tell is called without blocking; speaks says that the account itself can
	// carry the word. nil = nobody is told.
	Tell func(detail string, speaks bool)
}

const (
	// tellAgain is the least time between two words to the operator about the
	// same trouble. A second program that takes turns with us would make it many.
	tellAgain = time.Hour
	// tellLate is how long trouble that ends by itself may last before the
	// operator hears of it.
	tellLate = 5 * time.Minute
	// stamp is how a time is shown to the operator.
	stamp = "2006-01-02 15:04:05 MST"
)

// State knows how an account's connection is. Each change is logged once.
type State struct {
	log   *slog.Logger
	voice Voice
	now   func() time.Time

	mu     sync.Mutex
	state  Trouble
	cause  string    // what the service says about it
	down   time.Time // since when nothing is received; zero = we receive
	late   bool      // the operator was told that it lasts
	lastOK time.Time
	told   map[string]time.Time
}

// NewState makes the state of an account that is not connected yet.
func NewState(v Voice, log *slog.Logger) *State {
	now := time.Now()
	return &State{log: log, voice: v, now: time.Now, state: Starting, down: now, told: map[string]time.Time{}}
}

// QuoteError is an error in words of the service that the operator should read.
type QuoteError string

// Error implements error.
func (q QuoteError) Error() string { return string(q) }

// Set changes the state. err is the cause, logged with the change; a QuoteError in it
// is shown with the state. Trouble that lasts has to be set again now and then:
// that is when it is noticed that it does.
func (s *State) Set(ctx context.Context, t Trouble, err error) {
	s.mu.Lock()
	now := s.now()
	before, down, wasLate := s.state, s.down, s.late
	if t == None || t == Storage { // the service was there
		s.lastOK = now
	}
	var q QuoteError
	_ = errors.As(err, &q)
	s.state, s.cause = t, string(q)
	switch {
	case t == None:
		s.down, s.late = time.Time{}, false
	case s.down.IsZero():
		s.down = now
	}
	detail := s.detail()
	grown := t != None && !s.late && now.Sub(s.down) >= tellLate
	s.late = s.late || grown
	lasted := now.Sub(s.down)
	s.mu.Unlock()

	if t != before {
		s.note(ctx, before, t, now.Sub(down), detail, err)
	}
	tone := s.voice.Tone(t)
	switch {
	case t == None && wasLate:
		s.say(i18n.T(s.voice.Lang, "uplink.again", "time", span(now.Sub(down))), true)
	case t == None:
	case tone.Aloud:
		if t != before {
			s.Tell(string(t), detail, tone.Speaks)
		}
	case grown:
		s.say(i18n.T(s.voice.Lang, "uplink.late", "time", span(lasted), "what", detail), tone.Speaks)
	}
}

// note logs a change.
func (s *State) note(ctx context.Context, before, t Trouble, after time.Duration, detail string, err error) {
	switch {
	case t == None && before == Starting:
		s.log.InfoContext(ctx, "receiving")
	case t == None:
		s.log.InfoContext(ctx, "receiving again", "after", after.Round(time.Second), "trouble", string(before))
	default:
		s.log.WarnContext(ctx, "not receiving", "trouble", string(t), "detail", detail, "err", err)
	}
}

func span(d time.Duration) string { return d.Round(time.Second).String() }

// Tell says something to the operator, unless the same was said lately. key
// names what it is about.
func (s *State) Tell(key, detail string, speaks bool) {
	s.mu.Lock()
	now := s.now()
	last, ok := s.told[key]
	again := ok && now.Sub(last) < tellAgain
	if !again {
		s.told[key] = now
	}
	s.mu.Unlock()
	if !again {
		s.say(detail, speaks)
	}
}

// Once says something to the operator once in the life of the daemon.
func (s *State) Once(key, detail string, speaks bool) {
	s.mu.Lock()
	_, ok := s.told[key]
	s.told[key] = s.now()
	s.mu.Unlock()
	if !ok {
		s.say(detail, speaks)
	}
}

func (s *State) say(detail string, speaks bool) {
	if s.voice.Tell != nil {
		s.voice.Tell(detail, speaks)
	}
}

// Alive notes a sign of life.
func (s *State) Alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastOK = s.now()
}

// Trouble is the trouble there is now.
func (s *State) Trouble() Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Health is the state in words, with the time since when there is trouble.
func (s *State) Health() platform.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := platform.Health{Connected: s.state == None, Detail: s.detail(), LastOK: s.lastOK}
	if !h.Connected {
		h.Detail = i18n.T(s.voice.Lang, "uplink.since", "what", h.Detail, "at", s.down.Format(stamp))
	}
	return h
}

// detail is the state in words. The lock is held.
func (s *State) detail() string {
	text := s.voice.Says(s.state)
	if s.cause != "" {
		text = i18n.T(s.voice.Lang, "uplink.because", "trouble", text, "text", s.cause)
	}
	return text
}
