// Package model is a model provider on loopback for tests: a server that
// answers as the last user text of a request tells it to (package script), in
// the wire formats that the agent CLIs speak. A real agent that is pointed at
// it runs without a network, an account or a bill.
//
//	Anthropic Messages        URL() + "/v1/messages"
//	OpenAI Responses          URL() + "/v1/responses"
//	OpenAI Chat Completions   URL() + "/v1/chat/completions"
//	Gemini                    URL() + "/v1beta/models/MODEL:generateContent"
//
// A request is read into a call (call.go), whatever its format; what the model
// does with it is decided there and in reply.go and tools.go only; a wire
// (wire.go and one file per format) writes the answer down.
//
// It is strict where a provider is: a request without a key, a model or
// messages, a tool's call without its result or a result without its call is
// refused, in the API's own form.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Reasons that "fail STATUS TIMES REASON" may name.
const (
	reasonContext = "context" // the conversation is too long
	reasonQuota   = "quota"   // the account's quota is used up
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
	Path      string
	Model     string
	Key       string   // as it was sent: a header's value
	Users     []string // the user's own texts, oldest first
	Tools     []string // names of the tools that were offered
	Images    int      // in the whole conversation
	Documents int      // in the whole conversation
	Aside     bool     // the client asked for itself: a title, a judgement
	Refused   string   // why the request was malformed; empty when it was not
	Body      []byte   // as it came
}

// Open starts a server on a free loopback port.
func Open(ctx context.Context, log *slog.Logger) (*Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the model server: %w", err)
	}
	s := &Server{log: log, url: "http://" + ln.Addr().String(), done: make(chan struct{}), tries: map[string]int{}}
	s.http = &http.Server{
		Handler:           s.routes(),
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

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.generate(anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.count(anthropic{}, "input_tokens"))
	mux.HandleFunc("POST /v1/responses", s.generate(responses{}))
	mux.HandleFunc("POST /v1/chat/completions", s.generate(chatCompletions{}))
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1beta/models/{call}", s.geminiMethod)
	mux.HandleFunc("/", s.unknown)
	return mux
}

// URL is the base URL to give to an agent.
func (s *Server) URL() string { return s.url }

// Requests returns the calls that were answered or refused so far.
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

// generate answers requests in one wire format.
func (s *Server) generate(w wire) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c, ok := s.read(rw, r, w)
		if !ok {
			return
		}
		rep, id := c.reply(), s.id()
		if f := rep.fail; f != nil && !s.spent(f, c.users()) {
			s.log.DebugContext(r.Context(), "refusing as told", "status", f.status)
			fail(rw, w, id, c, f)
			return
		}
		if !c.stream {
			writeJSON(rw, http.StatusOK, w.whole(id, c, rep))
			return
		}
		rw.Header().Set("Request-Id", "req_"+id)
		if err := send(r.Context(), rw, w.begin(id, c, rep), rep); err != nil {
			s.log.DebugContext(r.Context(), "stream ended early", "err", err)
			if errors.Is(err, errCut) {
				panic(http.ErrAbortHandler) // the only way to break a response off
			}
		}
	}
}

// fail tells an error, in the stream where the provider would.
func fail(rw http.ResponseWriter, w wire, id string, c *call, f *failure) {
	if lw, ok := w.(lateWire); ok && c.stream {
		if events := lw.late(id, c, f); events != nil {
			rw.Header().Set("Content-Type", "text/event-stream")
			_ = write(rw, events) // the client is gone: nobody to tell
			return
		}
	}
	deny(rw, w, f.status, f.reason, "")
}

func (s *Server) geminiMethod(w http.ResponseWriter, r *http.Request) {
	_, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "generateContent", "streamGenerateContent":
		s.generate(gemini{})(w, r)
	case "countTokens":
		s.count(gemini{}, "totalTokens")(w, r)
	default:
		deny(w, gemini{}, http.StatusNotFound, "", "no such method")
	}
}

// count tells how many tokens a request has, under a name.
func (s *Server) count(w wire, name string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if c, ok := s.read(rw, r, w); ok {
			writeJSON(rw, http.StatusOK, map[string]int{name: c.tokens()})
		}
	}
}

// models lists what is there; in truth every name is.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, id := range []string{"mock-large", "mock-small"} {
		list = append(list, object{"id": id, "object": "model", "created": created, "owned_by": "mock"})
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": list})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.log.DebugContext(r.Context(), "unknown route", "method", r.Method, "path", r.URL.Path)
	if r.Method == http.MethodHead {
		return // a reachability probe
	}
	deny(w, anthropic{}, http.StatusNotFound, "", "no such route")
}

// read takes a request in, or refuses it as the provider would.
func (s *Server) read(rw http.ResponseWriter, r *http.Request, w wire) (*call, bool) {
	seen := Request{Path: r.URL.Path, Key: key(r)}
	if seen.Key == "" {
		deny(rw, w, http.StatusUnauthorized, "", "no key was given")
		return nil, false
	}
	var err error
	if seen.Body, err = io.ReadAll(r.Body); err != nil {
		s.log.DebugContext(r.Context(), "request not read", "err", err)
		return nil, false
	}
	c, err := w.read(r, seen.Body)
	if err != nil {
		s.log.WarnContext(r.Context(), "malformed request", "path", seen.Path, "err", err)
		seen.Refused = err.Error()
		s.note(seen)
		deny(rw, w, http.StatusBadRequest, "", err.Error())
		return nil, false
	}
	seen.Model, seen.Users, seen.Tools, seen.Images, seen.Documents = c.model, c.users(), c.toolNames(), c.images, c.documents
	seen.Aside = c.aside() != ""
	s.note(seen)
	return c, true
}

func key(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
		if k := r.Header.Get(name); k != "" {
			return k
		}
	}
	return r.URL.Query().Get("key")
}

func (s *Server) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r)
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
	return fmt.Sprintf("%06d", s.ids)
}

// callID is the id of the i-th block of an answer.
func callID(prefix, id string, i int) string { return fmt.Sprintf("%s%s_%d", prefix, id, i) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody to tell
}

// deny refuses a request; without a text in the provider's usual words.
func deny(rw http.ResponseWriter, w wire, status int, reason, text string) {
	if status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", "1")
	}
	writeJSON(rw, status, w.refuse(status, reason, text))
}
