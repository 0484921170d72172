package feishu

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind is a way in which the service fails.
type FaultKind string

// Fault kinds.
const (
	Refuse   FaultKind = "refuse" // refused with Status, Code, Text; Reset in the header
	BadPage  FaultKind = "502"    // an HTML page instead of JSON, with Status or 502
	Lose     FaultKind = "lose"   // carried out, then the connection is cut
	Drop     FaultKind = "drop"   // the connection is cut before anything happens
	Hang     FaultKind = "hang"   // carried out, then no answer until the caller gives up
	Deaf     FaultKind = "deaf"   // nothing happens and no answer comes until the caller gives up
	Slow     FaultKind = "slow"   // carried out after Delay
	CutBody  FaultKind = "cut"    // carried out, half of the answer arrives
	Blackout FaultKind = "black"  // every call is cut; ends with Heal
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
	used   int
	passed int
}

// faults are the failures that are to come.
type faults struct {
	mu   sync.Mutex
	list []*Fault
}

// Fail adds a fault.
func (s *faults) Fail(f Fault) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, &f)
	return &f
}

// Heal removes all faults.
func (s *faults) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// Used reports how often a fault struck.
func (s *faults) Used(f *Fault) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.used
}

// take returns the fault that strikes a call; nil = none.
func (s *faults) take(method, chat string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.list {
		if f.Method != "" && f.Method != method || f.Chat != "" && f.Chat != chat {
			continue
		}
		if f.passed < f.Skip {
			f.passed++
			continue
		}
		f.used++
		if f.Times > 0 && f.used >= f.Times {
			s.list = slices.Delete(s.list, i, i+1)
		}
		return f
	}
	return nil
}

// loses reports whether the call is carried out without the caller knowing.
func (f *Fault) loses() bool { return f.Kind == Lose || f.Kind == Hang || f.Kind == CutBody }

// before acts instead of the call; it reports whether the call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case Refuse:
		answer(w, nil, &refusal{status: f.Status, code: f.Code, msg: f.Text, reset: f.Reset})
	case BadPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(cmp.Or(f.Status, http.StatusBadGateway))
		_, _ = w.Write([]byte("<html><head><title>no JSON here</title></head></html>"))
	case Drop, Blackout:
		cut(w)
	case Deaf:
		<-r.Context().Done()
		cut(w)
	case Slow:
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		}
		return false
	default:
		return false
	}
	return true
}

// after acts instead of the answer; it reports whether the answer is dealt with.
func (f *Fault) after(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case Lose:
		cut(w)
	case Hang:
		<-r.Context().Done()
		cut(w)
	case CutBody:
		w.Header().Set("Content-Length", "500")
		_, _ = w.Write([]byte(`{"code":0,"msg":"suc`))
		cut(w)
	default:
		return false
	}
	return true
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	if c, _, err := h.Hijack(); err == nil {
		_ = c.Close()
	}
}
