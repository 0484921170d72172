package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/store"
	"cligate/internal/web/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people and health stand for what app hands in.
type people struct {
	mu   sync.Mutex
	done []string
}

func (p *people) note(form string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, fmt.Sprintf(form, args...))
}

func (p *people) Invite(_ context.Context, a api.InviteAsk, by string) (api.Invite, error) {
	p.note("invite %s by %s", a.Role, by)
	return api.Invite{Code: "K7-PLUM"}, nil
}

func (p *people) Pairs(context.Context) (api.Pairs, error) {
	return api.Pairs{Strangers: []chat.Stranger{{ID: 3, Account: "bot"}}}, nil
}

func (p *people) Approve(_ context.Context, a api.Approval, by string) error {
	if a.Stranger == 404 {
		return chat.E(chat.Missing, "", nil)
	}
	p.note("approve %d %s by %s", a.Stranger, a.Role, by)
	return nil
}

func (p *people) Revoke(_ context.Context, grant int64, by string) error {
	p.note("revoke %d by %s", grant, by)
	return nil
}

type health struct{ err error }

func (h *health) Status(context.Context) (api.Status, error) {
	return api.Status{Version: "test", Agent: "demo"}, nil
}

func (h *health) Doctor(context.Context) (api.Report, error) {
	return api.Report{Checks: []api.Check{{Name: "database", OK: true}}}, nil
}

func (h *health) Healthy(context.Context) error { return h.err }

// chats stands for the web platform: it tells who was let through, and streams
// until it is ended.
func chats(w http.ResponseWriter, r *http.Request) {
	if isStream(r) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: hello\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		api.Refuse(w, r, http.StatusRequestEntityTooLarge, chat.E(chat.Full, "", err))
		return
	}
	p, ok := Who(r)
	api.Write(w, http.StatusOK, map[string]any{"who": p.ID, "known": ok})
}

// lineage is Parts.Lineage.
type lineage func(pid int) (start uint64, agent bool, err error)

// site is a running server over a real ledger.
type site struct {
	t       *testing.T
	dir     string // of the ledger
	db      *store.DB
	srv     *Server
	people  *people
	health  *health
	socket  string
	lineage atomic.Pointer[lineage]
	http    *http.Client
	stop    func()
}

func openDB(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(context.WithoutCancel(t.Context()), store.Config{Dir: dir, Ballast: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func serve(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, db: openDB(t, dir), socket: filepath.Join(t.TempDir(), "s", api.SocketName)}
	mkdir(t, filepath.Dir(s.socket))
	s.start(Config{Addr: "127.0.0.1:0", Socket: s.socket, Hosts: []string{"gate.example", "desk.example:8443"}})
	return s
}

func (s *site) start(cfg Config) {
	s.t.Helper()
	s.people, s.health = &people{}, &health{}
	parts := Parts{
		Logins: s.db.Logins(), Pairing: s.people, Status: s.health, Chats: http.HandlerFunc(chats),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "turns 1\n") }),
		Lineage: func(pid int) (uint64, bool, error) {
			if l := s.lineage.Load(); l != nil {
				return (*l)(pid)
			}
			return 1, false, nil
		},
	}
	srv, err := Open(context.WithoutCancel(s.t.Context()), parts, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	s.srv = srv
	s.http = &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.stop = sync.OnceFunc(func() { cancel(); wg.Wait(); s.http.CloseIdleConnections() })
	s.t.Cleanup(s.stop)
}

// request is one request as a browser or something worse sends it.
type request struct {
	method, path, body string
	host               string
	header             map[string]string
	cookie             string
}

type answer struct {
	status int
	body   string
	header http.Header
}

func (s *site) ask(q request) answer {
	s.t.Helper()
	a, err := s.try(q)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *site) try(q request) (answer, error) {
	if q.method == "" {
		q.method = "GET"
	}
	var body io.Reader
	if q.method == "POST" {
		body = strings.NewReader(q.body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), q.method, "http://"+cmp.Or(s.srv.Addr(), "socket")+q.path, body)
	if err != nil {
		return answer{}, err
	}
	if q.method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range q.header {
		r.Header.Set(k, v)
	}
	if q.host != "" {
		r.Host = q.host
	}
	if q.cookie != "" && s.srv.tcp != nil {
		r.AddCookie(&http.Cookie{Name: "cligate_" + portOf(s.srv.tcp.Addr()), Value: q.cookie})
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return answer{status: 200, header: resp.Header}, nil
	}
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(got), resp.Header}, err
}

// token takes the secret out of a fresh one-time address.
func (s *site) token() string {
	s.t.Helper()
	l, err := s.srv.NewLink(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	_, tok, ok := strings.Cut(l.URL, "#token=")
	if !ok || strings.Contains(l.URL, "?") {
		s.t.Fatalf("the address %q carries its secret in the wrong place", l.URL)
	}
	return tok
}

func (s *site) exchange(token string) answer {
	s.t.Helper()
	return s.ask(request{method: "POST", path: "/login", body: `{"token":"` + token + `"}`})
}

// login logs in and returns the cookie.
func (s *site) login() string {
	s.t.Helper()
	return cookieOf(s.t, s.exchange(s.token()))
}

func cookieOf(t *testing.T, a answer) string {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("login: %d %s", a.status, a.body)
	}
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge < int((29*24*time.Hour).Seconds()) {
		t.Fatalf("cookie %+v", c)
	}
	return c.Value
}

// every is each route there is, and one there is not.
var every = []request{
	{path: "/"}, {path: "/login"}, {path: "/healthz"}, {path: "/metrics"}, {path: "/nothing"}, {path: "/api/me"},
	{path: "/static/app.js"}, {path: "/static/login.js"}, {path: "/static/style.css"}, {path: "/texts/en.json"},
	{path: "/api/chats"}, {path: "/api/chats/c/lines"}, {path: "/api/chats/c/events"},
	{method: "POST", path: "/api/chats/c/messages", body: "{}"}, {method: "POST", path: "/api/chats/c/clicks", body: "{}"},
	{path: "/api/control/status"}, {path: "/api/control/doctor"}, {path: "/api/control/pairs"},
	{method: "POST", path: "/api/control/invite", body: `{"role":"member"}`},
	{method: "POST", path: "/api/control/approve", body: `{"stranger":3,"role":"member"}`},
	{method: "POST", path: "/api/control/revoke", body: `{"grant":1}`},
	{method: "POST", path: "/api/control/login", body: `{}`},
	{method: "POST", path: "/login", body: `{"token":"x"}`}, {method: "POST", path: "/logout", body: `{}`},
}

func (q request) with(f func(*request)) request {
	h := map[string]string{}
	for k, v := range q.header {
		h[k] = v
	}
	q.header = h
	f(&q)
	return q
}

func (q request) post() bool { return q.method == "POST" }

func TestEveryRouteRefusesForeignPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	port := portOf(s.srv.tcp.Addr())
	for name, c := range map[string]struct {
		change func(*request)
		only   func(request) bool
		want   int
	}{
		"a foreign name that points here": {func(q *request) { q.host = "evil.example" }, nil, 421},
		"… with our port":                 {func(q *request) { q.host = "evil.example:" + port }, nil, 421},
		"… that begins like ours":         {func(q *request) { q.host = "127.0.0.1.evil.example:" + port }, nil, 421},
		"another port":                    {func(q *request) { q.host = "127.0.0.1:1" }, nil, 421},
		"no port":                         {func(q *request) { q.host = "127.0.0.1" }, nil, 421},
		"the unspecified address":         {func(q *request) { q.host = "0.0.0.0:" + port }, nil, 421},
		"a user before the host":          {func(q *request) { q.host = "localhost@evil.example:" + port }, nil, 421},
		"a foreign origin":                {func(q *request) { q.header["Origin"] = "https://evil.example" }, nil, 403},
		"an origin of another port":       {func(q *request) { q.header["Origin"] = "http://127.0.0.1:1" }, nil, 403},
		"no origin's origin":              {func(q *request) { q.header["Origin"] = "null" }, nil, 403},
		"a request of another site":       {func(q *request) { q.header["Sec-Fetch-Site"] = "cross-site" }, nil, 403},
		"a request of another port":       {func(q *request) { q.header["Sec-Fetch-Site"] = "same-site" }, nil, 403},
		"a typed-in POST":                 {func(q *request) { q.header["Sec-Fetch-Site"] = "none" }, request.post, 403},
		"a frame": {func(q *request) {
			q.header["Sec-Fetch-Site"], q.header["Sec-Fetch-Mode"], q.header["Sec-Fetch-Dest"] = "cross-site", "navigate", "iframe"
		}, nil, 403},
		"a form's plain text":         {func(q *request) { q.header["Content-Type"] = "text/plain" }, request.post, 415},
		"a form":                      {func(q *request) { q.header["Content-Type"] = "application/x-www-form-urlencoded" }, request.post, 415},
		"a form with parts":           {func(q *request) { q.header["Content-Type"] = "multipart/form-data; boundary=x" }, request.post, 415},
		"a JSON that is none":         {func(q *request) { q.header["Content-Type"] = "text/plain; application/json" }, request.post, 415},
		"no content type":             {func(q *request) { q.header["Content-Type"] = "" }, request.post, 415},
		"an encoded body":             {func(q *request) { q.header["Content-Encoding"] = "gzip" }, request.post, 415},
		"too large a body":            {func(q *request) { q.body = `{"x":"` + strings.Repeat("a", api.MaxBody) + `"}` }, request.post, 413},
		"a secret in the query":       {func(q *request) { q.path += "?token=" + cookie }, nil, 400},
		"… in another spelling":       {func(q *request) { q.path += "?a=1&Access_Token=x" }, nil, 400},
		"a preflight":                 {func(q *request) { q.method = "OPTIONS" }, nil, 405},
		"a DELETE":                    {func(q *request) { q.method = "DELETE" }, nil, 405},
		"a method of another route's": {func(q *request) { q.method = "PUT" }, nil, 405},
	} {
		for _, q := range every {
			if c.only != nil && !c.only(q) {
				continue
			}
			q := q.with(func(q *request) { q.cookie = cookie; c.change(q) })
			a := s.ask(q)
			if a.status != c.want {
				t.Errorf("%s: %s %s: %d, want %d", name, q.method, q.path, a.status, c.want)
			}
			if len(a.header.Values("Access-Control-Allow-Origin")) > 0 {
				t.Errorf("%s: %s opens itself to other origins", name, q.path)
			}
		}
	}
	if len(s.people.done) != 0 {
		t.Errorf("it had an effect: %v", s.people.done)
	}
}

func TestEveryRouteButTheWayInNeedsALogin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	free := map[string]int{"GET /login": 200, "GET /healthz": 200, "GET /static/login.js": 200, "GET /static/style.css": 200, "GET /texts/en.json": 200}
	for name, header := range map[string]map[string]string{
		"nothing":         {},
		"a claimed role":  {"X-Role": "owner", "X-Forwarded-User": "owner", "X-Person": "owner"},
		"a bearer":        {"Authorization": "Bearer owner"},
		"a basic login":   {"Authorization": "Basic b3duZXI6b3duZXI="},
		"an empty cookie": {"Cookie": "cligate_" + portOf(s.srv.tcp.Addr()) + "="},
		"another cookie":  {"Cookie": "cligate=1; session=owner"},
	} {
		for _, q := range every {
			q := q.with(func(q *request) {
				if q.method == "" {
					q.method = "GET"
				}
				q.header = header
			})
			want, open := free[q.method+" "+q.path]
			if !open {
				want = http.StatusUnauthorized
			}
			if q.method+" "+q.path == "POST /login" && name != "nothing" {
				continue // has few tries
			}
			if a := s.ask(q); a.status != want {
				t.Errorf("%s: %s %s: %d, want %d", name, q.method, q.path, a.status, want)
			}
		}
	}
	if len(s.people.done) != 0 {
		t.Errorf("it had an effect: %v", s.people.done)
	}
}

func TestEveryAnswerIsHardened(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	for _, q := range every {
		for _, c := range []string{cookie, ""} {
			a := s.ask(q.with(func(q *request) { q.cookie = c }))
			csp := a.header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || a.header.Get("X-Content-Type-Options") != "nosniff" ||
				a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: headers %v", q.path, a.header)
			}
		}
	}
}

func TestOurOwnPageAndOurOwnNamesAreLetIn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	port := portOf(s.srv.tcp.Addr())
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "LOCALHOST:" + port, "[::1]:" + port, "gate.example", "gate.example:9999", "desk.example:8443"} {
		for _, q := range every {
			q := q.with(func(q *request) {
				q.host, q.cookie = host, cookie
				q.header["Origin"], q.header["Sec-Fetch-Site"] = "http://"+host, "same-origin"
			})
			if strings.HasPrefix(q.path, "/log") { // uses up tries, or the login
				continue
			}
			want := http.StatusOK
			if q.path == "/nothing" {
				want = http.StatusNotFound
			}
			if a := s.ask(q); a.status != want {
				t.Errorf("%s as %s: %d %s, want %d", q.path, host, a.status, a.body, want)
			}
		}
	}
	if a := s.ask(request{path: "/", host: "desk.example:1", cookie: cookie}); a.status != http.StatusMisdirectedRequest {
		t.Errorf("a configured port is not looked at: %d", a.status)
	}
}

func TestALinkFromElsewhereOpensThePageAndNothingElse(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	nav := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	for path, want := range map[string]int{"/": 200, "/login": 200, "/metrics": 403, "/api/chats": 403, "/api/control/status": 403, "/static/app.js": 403} {
		if a := s.ask(request{path: path, header: nav, cookie: cookie}); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
}

func TestHealthSaysOneWord(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.ask(request{path: "/healthz"}); a.body != "ok\n" {
		t.Errorf("%q", a.body)
	}
	s.health.err = errors.New("disk /secret/path is full")
	if a := s.ask(request{path: "/healthz"}); a.status != http.StatusServiceUnavailable || a.body != "unavailable\n" {
		t.Errorf("%d %q", a.status, a.body)
	}
}

func TestAnAddressInUseIsOneClearError(t *testing.T) {
	t.Parallel()
	s := serve(t)
	parts := Parts{Logins: s.db.Logins(), Pairing: s.people, Status: s.health}
	_, err := Open(t.Context(), parts, Config{Addr: s.srv.Addr()}, slog.New(slog.DiscardHandler))
	if chat.CodeOf(err) != chat.Unavailable || !strings.Contains(chat.DetailOf(err), s.srv.Addr()) {
		t.Errorf("%v", err)
	}
	_, err = Open(t.Context(), parts, Config{Addr: "127.0.0.1:0", Socket: s.socket}, slog.New(slog.DiscardHandler))
	if chat.CodeOf(err) != chat.Conflict {
		t.Errorf("second daemon on the socket: %v", err)
	}
}

func TestTheEndEndsStreamsAndLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.srv.Addr()+"/api/chats/c/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: s.srv.gate.cookie, Value: cookie})
	resp, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	begin := time.Now()
	s.stop()
	if took := time.Since(begin); took > drainLimit-time.Second {
		t.Errorf("an open stream held up the end for %v", took)
	}
	if _, err := net.Dial("tcp", s.srv.Addr()); err == nil {
		t.Error("still listening")
	}
}
