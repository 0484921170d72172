package worker

import (
	"testing"
	"time"
)

func TestTheEndOfALimitIsReadFromTheAgentsWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 14, 0, 0, 0, time.UTC)
	for words, want := range map[string]time.Duration{
		"Claude AI usage limit reached|" + "1773153000":         30 * time.Minute,
		"You've hit your limit · resets 3:30pm (Europe/Berlin)": 30 * time.Minute,
		"You've hit your limit · resets 3pm":                    time.Hour,
		"5-hour limit reached ∙ resets at 1 PM":                 23 * time.Hour,
		"429 rate limit reached, try again in 30 minutes":       30 * time.Minute,
		"Please try again in 2 hours 5 minutes.":                2*time.Hour + 5*time.Minute,
		"retry after 20s":                                       20 * time.Second,
		"resets in 3 days":                                      72 * time.Hour,
		"try again in a while":                                  0,
		"resets 25pm":                                           0,
		"resets 3pm (Nowhere/Town)":                             0,
		"reached|1000000000":                                    0, // long ago
		"try again in 900000 hours":                             0,
		"try again in 5 parsecs":                                0,
		"":                                                      0,
	} {
		got := time.Duration(0)
		if at := Resets(words, now); !at.IsZero() {
			got = at.Sub(now)
		}
		if got != want {
			t.Errorf("%q: %v, want %v", words, got, want)
		}
	}
}
