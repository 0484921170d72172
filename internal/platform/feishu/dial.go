package feishu

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"cligate/internal/platform/uplink"
)

// newDialer makes what opens the long connection, through the same proxy as
// calls. The WebSocket library knows fewer kinds of proxies than the HTTP
// client: its socks5 has the proxy look names up anyway, and TLS to a proxy is
// put below what it knows as http.
func newDialer(proxy string) *websocket.Dialer {
	choose := uplink.Proxy(proxy)
	var sealed sync.Map // proxies that are spoken to over TLS: host:port → name
	plain := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &websocket.Dialer{
		HandshakeTimeout: 15 * time.Second,
		Proxy: func(r *http.Request) (*url.URL, error) {
			u, err := choose(r)
			if err != nil || u == nil {
				return nil, err
			}
			known := *u
			switch u.Scheme {
			case "socks5h":
				known.Scheme = "socks5"
			case "https":
				known.Scheme = "http"
				if u.Port() == "" {
					known.Host = net.JoinHostPort(u.Hostname(), "443")
				}
				sealed.Store(known.Host, u.Hostname())
			}
			return &known, nil
		},
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := plain.DialContext(ctx, network, addr)
			name, over := sealed.Load(addr)
			if err != nil || !over {
				return c, err
			}
			t := tls.Client(c, &tls.Config{ServerName: name.(string), MinVersion: tls.VersionTLS12})
			if err := t.HandshakeContext(ctx); err != nil {
				_ = c.Close()
				return nil, err
			}
			return t, nil
		},
	}
}
