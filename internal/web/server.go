// Package web is CliGate's HTTP door: it serves the chat page, the web
// platform's API, the control API, health and metrics, over TCP (usually
// loopback) and over a unix socket in the data directory.
//
// What it guarantees: being on loopback is no identity. Every request over TCP,
// whatever its path, passes the same guards: a Host from the allow-list (a
// foreign name pointing at us is refused), no foreign Origin, JSON bodies of
// bounded size only, no secret in a query; and without a login it gets nothing
// but the login page and a bare health word. The unix socket needs no login:
// the kernel tells who the peer is; other users and everything that descends
// from an agent are refused. Who speaks is decided here and handed to handlers
// through Who; nothing in a request can claim it.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// Limits of the server.
const (
	headerLimit  = 5 * time.Second
	requestLimit = 30 * time.Second
	idleLimit    = 2 * time.Minute
	drainLimit   = 5 * time.Second
	maxHeader    = 32 << 10
)

// Config of the server.
type Config struct {
	Addr   string   // host:port; empty = no TCP
	Hosts  []string // further names that a Host header may carry, with or without port
	Socket string   // path of the unix socket; empty = none
}

// Pairing lets people in; *app implements it over the ledger.
type Pairing interface {
	// Invite makes a pairing code.
	Invite(ctx context.Context, ask api.InviteAsk, by string) (api.Invite, error)
	// Pairs returns who is in and who asks to be.
	Pairs(ctx context.Context) (api.Pairs, error)
	// Approve gives a stranger a role; chat.Missing.
	Approve(ctx context.Context, a api.Approval, by string) error
	// Revoke takes a grant back, at once; chat.Missing.
	Revoke(ctx context.Context, grant int64, by string) error
}

// Status tells how the daemon is.
type Status interface {
	Status(ctx context.Context) (api.Status, error)
	Doctor(ctx context.Context) (api.Report, error)
	// Healthy is nil while messages can be taken. It is asked without a login:
	// its text is not shown.
	Healthy(ctx context.Context) error
}

// Parts are what the server serves.
type Parts struct {
	Logins  Logins
	Pairing Pairing
	Status  Status
	Chats   http.Handler // the web platform; nil = none
	Metrics http.Handler // nil = none
	// Lineage tells when a process started, and whether that was done, however
	// indirectly, by an agent. An error: nobody can tell, say because it has
	// ended. nil = no process is an agent's.
	Lineage func(pid int) (start uint64, agent bool, err error)
}

// Server is the HTTP door.
type Server struct {
	parts Parts
	log   *slog.Logger
	tcp   net.Listener // nil = none
	unix  net.Listener // nil = none
	guard guard
	gate  *gate
	cut   context.CancelFunc // ends the event streams
	ends  context.Context    // … that live in it
}

// Open binds the addresses. An address in use is an error here, before anything
// is served.
func Open(ctx context.Context, p Parts, cfg Config, log *slog.Logger) (*Server, error) {
	if p.Logins == nil || p.Pairing == nil || p.Status == nil {
		return nil, errors.New("web: logins, pairing and status are needed")
	}
	s := &Server{parts: p, log: log}
	s.ends, s.cut = context.WithCancel(ctx)
	var err error
	if cfg.Addr != "" {
		if s.tcp, err = listenTCP(ctx, cfg.Addr); err != nil {
			s.cut()
			return nil, err
		}
		s.guard = newGuard(s.tcp.Addr(), cfg.Hosts)
		s.gate = newGate(p.Logins, portOf(s.tcp.Addr()))
	}
	if cfg.Socket != "" {
		if s.unix, err = listenUnix(ctx, cfg.Socket); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, chat.E(chat.Unavailable, "cannot listen on "+addr+"; is another CliGate running there?", err)
	}
	return l, nil
}

// Addr is the TCP address that was bound, empty when there is none.
func (s *Server) Addr() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Close releases what Open bound, for a server that is not going to run.
func (s *Server) Close() error {
	s.cut()
	var errs []error
	for _, l := range []net.Listener{s.tcp, s.unix} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("close %s: %w", l.Addr(), err))
		}
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends or a listener breaks, ends the event streams, lets
// requests finish for a moment, and returns when everything is over.
func (s *Server) Run(ctx context.Context) error {
	var (
		wg      sync.WaitGroup
		broken  = make(chan error, 2)
		servers []*http.Server
	)
	serve := func(l net.Listener, h http.Handler, mark func(context.Context, net.Conn) context.Context) {
		srv := s.httpServer(h)
		srv.ConnContext = mark
		servers = append(servers, srv)
		wg.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				broken <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	if s.tcp != nil {
		serve(s.tcp, s.outer(), nil)
	}
	if s.unix != nil {
		serve(s.unix, s.local(), s.markPeer)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	s.cut()
	for _, srv := range servers {
		s.end(srv)
	}
	wg.Wait()
	return errors.Join(err, s.Close())
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerLimit, ReadTimeout: requestLimit, WriteTimeout: 2 * requestLimit,
		IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func (s *Server) end(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ends), drainLimit)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		_ = srv.Close() // what did not end in time is cut off
	}
}

// streaming ties event streams to the life of the server: they end when it
// does, other requests are let finish.
func (s *Server) streaming(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isStream(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.ends, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
