package uplink

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// proxy takes every request for itself.
func proxy(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	t.Cleanup(srv.Close)
	return srv.URL, &n
}

func TestThisMachineIsNeverAskedThroughTheProxy(t *testing.T) {
	t.Parallel()
	address, asked := proxy(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer srv.Close()
	c := NewClient(address)
	defer c.CloseIdleConnections()
	for host, want := range map[string]int{
		strings.Replace(srv.URL, "127.0.0.1", "localhost", 1): http.StatusTeapot,
		srv.URL:                   http.StatusTeapot,
		"http://service.example/": http.StatusOK,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, resp.StatusCode, want)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
	for host, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true,
		"api.localhost": true, "localhost.example": false, "10.0.0.1": false, "service.example": false} {
		if loopback(host) != want {
			t.Errorf("loopback %s: %v", host, !want)
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	c := NewClient("")
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestAProxysPasswordIsHidden(t *testing.T) {
	t.Parallel()
	r := strings.NewReplacer(Hidden("socks5://me:p%40ss@proxy.example:1080")...)
	if got := r.Replace("p@ss " + url.QueryEscape("p@ss")); strings.Contains(got, "ss ") {
		t.Errorf("%q", got)
	}
	if got := Host("socks5://me:secret@proxy.example:1080/x"); got != "socks5://proxy.example:1080" {
		t.Errorf("%q", got)
	}
	for s, good := range map[string]bool{"": true, "http://h:1": true, "ftp://h": false, "http://": false, "http://h?x": false, "://": false} {
		if err := CheckURL(s, ProxySchemes()...); (err == nil) != good {
			t.Errorf("%q: %v", s, err)
		}
	}
}
