package feishu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// serveHook takes posts until ctx ends.
func (a *Adapter) serveHook(ctx context.Context, h handler) error {
	mux := http.NewServeMux()
	mux.Handle(a.cfg.WebhookPath, newHook(a.cfg, a.log, h))
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 32 << 10,
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", a.cfg.WebhookAddr)
	if err != nil {
		return fmt.Errorf("feishu: listen for events: %w", err)
	}
	a.link.set(ctx, troubleNone, nil)
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(end)
	})
	defer stop()
	if err := srv.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("feishu: serve events: %w", err)
	}
	return nil
}
