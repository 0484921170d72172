package fake

import (
	"slices"
	"time"

	"cligate/internal/platform"
)

// Calls returns every call so far, the refused ones included, without those
// that hung.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Signals returns every sign of life so far.
func (s *Service) Signals() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.signals)
}

// Messages returns what a reader of a chat sees now; "" = all chats.
func (s *Service) Messages(chatID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages {
		if !m.Removed && (chatID == "" || m.Chat == chatID) {
			out = append(out, *m)
		}
	}
	return out
}

// Texts returns the texts of Messages.
func (s *Service) Texts(chatID string) []string {
	var out []string
	for _, m := range s.Messages(chatID) {
		out = append(out, m.Part.Text)
	}
	return out
}

// tokens is a budget, counted in another way than its user counts.
type tokens struct {
	left float64
	at   time.Time
}

func (t *tokens) take(r platform.Rate, now time.Time) bool {
	if r.Every <= 0 {
		return true
	}
	t.left = min(float64(max(r.Burst, 1)), t.left+float64(now.Sub(t.at))/float64(r.Every))
	t.at = now
	t.left--
	return t.left > -0.001
}
