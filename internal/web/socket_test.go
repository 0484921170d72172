package web

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// local asks over the unix socket.
func (s *site) local(method, path, kind, body string) answer {
	s.t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
		err = api.ShortPath(s.socket, func(short string) error {
			var d net.Dialer
			c, err = d.DialContext(ctx, "unix", short)
			return err
		})
		return c, err
	}}
	defer tr.CloseIdleConnections()
	old := s.http
	s.http = &http.Client{Transport: tr}
	defer func() { s.http = old }()
	return s.ask(request{method: method, path: path, body: body, header: map[string]string{"Content-Type": kind}, host: "cligate"})
}

func TestTheSocketIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	s := serve(t)
	fi, err := os.Lstat(s.socket)
	if err != nil || fi.Mode()&fs.ModeSocket == 0 || fi.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", fi.Mode(), err)
	}
	if a := s.local("GET", "/api/me", "", ""); a.status != http.StatusOK || !strings.Contains(a.body, Owner) {
		t.Errorf("owner: %d %s", a.status, a.body)
	}
	s.stop()
	if _, err := os.Lstat(s.socket); err == nil {
		t.Error("the socket is left behind")
	}
}

func TestAnAgentsProcessIsRefusedOnTheSocket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var asked atomic.Int64
	l := lineage(func(pid int) (uint64, bool, error) { asked.Store(int64(pid)); return 1, true, nil })
	s.lineage.Store(&l)
	for _, q := range every {
		if a := s.local(q.method, q.path, "application/json", q.body); a.status != http.StatusForbidden {
			t.Errorf("%s %s: %d, want 403", q.method, q.path, a.status)
		}
	}
	if asked.Load() != int64(os.Getpid()) {
		t.Errorf("asked about process %d, not %d", asked.Load(), os.Getpid())
	}
	if len(s.people.done) != 0 {
		t.Errorf("it had an effect: %v", s.people.done)
	}
}

// TestAConnectionOfAnEndedProcessIsRefused: an agent could let a child connect,
// end it, and use the connection itself; nobody would be there to be asked.
func TestAConnectionOfAnEndedProcessIsRefused(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func() (uint64, bool, error){
		"ended":      func() (uint64, bool, error) { return 0, false, errors.New("the process has ended") },
		"pid reused": func() (uint64, bool, error) { return 2, false, nil },
	} {
		s := serve(t)
		var asked atomic.Int32
		l := lineage(func(int) (uint64, bool, error) {
			if asked.Add(1) == 1 {
				return 1, false, nil // as it connects
			}
			return later()
		})
		s.lineage.Store(&l)
		if a := s.local("POST", "/api/control/login", "application/json", "{}"); a.status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, a.status)
		}
	}
}

func TestPeersOfNobodyAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, p := range map[string]peer{
		"another user":              {pid: os.Getpid(), uid: os.Geteuid() + 1},
		"another namespace":         {pid: 0, uid: os.Geteuid()},
		"somebody the kernel hides": {err: os.ErrInvalid},
	} {
		r, err := http.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, p), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.srv.peerRefusal(r) == nil {
			t.Errorf("%s is let in", name)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if s.srv.peerRefusal(r) == nil {
		t.Error("a connection without a peer is let in")
	}
}

func TestTheSocketKeepsTheRulesForBodies(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.local("POST", "/api/control/invite", "text/plain", `{"role":"owner"}`); a.status != http.StatusUnsupportedMediaType {
		t.Errorf("plain text: %d", a.status)
	}
	if a := s.local("POST", "/api/control/invite", "application/json", `{"role":"owner","x":"`+strings.Repeat("a", api.MaxBody)+`"}`); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, "Too long to be taken") {
		t.Errorf("too large: %d %s", a.status, a.body)
	}
}

func TestControlDoesWhatItSays(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, c := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"GET", "status", "", `"agent":"demo"`, 200},
		{"GET", "doctor", "", `"name":"database"`, 200},
		{"GET", "pairs", "", `"ID":3`, 200},
		{"POST", "invite", `{"role":"operator"}`, `"code":"K7-PLUM"`, 200},
		{"POST", "invite", `{"role":"god"}`, `"code":"invalid"`, 400},
		{"POST", "invite", `[]`, `"code":"invalid"`, 400},
		{"POST", "approve", `{"stranger":3,"role":"member"}`, `{}`, 200},
		{"POST", "approve", `{"stranger":404,"role":"member"}`, `"code":"missing"`, 404},
		{"POST", "approve", `{"stranger":3}`, `"code":"invalid"`, 400},
		{"POST", "revoke", `{"grant":9}`, `{}`, 200},
		{"POST", "login", `{}`, `/login#token=`, 200},
		{"POST", "status", `{}`, `"code":"missing"`, 404},
	} {
		a := s.local(c.method, "/api/control/"+c.path, "application/json", c.body)
		if a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", c.path, c.body, a.status, a.body, c.status, c.want)
		}
	}
	if got := strings.Join(s.people.done, "; "); got != "invite operator by owner; approve 3 member by owner; revoke 9 by owner" {
		t.Errorf("done: %s", got)
	}
}

func TestASocketLeftBehindIsReplaced(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.stop()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.start(Config{Socket: s.socket})
	if a := s.local("GET", "/healthz", "", ""); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	if _, err := s.srv.NewLink(t.Context()); chat.CodeOf(err) != chat.Unavailable {
		t.Errorf("a login address without a web page: %v", err)
	}
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	path := filepath.Join(t.TempDir(), api.SocketName)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Parts{Logins: s.db.Logins(), Pairing: s.people, Status: s.health}, Config{Socket: path}, slog.New(slog.DiscardHandler))
	if chat.CodeOf(err) != chat.Conflict {
		t.Errorf("%v", err)
	}
	if body, _ := os.ReadFile(path); string(body) != "precious" {
		t.Error("the file is gone")
	}
}

func TestASocketMayLieDeep(t *testing.T) {
	t.Parallel()
	s := &site{t: t, db: openDB(t, t.TempDir())}
	s.socket = filepath.Join(t.TempDir(), strings.Repeat("deep/", 30), api.SocketName)
	mkdir(t, filepath.Dir(s.socket))
	s.start(Config{Socket: s.socket})
	if a := s.local("GET", "/healthz", "", ""); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	s.stop()
	if _, err := os.Lstat(s.socket); err == nil {
		t.Error("the socket is left behind")
	}
}
