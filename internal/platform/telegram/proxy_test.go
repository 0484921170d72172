package telegram

import (
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/sim/proxy"
	fakebot "cligate/internal/sim/telegram"
)

// proxies opens one of each kind.
func proxies(t *testing.T) map[string]*proxy.Proxy {
	t.Helper()
	s, err := proxy.Socks()
	if err != nil {
		t.Fatal(err)
	}
	h := proxy.HTTP(false)
	t.Cleanup(s.Close)
	t.Cleanup(h.Close)
	return map[string]*proxy.Proxy{"socks5": s, "socks5h": s, "http": h}
}

func TestEverythingGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	for scheme, p := range proxies(t) {
		before := p.Served()
		srv := strictServer(t)
		a, log := open(t, Config{Proxy: p.URL(scheme, proxy.Word), PollTimeout: time.Second, APIURL: proxy.Elsewhere(srv.URL)})
		in := newInbox()
		stop := start(t, a, in)
		srv.Say(testToken, fakebot.Say{Chat: ann, Text: "hello"})
		if !srv.Wait(patience, func() bool { return len(in.texts()) == 1 }) {
			t.Fatalf("%s: nothing arrives\n%s", scheme, log)
		}
		if _, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{Text: "x"})); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		if p.Served() == before {
			t.Errorf("%s: the proxy was passed by", scheme)
		}
		if strings.Contains(log.String(), proxy.Word) {
			t.Errorf("%s: the log holds the proxy's password", scheme)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestAProxyThatRefusesIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for scheme, p := range proxies(t) {
		a, log := open(t, Config{Proxy: p.URL(scheme, "wrong-"+proxy.Word), APIURL: "http://" + proxy.Away})
		fs := a.Inspect(t.Context(), platform.Inquiry{})
		if len(fs) != 1 || fs[0].OK || strings.Contains(fs[0].Detail, proxy.Word) {
			t.Errorf("%s: %+v", scheme, fs)
		}
		if strings.Contains(log.String(), proxy.Word) {
			t.Errorf("%s: the log holds the password", scheme)
		}
		if p.Served() != 0 || p.Turned() == 0 {
			t.Errorf("%s: let through %d, turned away %d", scheme, p.Served(), p.Turned())
		}
	}
}
