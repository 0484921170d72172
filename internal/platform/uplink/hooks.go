package uplink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"cligate/internal/chat"
)

// Limits of the listener. It is reached by anybody who finds it.
const (
	hooksHeader  = 5 * time.Second
	hooksRead    = 15 * time.Second
	hooksWrite   = 30 * time.Second // an event has become durable long before
	hooksIdle    = 75 * time.Second
	hooksDrain   = 2 * time.Second
	hooksHeaders = 16 << 10 // bytes
	hooksMost    = 256      // connections
)

// Spot is where one account is delivered to. Its handler decides who may.
type Spot struct {
	Addr    string // host:port that is listened on
	Path    string // as it arrives there
	Sealed  bool   // there is a secret by which the handler knows the service
	Handler http.Handler
}

// Hooks listens where services deliver the events of one or more accounts, each
// at a path of its own. It speaks plain HTTP: TLS ends before it.
type Hooks struct {
	addr string
	l    net.Listener
	srv  *http.Server
}

// OpenHooks binds addr for the spots that are there. A spot without a secret is
// refused: anybody could speak as the service.
func OpenHooks(ctx context.Context, addr string, spots []Spot, log *slog.Logger) (*Hooks, error) {
	paths := map[string]http.Handler{}
	for _, s := range spots {
		if s.Addr != addr {
			continue
		}
		if !s.Sealed {
			return nil, chat.E(chat.Invalid, fmt.Sprintf("the webhook path %s at %s has no secret", s.Path, addr), nil)
		}
		if paths[s.Path] != nil {
			return nil, chat.E(chat.Invalid, fmt.Sprintf("two accounts have the webhook path %s at %s", s.Path, addr), nil)
		}
		paths[s.Path] = s.Handler
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, chat.E(chat.Unavailable, "cannot listen for webhooks on "+addr+"; is another program there?", err)
	}
	h := &Hooks{addr: addr, l: &narrow{Listener: l, slots: make(chan struct{}, hooksMost)}}
	h.srv = &http.Server{
		// Paths are compared as a whole: a mux would redirect, and tell what is there.
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if one := paths[r.URL.Path]; one != nil {
				one.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}),
		ReadHeaderTimeout: hooksHeader, ReadTimeout: hooksRead, WriteTimeout: hooksWrite, IdleTimeout: hooksIdle,
		MaxHeaderBytes: hooksHeaders,
		ErrorLog:       slog.NewLogLogger(log.With("webhooks", addr).Handler(), slog.LevelDebug),
	}
	return h, nil
}

// Addr is the address that is listened on.
func (h *Hooks) Addr() string { return h.l.Addr().String() }

// Run serves until ctx ends. What is being taken then is finished.
func (h *Hooks) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), hooksDrain)
		defer cancel()
		if h.srv.Shutdown(last) != nil {
			_ = h.srv.Close()
		}
	})
	err := h.srv.Serve(h.l)
	close(ended)
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		return nil //nolint:nilerr // we end
	}
	return fmt.Errorf("listen for webhooks on %s: %w", h.addr, err)
}

// Close frees the address. It may be called twice, and without Run.
func (h *Hooks) Close() error {
	err := errors.Join(h.srv.Close(), h.l.Close())
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// narrow is a listener with a bound on its open connections. Who comes when it
// is full, of callers who do not finish, is turned away: the service comes
// again, and the server's time limits make room.
type narrow struct {
	net.Listener
	slots chan struct{}
}

// Accept implements net.Listener.
func (n *narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case n.slots <- struct{}{}:
		return &slotted{Conn: c, free: sync.OnceFunc(func() { <-n.slots })}, nil
	default:
		_ = c.Close()
		return c, nil
	}
}

// slotted is a connection that holds a slot.
type slotted struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (s *slotted) Close() error {
	defer s.free()
	return s.Conn.Close()
}

// Posted reports whether r is a POST, and answers it when it is not.
func Posted(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPost {
		return true
	}
	w.Header().Set("Allow", http.MethodPost)
	w.WriteHeader(http.StatusMethodNotAllowed)
	return false
}

// Body reads at most limit bytes of a post. A longer one, and one that breaks
// off, is answered here.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, true
	}
	status := http.StatusBadRequest
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		status = http.StatusRequestEntityTooLarge
	}
	w.WriteHeader(status)
	return nil, false
}

// strangersQuiet is the least time between two log lines about callers who are
// not the service: anybody can knock.
const strangersQuiet = time.Minute

// Strangers counts callers who are not the service. The zero one is ready.
type Strangers struct {
	mu     sync.Mutex
	warned time.Time
	calls  int // since warned
}

// Note logs a caller, now and then, with why it is none.
func (s *Strangers) Note(r *http.Request, log *slog.Logger, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if time.Since(s.warned) < strangersQuiet {
		return
	}
	log.WarnContext(r.Context(), "somebody who is not the service calls the webhook", "why", why, "remote", r.RemoteAddr, "calls", s.calls)
	s.warned, s.calls = time.Now(), 0
}
