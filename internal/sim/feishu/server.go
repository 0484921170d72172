// Package feishu is a strict stand-in for the Feishu/Lark open platform. It
// keeps tenants, chats, threads, messages, card entities and event deliveries
// as the real service does, refuses what the real service refuses, with its
// codes, and can be told to fail in the ways the real service fails. It speaks
// HTTP and WebSocket on loopback, so the daemon under test, and the real SDK,
// talk to it as they talk to the service.
//
// What it holds to be true comes from the service's documentation and from
// reports of its users; where the two leave a code open, the comment says so.
// Every rule has a name (see rules.go) and can be switched off; the tests show
// that each rule refuses something, and that without it the same thing passes.
package feishu

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"cligate/internal/sim/standin"
)

// Server is one open platform with one tenant.
type Server struct {
	URL string // what an app is given as its base URL

	*rulebook
	*faults
	*rates
	*journal
	*clock
	*dispatch
	*console
	*crowd

	http   *http.Server
	known  string // the address it names itself by; empty = URL
	mu     sync.Mutex
	apps   map[string]*app
	world  *world
	next   int64 // of every kind of id
	closed chan struct{}
}

// console is what an administrator and a developer do.
type console struct{ s *Server }

// crowd is what people do.
type crowd struct{ s *Server }

// app is one custom app with its bot.
type app struct {
	id, secret string
	name       string
	bot        string // open_id of the bot
	tokens     map[string]time.Time
	current    string
	lifeless   bool // tokens come without their life
	setup
	scopes   map[string]bool
	sent     map[string]idempotent // by uuid
	endpoint endpoint
	hook     *webhook
}

// idempotent is what a uuid stands for, for an hour.
type idempotent struct {
	at      time.Time
	what    string // the call it was used for
	message string
}

// Tenant is the key of the only tenant.
const Tenant = "tenant_rig"

// New starts a server on loopback. Close it.
func New() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), apps: map[string]*app{}, closed: make(chan struct{}),
		rulebook: &rulebook{}, faults: &faults{}, journal: &journal{}, clock: &clock{},
		world: newWorld(),
	}
	s.rates = newRates(s.clock)
	s.dispatch, s.console, s.crowd = newDispatch(s), &console{s}, &crowd{s}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // ends with Close
	return s, nil
}

// Close ends the server, its connections and everything that is still to be
// pushed.
func (s *Server) Close() {
	close(s.closed)
	_ = s.http.Close()
	s.hangUp()
}

// AddApp makes a custom app with every scope, published, its bot enabled.
func (x *console) AddApp(id, secret, name string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[id] = &app{id: id, secret: secret, name: name, bot: "ou_bot_" + id, tokens: map[string]time.Time{},
		scopes: allScopes(), sent: map[string]idempotent{}, endpoint: endpoint{pingEvery: 120}, setup: newSetup()}
}

// Bot returns the open_id of an app's bot.
func (x *console) Bot(app string) string {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[app].bot
}

// id makes an id of the service's form. The lock is held.
func (s *Server) id(prefix string) string {
	s.next++
	return fmt.Sprintf("%s_%08d", prefix, s.next)
}

// clock is the service's time: the machine's, plus what tests let pass.
type clock struct {
	mu    sync.Mutex
	skew  time.Duration
	stood time.Time // zero = time goes on
}

// Pass lets time pass at once.
func (c *clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

// Stand keeps time where it is, but for Pass: what happens from now on happens
// at once, however slow the machine is.
func (c *clock) Stand() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stood = time.Now()
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stood.IsZero() {
		return c.stood.Add(c.skew)
	}
	return time.Now().Add(c.skew)
}

// Call is one request as it arrived, for the oracle.
type Call struct {
	At      time.Time // real time
	App     string
	Method  string // the name of the API, see routes
	Chat    string
	Message string // the message or card that was made or changed
	Text    string
	UUID    string
	OK      bool
	Status  int
	Code    int
	Error   string
	Lost    bool // carried out, but the answer never reached the caller
}

// journal is what was asked of the server.
type journal struct{ standin.Journal[Call] }

// refusal is an error of the API.
type refusal struct {
	status int // HTTP; 0 = 400
	code   int
	msg    string
	reset  int // seconds, x-ogw-ratelimit-reset
}

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, msg: fmt.Sprintf(format, args...)}
}

// flat is an answer whose fields lie in the envelope itself, as those of some
// older APIs do.
type flat map[string]any

// answer writes the envelope that every API has.
func answer(w http.ResponseWriter, data any, no *refusal) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	body := map[string]any{"code": 0, "msg": "success"}
	if no == nil {
		switch d := data.(type) {
		case nil:
		case flat:
			maps.Copy(body, d)
		default:
			body["data"] = data
		}
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	if no.reset > 0 {
		w.Header().Set("X-Ogw-Ratelimit-Reset", fmt.Sprint(no.reset))
	}
	body["code"], body["msg"] = no.code, no.msg
	status := no.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case endpointPath:
		s.openEndpoint(w, r)
		return
	case socketPath:
		s.openSocket(w, r)
		return
	}
	route, args := match(r.Method, r.URL.Path)
	if route == nil {
		answer(w, nil, &refusal{status: http.StatusNotFound, code: 99991404, msg: "404 page not found"})
		return
	}
	q, err := read(r, args)
	if err != nil {
		answer(w, nil, refuse(9499, "Bad Request: %v", err))
		return
	}
	call := Call{At: time.Now(), Method: route.name, UUID: q.str("uuid")}
	f := s.take(route.name, s.chatOf(route, q))
	if f != nil && f.before(w, r) {
		call.Code, call.Status, call.Error, call.Chat = f.Code, f.Status, "fault: "+string(f.Kind), s.chatOf(route, q)
		s.Note(call)
		return
	}
	var later []func()
	q.later = &later
	data, no := s.carryOut(route, r, q, &call)
	for _, f := range later {
		f()
	}
	call.OK = no == nil
	if no != nil {
		call.Status, call.Code, call.Error = no.status, no.code, no.msg
	}
	if f != nil {
		call.Lost = f.Kind.Loses()
	}
	s.Note(call)
	if f != nil && f.failure().After(w, r) {
		return
	}
	if raw, ok := data.(download); ok && no == nil {
		raw.send(w)
		return
	}
	answer(w, data, no)
}

// carryOut checks who calls and how often, and does it.
func (s *Server) carryOut(route *route, r *http.Request, q request, call *Call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.s, q.call = s, call
	if route.open {
		return route.do(q)
	}
	var no *refusal
	q.app, no = s.bearer(r.Header.Get("Authorization"))
	if no != nil {
		return nil, no
	}
	call.App = q.app.id
	if no := q.app.may(s, route); no != nil {
		return nil, no
	}
	if no := s.admitAPI(s.on(RuleRate), q.app.id, route.name); no != nil {
		return nil, no
	}
	return route.do(q)
}

// Wait blocks until ok says so or the limit passes.
func (s *Server) Wait(limit time.Duration, ok func() bool) bool { return standin.Wait(limit, ok) }

// joined is a list of words for an error text.
func joined(words []string) string { return strings.Join(words, ", ") }
