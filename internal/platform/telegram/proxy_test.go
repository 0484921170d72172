package telegram

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	fakebot "cligate/internal/sim/telegram"
)

const (
	proxyUser = "gate"
	proxyWord = "hunter2secret"
)

// away is a name of this machine that only proxies know: to this machine by its
// own name nothing goes through one.
const away = "bot-api.example"

func here(addr string) string { return strings.Replace(addr, away, "127.0.0.1", 1) }

// socks is a SOCKS5 proxy that wants a password.
type socks struct {
	l      net.Listener
	served atomic.Int64 // connections that were let through
	turned atomic.Int64 // connections with a wrong password
}

func openSocks(t *testing.T) *socks {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socks{l: l}
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
			wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

// serve speaks RFC 1928 and RFC 1929 as far as a client of ours needs it.
func (s *socks) serve(c net.Conn) {
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
	if name != proxyUser || word != proxyWord {
		s.turned.Add(1)
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
	defer to.Close()
	s.served.Add(1)
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	done := make(chan struct{})
	go func() { // ends with either connection
		defer close(done)
		_, _ = io.Copy(to, r)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
	_ = c.Close()
	<-done
}

// forwarder is an HTTP proxy that wants a password.
func forwarder(t *testing.T, served *atomic.Int64) *httptest.Server {
	t.Helper()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyWord))
	rev := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host }, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, here(addr))
		},
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		served.Add(1)
		rev.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestEverythingGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	for name, proxy := range map[string]func(t *testing.T) (address string, served func() int64){
		"socks5": func(t *testing.T) (string, func() int64) {
			t.Helper()
			s := openSocks(t)
			return "socks5://" + proxyUser + ":" + proxyWord + "@" + s.l.Addr().String(), s.served.Load
		},
		"socks5h": func(t *testing.T) (string, func() int64) {
			t.Helper()
			s := openSocks(t)
			return "socks5h://" + proxyUser + ":" + proxyWord + "@" + s.l.Addr().String(), s.served.Load
		},
		"http": func(t *testing.T) (string, func() int64) {
			t.Helper()
			var n atomic.Int64
			srv := forwarder(t, &n)
			return strings.Replace(srv.URL, "http://", "http://"+proxyUser+":"+proxyWord+"@", 1), n.Load
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, served := proxy(t)
			srv := strictServer(t)
			a, log := open(t, Config{Proxy: address, PollTimeout: time.Second, APIURL: strings.Replace(srv.URL, "127.0.0.1", away, 1)})
			in := newInbox()
			start(t, a, in)
			srv.Say(testToken, fakebot.Say{Chat: ann, Text: "hello"})
			if !srv.Wait(patience, func() bool { return len(in.texts()) == 1 }) {
				t.Fatalf("nothing arrives\n%s", log)
			}
			if _, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{Text: "x"})); err != nil {
				t.Error(err)
			}
			if served() == 0 {
				t.Error("the proxy was passed by")
			}
			if strings.Contains(log.String(), proxyWord) {
				t.Error("the log holds the proxy's password")
			}
		})
	}
}

func TestAProxyThatRefusesIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	s := openSocks(t)
	var n atomic.Int64
	for name, address := range map[string]string{
		"socks5": "socks5://" + proxyUser + ":wrong-" + proxyWord + "@" + s.l.Addr().String(),
		"http":   strings.Replace(forwarder(t, &n).URL, "http://", "http://"+proxyUser+":wrong-"+proxyWord+"@", 1),
	} {
		a, log := open(t, Config{Proxy: address, APIURL: "http://" + away})
		fs := a.Inspect(t.Context(), platform.Inquiry{})
		if len(fs) != 1 || fs[0].OK || strings.Contains(fs[0].Detail, proxyWord) {
			t.Errorf("%s: %+v", name, fs)
		}
		if strings.Contains(log.String(), proxyWord) {
			t.Errorf("%s: the log holds the password", name)
		}
	}
	if n.Load() != 0 || s.turned.Load() == 0 {
		t.Errorf("let through %d, turned away %d", n.Load(), s.turned.Load())
	}
}
