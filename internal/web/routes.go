package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// localPerson is who speaks over the unix socket: whoever runs the daemon.
var localPerson = chat.Person{ID: Owner, Name: Owner}

// isPage reports whether a path is a page that a link may lead to.
func isPage(path string) bool { return path == "/" || path == "/login" }

// isOpen reports whether a request needs no login: the way in, and one word
// about our health.
func isOpen(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/static/login.js", "/static/style.css", "/static/icon.svg":
		return r.Method != http.MethodPost
	case "/login":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/texts/") && r.Method != http.MethodPost
}

func isStream(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, api.Chats+"/") && strings.HasSuffix(r.URL.Path, "/events")
}

// outer serves TCP: guards, then the login, then the routes.
func (s *Server) outer() http.Handler {
	routes := s.streaming(s.routes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		if status, err := s.guard.refusal(r); err != nil {
			api.Refuse(w, r, status, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
		if isOpen(r) {
			routes.ServeHTTP(w, r)
			return
		}
		p, known, err := s.gate.person(w, r)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case !known:
			s.stranger(w, r)
		default:
			s.gate.watched(w, withPerson(r, p), routes)
		}
	})
}

// local serves the unix socket: the kernel has told who is there. Bodies are
// held to the same rules.
func (s *Server) local() http.Handler {
	routes := s.streaming(s.routes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.peerRefusal(r); err != nil {
			s.log.WarnContext(r.Context(), "refused a peer on the unix socket", "err", err)
			api.Refuse(w, r, http.StatusForbidden, chat.E(chat.Denied, "", err))
			return
		}
		if status, err := bodyOK(r); err != nil {
			api.Refuse(w, r, status, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
		routes.ServeHTTP(w, withPerson(r, localPerson))
	})
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /{$}", page("index.html"))
	mux.HandleFunc("GET /login", page("login.html"))
	mux.HandleFunc("GET /static/{name}", asset)
	mux.HandleFunc("GET /texts/{lang}", texts)
	mux.HandleFunc("GET /api/me", s.me)
	if s.gate != nil {
		mux.HandleFunc("POST /login", s.login)
		mux.HandleFunc("POST /logout", s.logout)
	}
	s.control(mux)
	if s.parts.Chats != nil {
		mux.Handle(api.Chats, s.parts.Chats)
		mux.Handle(api.Chats+"/", s.parts.Chats)
	}
	if s.parts.Metrics != nil {
		mux.Handle("GET /metrics", s.parts.Metrics)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		api.Refuse(w, r, http.StatusNotFound, chat.E(chat.Missing, "", nil))
	})
	return mux
}

// stranger answers who is not logged in: a person who opens the page gets the
// login page, everybody else a refusal. A wrong cookie costs a try; without
// tries the answer is the same for all that follows.
func (s *Server) stranger(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(s.gate.cookie); err == nil && !s.gate.bad.take(sender(r), time.Now()) {
		w.Header().Set("Retry-After", "30")
		api.Refuse(w, r, http.StatusTooManyRequests, chat.E(chat.Full, "too many tries", nil))
		return
	}
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		servePage(w, r, "login.html", http.StatusUnauthorized)
		return
	}
	api.Refuse(w, r, http.StatusUnauthorized, chat.E(chat.Denied, "", nil))
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	word, status := "ok\n", http.StatusOK
	if err := s.parts.Status.Healthy(r.Context()); err != nil {
		word, status = "unavailable\n", http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(word)) // an error: the reader is gone
}

func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	p, _ := Who(r)
	api.Write(w, http.StatusOK, p)
}

// fail answers an error that is not the sender's, and logs it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := api.StatusOf(err)
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.WarnContext(r.Context(), "request failed", "path", r.URL.Path, "err", err)
	}
	api.Refuse(w, r, status, err)
}

// result answers with v, or with what went wrong.
func (s *Server) result(w http.ResponseWriter, r *http.Request, what string, v any, err error) {
	if err != nil {
		s.fail(w, r, fmt.Errorf("%s: %w", what, err))
		return
	}
	api.Write(w, http.StatusOK, v)
}
