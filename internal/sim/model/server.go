// Package model is a model provider on loopback for tests: a server that
// speaks Anthropic's Messages API, with and without SSE, and answers as the
// last user text of the request tells it to (package script). A real agent CLI
// that is pointed at it runs without a network, an account or a bill.
//
// It is strict where a provider is: a request without a key, a model or
// messages is refused.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a running model provider.
type Server struct {
	log  *slog.Logger
	http *http.Server
	url  string
	done chan struct{} // closed when Serve has returned

	mu    sync.Mutex
	seen  []Request
	tries map[string]int // how often a failing step was asked for
	ids   int
}

// Request is what a test may want to know about one call.
type Request struct {
	Model string
	Key   string   // x-api-key or bearer token
	Users []string // the user's own texts, oldest first
	Tools []string
}

// Open starts a server on a free loopback port.
func Open(ctx context.Context, log *slog.Logger) (*Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the model server: %w", err)
	}
	s := &Server{log: log, url: "http://" + ln.Addr().String(), done: make(chan struct{}), tries: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.count)
	mux.HandleFunc("/", s.unknown)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { // ends when Close closes the listener
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.ErrorContext(ctx, "model server ended", "err", err)
		}
	}()
	return s, nil
}

// URL is the base URL to give to an agent.
func (s *Server) URL() string { return s.url }

// Requests returns the calls that were answered so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Close cuts open streams and waits until the server is gone.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	in, ok := s.decode(w, r)
	if !ok {
		return
	}
	users := in.users()
	s.note(r, in, users)
	rep := in.reply(users)
	if f := rep.fail; f != nil && !s.spent(f, users) {
		s.log.DebugContext(r.Context(), "refusing as told", "status", f.status)
		writeError(w, f.status, f.kind, f.text)
		return
	}
	if !in.Stream {
		writeJSON(w, http.StatusOK, rep.message(s.id(), in))
		return
	}
	out := &stream{w: w, id: s.id(), in: in}
	if err := out.send(r.Context(), rep); err != nil {
		s.log.DebugContext(r.Context(), "stream ended early", "err", err)
		if errors.Is(err, errCut) {
			panic(http.ErrAbortHandler) // the only way to break a response off
		}
	}
}

func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	in, ok := s.decode(w, r)
	if !ok {
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": in.size()})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.log.DebugContext(r.Context(), "unknown route", "method", r.Method, "path", r.URL.Path)
	if r.Method == http.MethodHead {
		return // a reachability probe
	}
	writeError(w, http.StatusNotFound, "not_found_error", "no such route")
}

func (s *Server) decode(w http.ResponseWriter, r *http.Request) (*request, bool) {
	if key(r) == "" {
		writeError(w, http.StatusUnauthorized, "authentication_error", "no key")
		return nil, false
	}
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return nil, false
	}
	if in.Model == "" || len(in.Messages) == 0 {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "model and messages are required")
		return nil, false
	}
	return &in, true
}

func key(r *http.Request) string {
	if k := r.Header.Get("X-Api-Key"); k != "" {
		return k
	}
	return r.Header.Get("Authorization")
}

func (s *Server) note(r *http.Request, in *request, users []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, Request{Model: in.Model, Key: key(r), Users: users, Tools: in.toolNames()})
}

// spent reports whether a failing step has failed as often as it was to.
func (s *Server) spent(f *failure, users []string) bool {
	if f.times == 0 {
		return false // for ever
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := fmt.Sprintf("%d %s", len(users), users[len(users)-1])
	s.tries[k]++
	return s.tries[k] > f.times
}

func (s *Server) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("msg_%06d", s.ids)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody to tell
}

func writeError(w http.ResponseWriter, status int, kind, text string) {
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, status, map[string]any{
		"type":  "error",
		"error": map[string]string{"type": kind, "message": text},
	})
}
