package telegram

import (
	"net/http"
	"time"

	"cligate/internal/sim/standin"
)

// FaultKind is a way in which the service fails.
type FaultKind = standin.FaultKind

// Fault kinds.
const (
	TooMany   FaultKind = "429" // refused, wait After seconds
	Internal  FaultKind = "500" // JSON, "Internal Server Error"
	Refuse    FaultKind = "400" // refused with Text
	Forbidden FaultKind = "403" // refused with Text
	BadPage             = standin.BadPage
	Lose                = standin.Lose
	Drop                = standin.Drop
	Hang                = standin.Hang
	Deaf                = standin.Deaf
	Slow                = standin.Slow
	CutBody             = standin.CutBody
	Blackout            = standin.Blackout
)

// Fault makes the next Times calls of Method (empty = any but getUpdates) fail.
type Fault struct {
	Kind   FaultKind
	Method string
	Chat   int64 // 0 = any
	Times  int   // 0 = until Heal
	After  int   // seconds, for TooMany
	Text   string
	Delay  time.Duration
	Until  chan struct{}
}

// faults are the failures that are to come.
type faults struct{ standin.Faults[Fault] }

// take returns the fault that strikes a call; nil = none.
func (s *faults) take(method string, p params, r *rates) *Fault {
	f := s.Take(func(f *Fault) bool {
		if f.Method != "" && f.Method != method || f.Method == "" && method == "getUpdates" && f.Kind != Blackout {
			return false
		}
		return f.Chat == 0 || f.Chat == p.num("chat_id")
	}, func(f *Fault) int { return f.Times })
	if f != nil && f.Kind == TooMany {
		r.pause(p.num("chat_id"), time.Duration(f.After)*time.Second)
	}
	return f
}

func (f *Fault) code() int {
	switch f.Kind {
	case TooMany:
		return 429
	case BadPage:
		return 502
	case Internal:
		return 500
	case Refuse:
		return 400
	case Forbidden:
		return 403
	default:
		return 0
	}
}

// failure is what becomes of a call whatever it is.
func (f *Fault) failure() standin.Failure {
	return standin.Failure{Kind: f.Kind, Delay: f.Delay, Until: f.Until, Half: `{"ok":tr`}
}

// before acts instead of the call; it reports whether the call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case TooMany:
		answer(w, nil, &refusal{code: 429, text: "Too Many Requests: retry after " + itoa(f.After), after: f.After})
	case Internal:
		answer(w, nil, &refusal{code: 500, text: "Internal Server Error"})
	case Refuse, Forbidden:
		answer(w, nil, &refusal{code: f.code(), text: f.Text})
	default:
		return f.failure().Before(w, r)
	}
	return true
}
