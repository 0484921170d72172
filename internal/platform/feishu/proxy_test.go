package feishu

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/platform"
	sim "cligate/internal/sim/feishu"
	"cligate/internal/sim/proxy"
)

// journal keeps what is logged.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func behind(t *testing.T, s *sim.Server, address string) (*Adapter, *journal) {
	t.Helper()
	var log journal
	a, err := Open(Config{Account: "feishu", AppID: appID, AppSecret: secret, BaseURL: proxy.Elsewhere(s.URL), Proxy: address, Lang: "en"},
		nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.rest.client.CloseIdleConnections)
	return a, &log
}

func TestCallsAndTheLongConnectionGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	socks, err := proxy.Socks()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(socks.Close)
	plain := proxy.HTTP(false)
	t.Cleanup(plain.Close)
	for scheme, p := range map[string]*proxy.Proxy{"socks5": socks, "socks5h": socks, "http": plain} {
		s := service(t)
		s.KnownAs(proxy.Elsewhere(s.URL))
		a, log := behind(t, s, p.URL(scheme, proxy.Word))
		in, before := &ledger{}, p.Served()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.Run(ctx, in) }) // an error shows in what is waited for
		if !s.Wait(patience, func() bool { return s.Connections(appID) == 1 }) {
			t.Fatalf("%s: no connection\n%s", scheme, log)
		}
		if got := p.Served() - before; got < 2 {
			t.Errorf("%s: the proxy was asked %d times: not for calls and the connection", scheme, got)
		}
		s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
		if !s.Wait(patience, func() bool { return in.count() > 0 }) {
			t.Errorf("%s: nothing arrives\n%s", scheme, log)
		}
		if strings.Contains(log.String(), proxy.Word) {
			t.Errorf("%s: the log holds the proxy's password", scheme)
		}
		cancel()
		wg.Wait()
	}
}

func TestAProxyThatRefusesIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	p := proxy.HTTP(false)
	t.Cleanup(p.Close)
	s := service(t)
	a, log := behind(t, s, p.URL("http", "wrong-"+proxy.Word))
	lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true}))
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "-") || strings.Contains(lines[0]+log.String(), proxy.Word) {
		t.Errorf("%q\n%s", lines, log)
	}
	if err := a.rest.do(t.Context(), say("x"), nil); err == nil || strings.Contains(err.Error(), proxy.Word) || strings.Contains(chat.DetailOf(err), proxy.Word) {
		t.Errorf("%v", err)
	}
	if p.Served() != 0 || p.Turned() == 0 {
		t.Errorf("let through %d, turned away %d", p.Served(), p.Turned())
	}
}

// The WebSocket library does not know proxies that are spoken to over TLS.
func TestTheLongConnectionIsDialledThroughATLSProxy(t *testing.T) {
	t.Parallel()
	p := proxy.HTTP(true)
	t.Cleanup(p.Close)
	d := newDialer(p.URL("https", proxy.Word))
	_, _, err := d.DialContext(t.Context(), "ws://"+proxy.Away+"/ws", nil)
	// Its certificate is a test's own, which is what the handshake with it says.
	if err == nil || !strings.Contains(err.Error(), "certificate") || p.Served() != 0 {
		t.Errorf("%v, %d let through", err, p.Served())
	}
}
