// Package telegram is a strict stand-in for the Telegram Bot API server. It
// keeps chats, message ids, update queues and rates as the real service does,
// refuses what the real service refuses, with the same words, and can be told
// to fail in the ways the real service fails. It speaks HTTP on loopback, so
// the daemon under test is the real one.
//
// Every rule has a name (see rules.go) and can be switched off; the tests show
// that each rule refuses something, and that without it the same thing passes.
package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"cligate/internal/sim/standin"
)

// Server is one Bot API server.
type Server struct {
	URL string

	*rulebook
	*faults
	*rates
	*journal
	*mailroom
	*profiles
	*uploads
	*shelf
	people
	forums

	http    *http.Server
	mu      sync.Mutex
	changed *sync.Cond // the state behind mu changed
	bots    map[string]*bot
	chats   map[int64]*chatState
	closing bool
	noRich  bool // an older server: no rich messages
	life    context.Context
	end     context.CancelFunc
	cloud   bool
	normal  bool          // addresses of webhooks are written its own way
	late    time.Duration // by which waiting updates are older than they are
	skew    time.Duration // of the clock in answers
}

// bot is one account.
type bot struct {
	id       int64
	username string
	token    string
	privacy  bool
	counter  int64 // message ids of private chats and basic groups
	updates  []update
	nextID   int64 // of updates
	poll     int   // generation of the running getUpdates; a newer one ends it
	revoked  bool
	queries  map[string]*query
	nextQ    int64

	hook      *webhook // nil = none
	delivered []Delivery
	profile   *profile
}

type update struct {
	id   int64
	kind string
	body map[string]any
	at   time.Time // from when on it ages
}

type query struct {
	at       time.Time
	answered bool
	toast    string
	alert    bool // the toast stays until it is dismissed
}

// Call is one request as it arrived, for the oracle.
type Call struct {
	At      time.Time
	Bot     string
	Method  string
	Chat    int64
	Message int64 // the id that was made or changed
	Text    string
	OK      bool
	Code    int
	Error   string
	Lost    bool // carried out, but the answer never reached the caller
	Params  map[string]string
}

// New starts a server on loopback. Close it.
func New() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), bots: map[string]*bot{}, chats: map[int64]*chatState{},
		rulebook: &rulebook{}, faults: &faults{}, rates: newRates(), journal: &journal{},
		uploads: &uploads{forbidden: map[string]bool{}, handled: map[string]time.Time{}}, shelf: newShelf(),
	}
	s.mailroom, s.profiles = &mailroom{s}, &profiles{s}
	s.changed = sync.NewCond(&s.mu)
	s.people, s.forums = people{s}, forums{s}
	s.life, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // ends with Close
	return s, nil
}

// Close ends the server and every waiting poll.
func (s *Server) Close() {
	s.mu.Lock()
	s.closing = true
	s.end()
	s.changed.Broadcast()
	s.mu.Unlock()
	_ = s.http.Close()
}

// AddBot makes an account. privacy is the group privacy mode.
func (s *Server) AddBot(token, username string, privacy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id int64
	_, _ = fmt.Sscanf(token, "%d:", &id)
	s.bots[token] = &bot{id: id, username: username, token: token, privacy: privacy, counter: 100, nextID: 1000,
		queries: map[string]*query{}, profile: newProfile()}
}

// Revoke makes a token invalid, as BotFather does.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bots[token].revoked = true
	s.changed.Broadcast()
}

// journal is what was asked of the server.
type journal struct{ standin.Journal[Call] }

// note keeps a call; a poll that worked is not worth it.
func (j *journal) note(c Call) {
	if c.Method != "getUpdates" || !c.OK {
		j.Note(c)
	}
}

// Wait blocks until ok, called with the lock held by nobody, says so, or the
// limit passes; it looks again whenever the server's state changes.
func (s *Server) Wait(limit time.Duration, ok func() bool) bool { return standin.Wait(limit, ok) }

// refusal is an error of the API.
type refusal struct {
	code    int
	text    string
	after   int   // retry_after
	migrate int64 // migrate_to_chat_id
}

func bad(text string) *refusal { return &refusal{code: 400, text: "Bad Request: " + text} }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if download(s, w, r) {
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, cut := strings.Cut(rest, "/")
	if !ok || !cut {
		answer(w, nil, &refusal{code: 404, text: "Not Found"})
		return
	}
	p, err := readParams(r)
	if errors.Is(err, errTooLarge) {
		answer(w, nil, &refusal{code: 413, text: "Request Entity Too Large"})
		return
	}
	if err != nil {
		answer(w, nil, bad(err.Error()))
		return
	}
	s.mu.Lock()
	b := s.bots[token]
	gone := b == nil || b.revoked
	if s.skew != 0 {
		w.Header().Set("Date", time.Now().Add(s.skew).UTC().Format(http.TimeFormat))
	}
	s.mu.Unlock()
	if gone {
		answer(w, nil, &refusal{code: 401, text: "Unauthorized"})
		return
	}
	f := s.take(method, p, s.rates)
	if f != nil && f.before(w, r) {
		s.note(Call{At: time.Now(), Bot: b.username, Method: method, Chat: p.num("chat_id"), Text: p.str("text"), Error: "fault: " + string(f.Kind), Code: f.code(), Params: p.plain()})
		return
	}
	call := Call{At: time.Now(), Bot: b.username, Method: method, Chat: p.num("chat_id"), Text: p.str("text"), Params: p.plain()}
	var result any
	var no *refusal
	if method == "getUpdates" {
		result, no = s.getUpdates(r.Context(), b, p)
	} else {
		s.mu.Lock()
		result, no = request{s, b, p, &call}.dispatch(method)
		s.mu.Unlock()
	}
	call.OK = no == nil
	if no != nil {
		call.Code, call.Error = no.code, no.text
	}
	if f != nil {
		call.Lost = f.Kind.Loses()
	}
	s.note(call)
	if f != nil && f.failure().After(w, r) {
		return
	}
	answer(w, result, no)
}

func answer(w http.ResponseWriter, result any, no *refusal) {
	w.Header().Set("Content-Type", "application/json")
	if no == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	body := map[string]any{"ok": false, "error_code": no.code, "description": no.text}
	switch {
	case no.after > 0:
		w.Header().Set("Retry-After", fmt.Sprint(no.after))
		body["parameters"] = map[string]any{"retry_after": no.after}
	case no.migrate != 0:
		body["parameters"] = map[string]any{"migrate_to_chat_id": no.migrate}
	}
	w.WriteHeader(no.code)
	_ = json.NewEncoder(w).Encode(body)
}
