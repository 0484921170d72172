package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// Times of logins.
const (
	onceLife    = 10 * time.Minute
	sessionLife = 30 * 24 * time.Hour
	extendAfter = 24 * time.Hour
)

// Owner is the person that a login stands for. The ledger grants the role.
const Owner = "owner"

// gate knows who is logged in. Secrets are random 256-bit strings; the ledger
// has their hashes, so a lookup tells nothing about a secret by its time.
type gate struct {
	logins Logins
	cookie string
	tries  *limiter // one-time tokens
	bad    *limiter // cookies that are no good
}

func newGate(l Logins, port string) *gate {
	return &gate{
		logins: l,
		cookie: "cligate_" + port, // cookies do not know ports: two daemons must not share a name
		tries:  newLimiter(5, 12*time.Second),
		bad:    newLimiter(30, time.Second),
	}
}

func newSecret() (secret, hash string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	secret = base64.RawURLEncoding.EncodeToString(b)
	return secret, hashOf(secret)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewLink makes an address that logs one browser in, once. The secret is in
// its fragment, which browsers never send.
func (s *Server) NewLink(ctx context.Context) (api.Link, error) {
	if s.tcp == nil {
		return api.Link{}, chat.E(chat.Unavailable, "the web chat is switched off", nil)
	}
	secret, hash := newSecret()
	expires := time.Now().Add(onceLife)
	if err := s.parts.Logins.AddLogin(ctx, chat.Login{Hash: hash, Person: Owner, Expires: expires}); err != nil {
		return api.Link{}, fmt.Errorf("store a one-time login: %w", err)
	}
	return api.Link{URL: s.guard.base(s.tcp.Addr()) + "/login#token=" + secret, Expires: expires}, nil
}

// loginBody is what the login page sends.
type loginBody struct {
	Token string `json:"token"`
}

// login exchanges a one-time token for a session cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	who, now := sender(r), time.Now()
	if !s.gate.tries.take(who, now) {
		w.Header().Set("Retry-After", "60")
		api.Refuse(w, r, http.StatusTooManyRequests, chat.E(chat.Full, "too many tries", nil))
		return
	}
	var body loginBody
	if err := api.Read(r, &body); err != nil {
		api.Refuse(w, r, api.StatusOf(err), err)
		return
	}
	secret, hash := newSecret()
	session := chat.Login{Hash: hash, Expires: now.Add(sessionLife)}
	person, err := s.gate.logins.ExchangeLogin(r.Context(), hashOf(body.Token), session, now)
	switch code := chat.CodeOf(err); {
	case err == nil:
	case code == chat.Missing || code == chat.Expired:
		api.Refuse(w, r, http.StatusUnauthorized, chat.E(chat.Expired, "", err))
		return
	default:
		s.fail(w, r, fmt.Errorf("exchange a login: %w", err))
		return
	}
	s.gate.tries.give(who)
	s.gate.setCookie(w, r, secret, sessionLife)
	s.log.InfoContext(r.Context(), "logged in to the web chat", "person", person)
	api.Write(w, http.StatusOK, struct{}{})
}

// logout ends the session of the request.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(s.gate.cookie); err == nil {
		if err := s.gate.logins.RevokeLogin(r.Context(), hashOf(c.Value)); err != nil {
			s.fail(w, r, fmt.Errorf("revoke a login: %w", err))
			return
		}
	}
	s.gate.setCookie(w, r, "", -time.Second)
	api.Write(w, http.StatusOK, struct{}{})
}

func (g *gate) setCookie(w http.ResponseWriter, r *http.Request, secret string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure only where there is TLS: loopback has none
		Name: g.cookie, Value: secret, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// A proxy that ends TLS says so. Whoever forges this only harms themselves.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// person returns who is logged in; false = nobody. A session in use lives on.
func (g *gate) person(w http.ResponseWriter, r *http.Request) (chat.Person, bool, error) {
	c, _ := r.Cookie(g.cookie)
	if c == nil || len(c.Value) > 128 {
		return chat.Person{}, false, nil
	}
	now, hash := time.Now(), hashOf(c.Value)
	l, err := g.logins.CheckLogin(r.Context(), hash, now)
	switch {
	case chat.CodeOf(err) == chat.Missing || chat.CodeOf(err) == chat.Expired:
		return chat.Person{}, false, nil
	case err != nil:
		return chat.Person{}, false, fmt.Errorf("check a login: %w", err)
	}
	if l.Expires.Sub(now) < sessionLife-extendAfter {
		if err := g.logins.ExtendLogin(r.Context(), hash, now.Add(sessionLife)); err != nil {
			return chat.Person{}, false, fmt.Errorf("extend a login: %w", err)
		}
		g.setCookie(w, r, c.Value, sessionLife)
	}
	return chat.Person{ID: l.Person, Name: l.Person}, true, nil
}

// watchEvery is how soon a login that ended ends its event streams.
const watchEvery = 500 * time.Millisecond

// watched ends an event stream when its login does: a request that lasts would
// else outlive a logout.
func (g *gate) watched(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isStream(r) {
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	var wg sync.WaitGroup
	wg.Go(func() { g.watch(ctx, r, cancel) })
	defer wg.Wait()
	defer cancel()
	next.ServeHTTP(w, r.WithContext(ctx))
}

func (g *gate) watch(ctx context.Context, r *http.Request, end context.CancelFunc) {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		c, _ := r.Cookie(g.cookie)
		if _, err := g.logins.CheckLogin(ctx, hashOf(c.Value), time.Now()); chat.CodeOf(err) == chat.Missing || chat.CodeOf(err) == chat.Expired {
			end()
			return
		}
	}
}

type whoKey struct{}

// Who returns the person that a request comes from, as the server decided.
func Who(r *http.Request) (chat.Person, bool) {
	p, ok := r.Context().Value(whoKey{}).(chat.Person)
	return p, ok
}

func withPerson(r *http.Request, p chat.Person) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), whoKey{}, p))
}
