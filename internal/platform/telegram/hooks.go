package telegram

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
)

// Limits of the listener for webhooks. It is reached by anybody who finds it.
const (
	hooksHeader  = 5 * time.Second
	hooksRead    = 15 * time.Second
	hooksWrite   = hookTake + 10*time.Second
	hooksIdle    = 75 * time.Second
	hooksDrain   = 2 * time.Second
	hooksHeaders = 16 << 10 // bytes
	hooksMost    = 256      // connections
)

// Hooks listens where Telegram delivers the updates of one or more bots, each
// at a path of its own. It speaks plain HTTP: TLS ends before it.
type Hooks struct {
	addr string
	l    net.Listener
	srv  *http.Server
}

// Webhook returns where this account is delivered to; false when it polls.
func (a *Adapter) Webhook() (Webhook, bool) {
	if a.hook == nil {
		return Webhook{}, false
	}
	return a.hook.cfg, true
}

// OpenHooks binds addr for the bots that are delivered there. Until a bot runs,
// and after it, its deliveries are refused and come again.
func OpenHooks(ctx context.Context, addr string, bots []*Adapter, log *slog.Logger) (*Hooks, error) {
	paths := map[string]http.Handler{}
	for _, b := range bots {
		w, ok := b.Webhook()
		if !ok || w.Addr != addr {
			continue
		}
		if paths[w.Path] != nil {
			return nil, chat.E(chat.Invalid, fmt.Sprintf("two bots have the webhook path %s at %s", w.Path, addr), nil)
		}
		paths[w.Path] = b.hook
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
