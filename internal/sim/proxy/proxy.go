// Package proxy holds proxies for tests: SOCKS5 and HTTP, each wanting a name
// and a password. They know this machine by another name, too, because by its
// own nothing is to go through a proxy.
package proxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Away is this machine's name at the proxies.
	Away = "service.example"
	// User and Word are what they want to be told.
	User = "gate"
	Word = "hunter2secret"
)

// Elsewhere is the address of a loopback server by the name that proxies know.
func Elsewhere(url string) string { return strings.Replace(url, "127.0.0.1", Away, 1) }

func here(addr string) string { return strings.Replace(addr, Away, "127.0.0.1", 1) }

// Proxy is a running proxy.
type Proxy struct {
	addr   string
	served atomic.Int64
	turned atomic.Int64
	close  func()
}

// Served is how many connections or requests were let through.
func (p *Proxy) Served() int64 { return p.served.Load() }

// Turned is how many were turned away for a wrong password.
func (p *Proxy) Turned() int64 { return p.turned.Load() }

// URL is the address, with a scheme and the password that is given.
func (p *Proxy) URL(scheme, word string) string {
	return scheme + "://" + User + ":" + word + "@" + p.addr
}

// Close ends it and its connections.
func (p *Proxy) Close() { p.close() }

// Socks starts a SOCKS5 proxy.
func Socks() (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{addr: l.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() { p.socks(c) })
		}
	})
	p.close = func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	}
	return p, nil
}

// socks speaks RFC 1928 and RFC 1929 as far as a client of ours needs it.
func (p *Proxy) socks(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(r, b)
		return b
	}
	head := read(2)
	read(int(head[1]))
	_, _ = c.Write([]byte{5, 2}) // name and password, please
	name := string(read(int(read(2)[1])))
	word := string(read(int(read(1)[0])))
	if name != User || word != Word {
		p.turned.Add(1)
		_, _ = c.Write([]byte{1, 1})
		return
	}
	_, _ = c.Write([]byte{1, 0})
	var host string
	switch kind := read(4)[3]; kind {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	default:
		return
	}
	port := binary.BigEndian.Uint16(read(2))
	to, err := net.Dial("tcp", here(net.JoinHostPort(host, strconv.Itoa(int(port)))))
	if err != nil {
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	p.served.Add(1)
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	tunnel(c, r, to)
}

// tunnel joins two connections until either ends.
func tunnel(c net.Conn, r io.Reader, to net.Conn) {
	done := make(chan struct{})
	go func() { // ends with either connection
		defer close(done)
		_, _ = io.Copy(to, r)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
	_, _ = c.Close(), to.Close()
	<-done
}

// HTTP starts an HTTP proxy, spoken to over TLS when that is asked for.
func HTTP(overTLS bool) *Proxy {
	p := &Proxy{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(User+":"+Word))
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, here(addr))
	}
	rev := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != want {
			p.turned.Add(1)
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			p.served.Add(1)
			rev.ServeHTTP(w, r)
			return
		}
		to, err := dial(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = to.Close()
			return
		}
		p.served.Add(1)
		mu.Lock()
		open = append(open, c)
		mu.Unlock()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		wg.Go(func() { tunnel(c, buf, to) })
	}))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // a certificate that is not trusted is wanted
	if overTLS {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	p.addr = srv.Listener.Addr().String()
	p.close = func() {
		srv.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	}
	return p
}
