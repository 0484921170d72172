package telegram

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind is a way in which the service fails.
type FaultKind string

// Fault kinds.
const (
	TooMany   FaultKind = "429"   // refused, wait After seconds
	BadPage   FaultKind = "502"   // an HTML page instead of JSON
	Internal  FaultKind = "500"   // JSON, "Internal Server Error"
	Refuse    FaultKind = "400"   // refused with Text
	Forbidden FaultKind = "403"   // refused with Text
	Lose      FaultKind = "lose"  // carried out, then the connection is cut
	Drop      FaultKind = "drop"  // the connection is cut before anything happens
	Hang      FaultKind = "hang"  // carried out, then no answer until the caller gives up or Until closes
	Deaf      FaultKind = "deaf"  // nothing happens and no answer comes until the caller gives up
	Slow      FaultKind = "slow"  // carried out after Delay
	CutBody   FaultKind = "cut"   // carried out, half of the answer arrives
	Blackout  FaultKind = "black" // every call is cut; ends with Heal
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
	used   int
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
func (s *faults) take(method string, p params, r *rates) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.list {
		if f.Method != "" && f.Method != method || f.Method == "" && method == "getUpdates" && f.Kind != Blackout {
			continue
		}
		if f.Chat != 0 && f.Chat != p.num("chat_id") {
			continue
		}
		f.used++
		if f.Times > 0 && f.used >= f.Times {
			s.list = slices.Delete(s.list, i, i+1)
		}
		if f.Kind == TooMany {
			r.pause(p.num("chat_id"), time.Duration(f.After)*time.Second)
		}
		return f
	}
	return nil
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

// loses reports whether the call is carried out without the caller knowing.
func (f *Fault) loses() bool { return f.Kind == Lose || f.Kind == Hang || f.Kind == CutBody }

// before acts instead of the call; it reports whether the call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case TooMany:
		answer(w, nil, &refusal{code: 429, text: "Too Many Requests: retry after " + itoa(f.After), after: f.After})
	case BadPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><head><title>502 Bad Gateway</title></head></html>"))
	case Internal:
		answer(w, nil, &refusal{code: 500, text: "Internal Server Error"})
	case Refuse, Forbidden:
		answer(w, nil, &refusal{code: f.code(), text: f.Text})
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

// after acts instead of the answer; it reports whether the answer is dealt with.
func (f *Fault) after(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case Lose:
		cut(w)
	case Hang:
		f.wait(r)
		cut(w)
	case CutBody:
		w.Header().Set("Content-Length", "500")
		b, _ := json.Marshal(map[string]any{"ok": true})
		_, _ = w.Write(b[:len(b)/2])
		cut(w)
	default:
		return false
	}
	return true
}

func (f *Fault) wait(r *http.Request) {
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
	c, _, err := h.Hijack()
	if err == nil {
		_ = c.Close()
	}
}
