package standin

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind is a way in which a service fails.
type FaultKind string

// The ways in which any service fails, whatever it is asked.
const (
	BadPage  FaultKind = "502"   // an HTML page instead of JSON
	Lose     FaultKind = "lose"  // carried out, then the connection is cut
	Drop     FaultKind = "drop"  // the connection is cut before anything happens
	Hang     FaultKind = "hang"  // carried out, then no answer until the caller gives up
	Deaf     FaultKind = "deaf"  // nothing happens and no answer comes until the caller gives up
	Slow     FaultKind = "slow"  // carried out after a delay
	CutBody  FaultKind = "cut"   // carried out, half of the answer arrives
	Blackout FaultKind = "black" // every call is cut; ends with Heal
)

// Loses reports whether a call is carried out without its caller knowing.
func (k FaultKind) Loses() bool { return k == Lose || k == Hang || k == CutBody }

// Failure is one such failure of one call.
type Failure struct {
	Kind   FaultKind
	Status int             // of a BadPage; 0 = 502
	Delay  time.Duration   // for Slow
	Until  <-chan struct{} // also ends Hang and Deaf; nil = the caller gives up
	Half   string          // the half of an answer, for CutBody
}

// Before acts instead of the call; it reports whether the call is over.
func (f Failure) Before(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case BadPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(cmp.Or(f.Status, http.StatusBadGateway))
		_, _ = w.Write([]byte("<html><head><title>no JSON here</title></head></html>"))
	case Drop, Blackout:
		cut(w)
	case Deaf:
		f.wait(r)
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

// After acts instead of the answer; it reports whether the answer is dealt with.
func (f Failure) After(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case Lose:
		cut(w)
	case Hang:
		f.wait(r)
		cut(w)
	case CutBody:
		w.Header().Set("Content-Length", "500")
		_, _ = w.Write([]byte(f.Half))
		cut(w)
	default:
		return false
	}
	return true
}

func (f Failure) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-f.Until:
	}
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

// Faults are the failures that are to come; F describes one.
type Faults[F any] struct {
	mu   sync.Mutex
	list []*F
	used map[*F]int
}

// Fail adds a fault.
func (s *Faults[F]) Fail(f F) *F {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, &f)
	return &f
}

// Heal removes all faults.
func (s *Faults[F]) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// Used reports how often a fault struck.
func (s *Faults[F]) Used(f *F) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[f]
}

// Take returns the first fault that strikes; nil = none does. times is how
// often it strikes at most, 0 = until Heal. Calls of strikes never overlap.
func (s *Faults[F]) Take(strikes func(*F) bool, times func(*F) int) *F {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.list {
		if !strikes(f) {
			continue
		}
		if s.used == nil {
			s.used = map[*F]int{}
		}
		s.used[f]++
		if n := times(f); n > 0 && s.used[f] >= n {
			s.list = slices.Delete(s.list, i, i+1)
		}
		return f
	}
	return nil
}
