package feishu

import (
	"net/http"
	"time"

	"cligate/internal/sim/standin"
)

// FaultKind is a way in which the service fails.
type FaultKind = standin.FaultKind

// Fault kinds.
const (
	Refuse   FaultKind = "refuse" // refused with Status, Code, Text; Reset in the header
	BadPage            = standin.BadPage
	Lose               = standin.Lose
	Drop               = standin.Drop
	Hang               = standin.Hang
	Deaf               = standin.Deaf
	Slow               = standin.Slow
	CutBody            = standin.CutBody
	Blackout           = standin.Blackout
)

// Fault makes the next Times calls of Method (empty = any) fail.
type Fault struct {
	Kind   FaultKind
	Method string
	Chat   string // empty = any
	Times  int    // 0 = until Heal
	Skip   int    // so many calls pass before
	Status int    // for Refuse; 0 = 400
	Code   int
	Text   string
	Reset  int // seconds
	Delay  time.Duration
	passed int
}

// faults are the failures that are to come.
type faults struct{ standin.Faults[Fault] }

// take returns the fault that strikes a call; nil = none.
func (s *faults) take(method, chat string) *Fault {
	return s.Take(func(f *Fault) bool {
		switch {
		case f.Method != "" && f.Method != method, f.Chat != "" && f.Chat != chat:
			return false
		case f.passed < f.Skip:
			f.passed++
			return false
		}
		return true
	}, func(f *Fault) int { return f.Times })
}

// failure is what becomes of a call whatever it is.
func (f *Fault) failure() standin.Failure {
	return standin.Failure{Kind: f.Kind, Status: f.Status, Delay: f.Delay, Half: `{"code":0,"msg":"suc`}
}

// before acts instead of the call; it reports whether the call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	if f.Kind == Refuse {
		answer(w, nil, &refusal{status: f.Status, code: f.Code, msg: f.Text, reset: f.Reset})
		return true
	}
	return f.failure().Before(w, r)
}
