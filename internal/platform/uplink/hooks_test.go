package uplink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// taker reads posts of up to ten bytes.
func taker(w http.ResponseWriter, r *http.Request) {
	if !Posted(w, r) {
		return
	}
	if body, ok := Body(w, r, 10); ok {
		_, _ = w.Write(body)
	}
}

func serve(t *testing.T, change func(*Hooks), spots ...Spot) *Hooks {
	t.Helper()
	h, err := OpenHooks(t.Context(), "127.0.0.1:0", spots, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := errors.Join(h.Close(), h.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func call(t *testing.T, method, url, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestAPathIsOneAccountsAndNothingElseIsThere(t *testing.T) {
	t.Parallel()
	spot := Spot{Addr: "127.0.0.1:0", Path: "/a", Sealed: true, Handler: http.HandlerFunc(taker)}
	h := serve(t, nil, spot, Spot{Addr: "127.0.0.1:1", Path: "/elsewhere", Sealed: true, Handler: http.HandlerFunc(taker)})
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/a", "words", http.StatusOK},
		{"GET", "/a", "", http.StatusMethodNotAllowed},
		{"POST", "/a", "more words than fit", http.StatusRequestEntityTooLarge},
		{"POST", "/a/", "", http.StatusNotFound},
		{"POST", "/", "", http.StatusNotFound},
		{"POST", "/elsewhere", "", http.StatusNotFound},
	} {
		if got := call(t, c.method, "http://"+h.Addr()+c.path, c.body); got != c.want {
			t.Errorf("%s %s %q: %d, want %d", c.method, c.path, c.body, got, c.want)
		}
	}
	if _, err := OpenHooks(t.Context(), spot.Addr, []Spot{spot, spot}, quiet()); chat.CodeOf(err) != chat.Invalid {
		t.Errorf("two accounts on one path: %v", err)
	}
	if _, err := OpenHooks(t.Context(), h.Addr(), nil, quiet()); chat.CodeOf(err) != chat.Unavailable {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestNoWebhookIsOpenedWithoutASecret(t *testing.T) {
	t.Parallel()
	spot := Spot{Addr: "127.0.0.1:0", Path: "/a", Handler: http.HandlerFunc(taker)}
	if _, err := OpenHooks(t.Context(), spot.Addr, []Spot{spot}, quiet()); chat.CodeOf(err) != chat.Invalid {
		t.Errorf("%v", err)
	}
}

// A caller who sends nothing, or too slowly, holds a connection for seconds
// only, and others are served meanwhile.
func TestASlowCallerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	h := serve(t, func(h *Hooks) {
		h.srv.ReadHeaderTimeout, h.srv.ReadTimeout = 300*time.Millisecond, 600*time.Millisecond
	}, Spot{Addr: "127.0.0.1:0", Path: "/a", Sealed: true, Handler: http.HandlerFunc(taker)})
	var slow []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", h.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
		slow = append(slow, c)
	}
	if got := call(t, http.MethodPost, "http://"+h.Addr()+"/a", "words"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	for _, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		var ne net.Error
		if _, err := io.Copy(io.Discard, c); errors.As(err, &ne) && ne.Timeout() {
			t.Fatal("a connection that never finishes its request is kept")
		}
	}
}

func TestWhoIsNotTheServiceFillsNoLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var s Strangers
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		s.Note(r, slog.New(slog.NewTextHandler(&log, nil)), "no secret")
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
}
