package web

import (
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

func TestAOneTimeTokenWorksOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	tok := s.token()
	cookie := cookieOf(t, s.exchange(tok))
	if a := s.exchange(tok); a.status != http.StatusUnauthorized || a.header.Get("Set-Cookie") != "" {
		t.Errorf("second use: %d", a.status)
	}
	if a := s.ask(request{path: "/api/me", cookie: cookie}); a.status != http.StatusOK || !strings.Contains(a.body, Owner) {
		t.Errorf("with the cookie: %d %s", a.status, a.body)
	}
	if a := s.ask(request{path: "/api/me", cookie: tok}); a.status != http.StatusUnauthorized {
		t.Errorf("the token is taken for a cookie: %d", a.status)
	}
	if a := s.exchange(cookie); a.status != http.StatusUnauthorized {
		t.Errorf("the cookie is taken for a token: %d", a.status)
	}
}

func TestOfManyAtOnceOneGetsIn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	tok := s.token()
	s.srv.gate.tries = newLimiter(100, time.Second)
	got := make(chan int, 16)
	var wg sync.WaitGroup
	for range cap(got) {
		wg.Go(func() { got <- s.exchange(tok).status })
	}
	wg.Wait()
	close(got)
	in := 0
	for status := range got {
		if status == http.StatusOK {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d got in with one token", in)
	}
}

func TestAnOldTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	secret, hash := newSecret()
	if err := s.db.Logins().AddLogin(t.Context(), chat.Login{Hash: hash, Person: Owner, Expires: time.Now().Add(-time.Second)}); err != nil {
		t.Fatal(err)
	}
	if a := s.exchange(secret); a.status != http.StatusUnauthorized {
		t.Errorf("%d", a.status)
	}
}

func TestGuessingEndsBeforeAnythingIsParsed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	limited := 0
	for range 200 {
		if a := s.exchange("guess"); a.status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 190 {
		t.Errorf("%d of 200 guesses were limited", limited)
	}
	// Neither rubbish, nor a good token, nor a good cookie beside it gets past the limit.
	if a := s.ask(request{method: "POST", path: "/login", body: "not JSON"}); a.status != http.StatusTooManyRequests {
		t.Errorf("rubbish was parsed: %d", a.status)
	}
	if a := s.exchange(s.token()); a.status != http.StatusTooManyRequests {
		t.Errorf("a good token got past the limit: %d", a.status)
	}
}

func TestGoodLoginsUseUpNoTries(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 20 {
		s.login()
	}
}

func TestWrongCookiesAreLimitedAndGoodOnesAreNot(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	limited := 0
	for range 100 {
		if a := s.ask(request{path: "/api/me", cookie: "guess"}); a.status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 50 {
		t.Errorf("%d of 100 wrong cookies were limited", limited)
	}
	if a := s.ask(request{path: "/api/me", cookie: cookie}); a.status != http.StatusOK {
		t.Errorf("the good cookie pays for the wrong ones: %d", a.status)
	}
}

func TestALoginSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie, addr := s.login(), s.srv.Addr()
	s.stop()
	s.start(Config{Addr: addr, Socket: s.socket})
	if a := s.ask(request{path: "/api/me", cookie: cookie}); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
}

func TestALoginInUseLivesOnAndAnUnusedOneEnds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	now := time.Now()
	add := func(left time.Duration) string {
		once, hash := newSecret()
		if err := s.db.Logins().AddLogin(t.Context(), chat.Login{Hash: hash, Person: Owner, Expires: now.Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		secret, hash := newSecret()
		if _, err := s.db.Logins().ExchangeLogin(t.Context(), hashOf(once), chat.Login{Hash: hash, Expires: now.Add(left)}, now); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	gone, old, young := add(-time.Second), add(time.Hour), add(sessionLife-time.Hour)
	if a := s.ask(request{path: "/api/me", cookie: gone}); a.status != http.StatusUnauthorized {
		t.Errorf("an expired login: %d", a.status)
	}
	if a := s.ask(request{path: "/api/me", cookie: old}); a.status != http.StatusOK || a.header.Get("Set-Cookie") == "" {
		t.Errorf("an old login is not renewed: %d %v", a.status, a.header)
	}
	l, err := s.db.Logins().CheckLogin(t.Context(), hashOf(old), now.Add(sessionLife-time.Hour))
	if err != nil || l.Person != Owner {
		t.Errorf("the ledger does not know of it: %+v %v", l, err)
	}
	if a := s.ask(request{path: "/api/me", cookie: young}); a.status != http.StatusOK || a.header.Get("Set-Cookie") != "" {
		t.Errorf("a young login is renewed each time: %d %v", a.status, a.header)
	}
}

func TestLoggedOutIsOutAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie, other := s.login(), s.login()
	if a := s.ask(request{method: "POST", path: "/logout", body: "{}", cookie: cookie}); a.status != http.StatusOK {
		t.Fatalf("%d", a.status)
	}
	if a := s.ask(request{path: "/api/me", cookie: cookie}); a.status != http.StatusUnauthorized {
		t.Errorf("still in: %d", a.status)
	}
	if a := s.ask(request{path: "/api/me", cookie: other}); a.status != http.StatusOK {
		t.Errorf("the other browser is out too: %d", a.status)
	}
}

func TestAnEventStreamEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie, other := s.login(), s.login()
	open := func(cookie string) io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.srv.Addr()+"/api/chats/c/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: s.srv.gate.cookie, Value: cookie})
		resp, err := s.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body
	}
	mine, theirs := open(cookie), open(other)
	s.ask(request{method: "POST", path: "/logout", body: "{}", cookie: cookie})
	begin := time.Now()
	if _, err := io.ReadAll(mine); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the stream went on for %v", took)
	}
	if _, err := io.ReadFull(theirs, make([]byte, 5)); err != nil {
		t.Errorf("the other login's stream: %v", err)
	}
	_ = theirs.Close()
}

func TestNoSecretIsInTheLedger(t *testing.T) {
	t.Parallel()
	s := serve(t)
	tok, cookie := s.token(), s.login()
	s.stop()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	found := false
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			continue // a folder
		}
		if strings.Contains(string(body), tok) || strings.Contains(string(body), cookie) {
			t.Errorf("a secret is in %s", filepath.Base(f))
		}
		found = found || strings.Contains(string(body), hashOf(cookie)) || strings.Contains(string(body), hex.EncodeToString([]byte(hashOf(cookie))))
	}
	if !found {
		t.Error("not even the hash was found: this test looks in the wrong place")
	}
}

func TestCookiesOfAProxyWithTLSAreSecure(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := s.ask(request{method: "POST", path: "/login", host: "gate.example", body: `{"token":"` + s.token() + `"}`,
		header: map[string]string{"X-Forwarded-Proto": "https", "Origin": "https://gate.example", "Sec-Fetch-Site": "same-origin"}})
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestTriesComeBackWithTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2, time.Minute)
		take := func(want bool) {
			t.Helper()
			if got := l.take("a", time.Now()); got != want {
				t.Errorf("after %v: %v, want %v", time.Now(), got, want)
			}
		}
		take(true)
		take(true)
		take(false)
		if !l.take("b", time.Now()) {
			t.Error("another sender pays too")
		}
		time.Sleep(time.Minute)
		take(true)
		take(false)
		time.Sleep(time.Hour)
		take(true)
		take(true)
		take(false)
		l.give("a")
		take(true)
	})
}

func TestTheLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(1, time.Minute)
	now := time.Now()
	for i := range 5 * maxBuckets {
		l.take(strings.Repeat("x", i%7)+hashOf(string(rune(i))), now)
	}
	if len(l.from) > maxBuckets {
		t.Errorf("%d senders remembered", len(l.from))
	}
	if !l.take("somebody", now.Add(time.Hour)) {
		t.Error("locked for ever")
	}
}
