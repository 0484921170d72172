package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
	fakebot "cligate/internal/sim/telegram"
)

const hookSecret = "a-secret_of_the-webhook"

// hooked makes an adapter that is delivered to, its door, and the service.
func hooked(t *testing.T) (*Adapter, *fakebot.Server, *logged, string) {
	t.Helper()
	door := httptest.NewUnstartedServer(nil)
	at := "http://" + door.Listener.Addr().String() + "/in"
	a, srv, log := strict(t, Config{Webhook: Webhook{URL: at, Addr: door.Listener.Addr().String(), Secret: hookSecret}})
	door.Config.Handler = a.hook
	door.Start()
	t.Cleanup(door.Close)
	return a, srv, log, at
}

// knock posts body to the webhook and returns the status.
func knock(t *testing.T, method, at, secret, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set(hookHeader, secret)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if left, _ := io.ReadAll(resp.Body); len(left) > 0 {
		t.Errorf("an answer says %q", left)
	}
	return resp.StatusCode
}

func TestAWebhookDeliversInOrderWhatIsStored(t *testing.T) {
	t.Parallel()
	a, srv, _, at := hooked(t)
	in := newInbox()
	in.fail = func(n int) error {
		if n == 3 || n == 4 { // the first call notes the webhook
			return errors.New("disk full")
		}
		return nil
	}
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "waited"})
	start(t, a, in)
	for _, s := range []string{"two", "three"} {
		srv.Say(testToken, fakebot.Say{Chat: ann, Text: s})
	}
	if !srv.Wait(patience, func() bool { return len(in.texts()) == 3 && srv.Pending(testToken) == 0 }) {
		t.Fatalf("got %q, %d wait", in.texts(), srv.Pending(testToken))
	}
	if got := in.texts(); !slices.Equal(got, []string{"waited", "two", "three"}) {
		t.Errorf("got %q", got)
	}
	var refused int
	for _, d := range srv.Deliveries(testToken) {
		if d.Status == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused < 2 {
		t.Errorf("deliveries %v: what could not be stored was acknowledged", srv.Deliveries(testToken))
	}
	if in.cursor != hookMark(at) {
		t.Errorf("cursor %q", in.cursor)
	}
	if !srv.Wait(patience, func() bool { return a.Health().Connected }) {
		t.Errorf("health %+v", a.Health())
	}
	for _, c := range srv.Calls() {
		if c.Method == "setWebhook" && (c.Params["allowed_updates"] != wanted || c.Params["max_connections"] != "1" || c.Params["secret_token"] != hookSecret || c.Params["drop_pending_updates"] != "") {
			t.Errorf("set with %v", c.Params)
		}
	}
}

func TestAWebhookTakesNothingWithoutTheSecret(t *testing.T) {
	t.Parallel()
	a, srv, log, at := hooked(t)
	in := newInbox()
	start(t, a, in)
	if !srv.Wait(patience, func() bool { u, _ := srv.Webhook(testToken); return u != "" && a.Health().Connected }) {
		t.Fatal("not set")
	}
	body := textUpdate(5, "forged")
	for name, secret := range map[string]string{"none": "", "wrong": "a-secret_of_the-webhooc", "part": hookSecret[:5], "more": hookSecret + "x"} {
		if got := knock(t, http.MethodPost, at, secret, body); got != http.StatusUnauthorized {
			t.Errorf("%s: status %d", name, got)
		}
	}
	twice, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	twice.Header[http.CanonicalHeaderKey(hookHeader)] = []string{hookSecret, "other"}
	w := httptest.NewRecorder()
	a.hook.ServeHTTP(w, twice)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("two secrets: status %d", w.Code)
	}
	if got := knock(t, http.MethodGet, at, hookSecret, ""); got != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", got)
	}
	if got := knock(t, http.MethodPost, at, hookSecret, strings.Repeat(" ", hookBody+1)); got != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: status %d", got)
	}
	if got := in.texts(); len(got) != 0 {
		t.Errorf("taken: %q", got)
	}
	if n := strings.Count(log.String(), "not the service"); n != 1 {
		t.Errorf("%d lines in the log: who knocks can fill it", n)
	}
	if strings.Contains(log.String(), hookSecret) {
		t.Error("the log holds the secret")
	}
	if got := knock(t, http.MethodPost, at, hookSecret, body); got != http.StatusOK || !slices.Equal(in.texts(), []string{"forged"}) {
		t.Errorf("with the secret: status %d, got %q", got, in.texts())
	}
}

func TestAWebhookKeepsWhatItCannotUnderstand(t *testing.T) {
	t.Parallel()
	a, srv, _, at := hooked(t)
	in := newInbox()
	start(t, a, in)
	if !srv.Wait(patience, func() bool { return a.Health().Connected }) {
		t.Fatal("not set")
	}
	for _, body := range []string{`{"update_id":1,"message":{"message_id":"x"}}`, `no JSON`, ``} {
		if got := knock(t, http.MethodPost, at, hookSecret, body); got != http.StatusOK {
			t.Errorf("%q: status %d, so that it would come for ever", body, got)
		}
	}
	if len(in.unread) != 3 || string(in.unread[1].Raw) != `"no JSON"` {
		t.Errorf("kept %v", in.unread)
	}
}

func TestAWebhookRefusesWhileTheAccountDoesNotRun(t *testing.T) {
	t.Parallel()
	a, srv, _, at := hooked(t)
	if got := knock(t, http.MethodPost, at, hookSecret, textUpdate(1, "early")); got != http.StatusServiceUnavailable {
		t.Errorf("before the start: status %d", got)
	}
	in := newInbox()
	stop := start(t, a, in)
	if !srv.Wait(patience, func() bool { return a.Health().Connected }) {
		t.Fatal("not set")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := knock(t, http.MethodPost, at, hookSecret, textUpdate(2, "late")); got != http.StatusServiceUnavailable {
		t.Errorf("after the end: status %d", got)
	}
	if u, _ := srv.Webhook(testToken); u != at {
		t.Errorf("the end of a life removed the webhook (%q): what comes meanwhile would not wait for the next one", u)
	}
	if n := len(in.texts()); n != 0 {
		t.Errorf("%d messages were taken", n)
	}
}

func TestPollingRemovesOurOwnWebhookAndNoOther(t *testing.T) {
	t.Parallel()
	a, srv, _, at := hooked(t)
	in := newInbox()
	stop := start(t, a, in)
	if !srv.Wait(patience, func() bool { u, _ := srv.Webhook(testToken); return u == at && a.Health().Connected }) {
		t.Fatal("not set")
	}
	_ = stop()
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "in between"})
	b, _ := open(t, Config{APIURL: srv.URL, PollTimeout: time.Second})
	stop = start(t, b, in)
	if !srv.Wait(patience, func() bool { return slices.Contains(in.texts(), "in between") }) {
		t.Fatalf("got %q", in.texts())
	}
	if u, _ := srv.Webhook(testToken); u != "" {
		t.Errorf("left: %q", u)
	}
	srv.SetWebhook(testToken, true) // another program's
	if !srv.Wait(patience, func() bool { return strings.Contains(b.Health().Detail, "webhook") }) {
		t.Fatal("not noticed")
	}
	_ = stop()
	if u, _ := srv.Webhook(testToken); u == "" {
		t.Error("another program's webhook was removed")
	}
	c, _ := open(t, Config{APIURL: srv.URL, PollTimeout: time.Second, RemoveWebhook: true})
	start(t, c, in)
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "after it"})
	if !srv.Wait(patience, func() bool { return slices.Contains(in.texts(), "after it") }) {
		t.Fatalf("got %q with remove_webhook", in.texts())
	}
}

func TestAddressesOfWebhooksAreComparedAsWhatTheyMean(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"https://Bot.Example.org/In", "https://bot.example.org/In"},
		{"HTTPS://bot.example.org:443/in", "https://bot.example.org/in"},
		{"http://bot.example.org:80/in", "http://bot.example.org/in"},
		{"https://bot.example.org", "https://bot.example.org/"},
		{"https://bot.example.org./in", "https://bot.example.org/in"},
		{"https://bot.example.org/%69n", "https://bot.example.org/in"},
		{"https://[2001:DB8::1]:443/in", "https://[2001:db8::1]/in"},
	} {
		if !alike(same[0], same[1]) || !ours(hookMark(same[0]), same[1]) || !ours(hookMark(same[1]), same[0]) {
			t.Errorf("%q are one", same)
		}
	}
	for _, other := range [][2]string{
		{"https://bot.example.org/in", "http://bot.example.org/in"},
		{"https://bot.example.org/in", "https://bot.example.org/In"},
		{"https://bot.example.org/in", "https://bot.example.org/in/"},
		{"https://bot.example.org/in", "https://bot.example.org:8443/in"},
		{"https://bot.example.org/in", "https://bot.example.org:80/in"},
		{"https://bot.example.org/in?a=1", "https://bot.example.org/in?a=2"},
		{"https://a.example.org/in", "https://b.example.org/in"},
		{"::", ":::"},
	} {
		if alike(other[0], other[1]) || ours(hookMark(other[0]), other[1]) {
			t.Errorf("%q are two", other)
		}
	}
}

func TestOurOwnWebhookIsKnownThoughTheServiceWritesItAnotherWay(t *testing.T) {
	t.Parallel()
	_, srv, _ := strict(t, Config{})
	srv.Normalise(true)
	in := newInbox()
	a, _ := open(t, Config{APIURL: srv.URL, Webhook: Webhook{URL: "HTTP://LocalHost:80", Addr: "127.0.0.1:1", Path: "/", Secret: hookSecret}})
	stop := start(t, a, in)
	if !srv.Wait(patience, func() bool { u, _ := srv.Webhook(testToken); return u != "" && a.Health().Connected }) {
		t.Fatalf("not set: %+v", a.Health())
	}
	if f := finding(t, a.Inspect(t.Context(), platform.Inquiry{}), "delivery"); !f.OK {
		t.Errorf("the doctor takes it for another's: %+v", f)
	}
	_ = stop()
	b, _ := open(t, Config{APIURL: srv.URL, PollTimeout: time.Second})
	start(t, b, in)
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "in between"})
	if !srv.Wait(patience, func() bool { return slices.Contains(in.texts(), "in between") }) {
		t.Fatalf("got %q, health %+v", in.texts(), b.Health())
	}
}

func TestTheHealthOfAWebhookIsWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const at = "https://bot.example.org/in"
		var set, info atomic.Pointer[string]
		var sets atomic.Int64
		say := func(p *atomic.Pointer[string], s string) { p.Store(&s) }
		say(&set, "")
		say(&info, `"pending_update_count":0`)
		var alarms []string
		a, _ := offline(t, Config{
			Webhook: Webhook{URL: at, Addr: "127.0.0.1:1", Secret: hookSecret},
			Alarm:   func(d string, _ bool) { alarms = append(alarms, d) },
		}, func(method string, _ url.Values) (int, string) {
			switch method {
			case "getMe":
				return ok(meJSON)
			case "getWebhookInfo":
				return ok(`{"url":"` + *set.Load() + `",` + *info.Load() + `}`)
			case "setWebhook":
				sets.Add(1)
				say(&set, at)
			}
			return ok("true")
		})
		stop := start(t, a, newInbox())
		look := func(want string, connected bool) {
			t.Helper()
			time.Sleep(2 * hookLook)
			synctest.Wait()
			if h := a.Health(); h.Connected != connected || !strings.Contains(h.Detail, want) {
				t.Errorf("health %+v, want %q", h, want)
			}
		}
		look("receiving", true)
		say(&info, `"pending_update_count":4,"last_error_date":100,"last_error_message":"SSL error {certificate verify failed}"`)
		look("certificate verify failed", false)
		say(&info, `"pending_update_count":0,"last_error_date":100,"last_error_message":"SSL error {certificate verify failed}"`)
		look("receiving", true)
		say(&set, "https://other.example.org/")
		look("another program", false)
		if sets.Load() != 1 {
			t.Errorf("the webhook was set %d times: a war", sets.Load())
		}
		say(&set, "")
		look("receiving", true)
		if sets.Load() != 2 || len(alarms) != 2 {
			t.Errorf("set %d times, told %q", sets.Load(), alarms)
		}
		_ = stop()
	})
}

func TestARefusedTokenEndsAWebhookToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var met atomic.Bool
		a, _ := offline(t, Config{Webhook: Webhook{URL: "https://bot.example.org/in", Addr: "127.0.0.1:1", Secret: hookSecret}},
			func(method string, _ url.Values) (int, string) {
				if method == "getMe" && met.CompareAndSwap(false, true) {
					return ok(meJSON)
				}
				return no(401, "Unauthorized")
			})
		if err := a.Run(t.Context(), newInbox()); chat.CodeOf(err) != chat.Denied {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestOneRefusalOfTheTokenIsNotTheEndOfAWebhook(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"getMe", "getWebhookInfo", "setWebhook"} {
		for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMisdirectedRequest} {
			t.Run(fmt.Sprint(refused, status), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const at = "https://bot.example.org/in"
					var once, set atomic.Bool
					a, _ := offline(t, Config{Webhook: Webhook{URL: at, Addr: "127.0.0.1:1", Secret: hookSecret}},
						func(method string, _ url.Values) (int, string) {
							switch {
							case method == refused && once.CompareAndSwap(false, true):
								return no(status, http.StatusText(status))
							case method == "getMe":
								return ok(meJSON)
							case method == "setWebhook":
								set.Store(true)
							case method == "getWebhookInfo" && set.Load():
								return ok(`{"url":"` + at + `","pending_update_count":0}`)
							case method == "getWebhookInfo":
								return ok(`{"url":"","pending_update_count":0}`)
							}
							return ok("true")
						})
					in := newInbox()
					stop := start(t, a, in)
					time.Sleep(time.Minute)
					synctest.Wait()
					if h := a.Health(); !h.Connected || !once.Load() {
						t.Errorf("health %+v", h)
					}
					if err := a.hook.take(t.Context(), []byte(textUpdate(5, "here"))); err != nil || !slices.Equal(in.texts(), []string{"here"}) {
						t.Errorf("a delivery is taken as %q: %v", in.texts(), err)
					}
					if err := stop(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestAWebhookNeedsASecretAndAnAddressThatTelegramCalls(t *testing.T) {
	t.Parallel()
	good := Webhook{URL: "https://bot.example.org/in", Addr: "127.0.0.1:8766", Secret: "s"}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"all is well":      {func(*Config) {}, ""},
		"no secret":        {func(c *Config) { c.Webhook.Secret = "" }, "webhook_secret"},
		"odd secret":       {func(c *Config) { c.Webhook.Secret = "a b" }, "webhook_secret"},
		"long secret":      {func(c *Config) { c.Webhook.Secret = strings.Repeat("x", 257) }, "webhook_secret"},
		"plain http":       {func(c *Config) { c.Webhook.URL = "http://bot.example.org/in" }, "webhook_url"},
		"odd port":         {func(c *Config) { c.Webhook.URL = "https://bot.example.org:9000/in" }, "443, 80, 88 and 8443"},
		"own server":       {func(c *Config) { c.APIURL, c.Webhook.URL = "http://127.0.0.1:8081", "http://127.0.0.1:9000/in" }, ""},
		"no address":       {func(c *Config) { c.Webhook.Addr = "here" }, "webhook_addr"},
		"path without a /": {func(c *Config) { c.Webhook.Path = "in" }, "webhook_path"},
	} {
		cfg := Config{Account: "main", Token: testToken, Webhook: good}
		c.change(&cfg)
		switch err := cfg.Validate(); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// spots are where these bots are delivered to.
func spots(as ...*Adapter) (out []uplink.Spot) {
	for _, a := range as {
		s, _ := a.Webhook()
		out = append(out, s)
	}
	return out
}

func TestSeveralBotsShareAnAddressByPath(t *testing.T) {
	t.Parallel()
	one := func(account, path string) *Adapter {
		a, _ := open(t, Config{Account: account, APIURL: "http://127.0.0.1:1", Webhook: Webhook{
			URL: "http://bot.example.org" + path, Addr: "127.0.0.1:0", Secret: "secret-of-" + account}})
		return a
	}
	a, b := one("a", "/a"), one("b", "/b")
	h, err := uplink.OpenHooks(t.Context(), "127.0.0.1:0", spots(a, b), a.log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }() // ends with ctx
	base := "http://" + h.Addr()
	for _, c := range []struct {
		path, secret string
		want         int
	}{
		{"/a", "secret-of-a", http.StatusServiceUnavailable}, // not running, but known
		{"/b", "secret-of-b", http.StatusServiceUnavailable},
		{"/a", "secret-of-b", http.StatusUnauthorized},
		{"/", "secret-of-a", http.StatusNotFound},
		{"/a/", "secret-of-a", http.StatusNotFound},
		{"/b/../a", "secret-of-a", http.StatusNotFound},
	} {
		if got := knock(t, http.MethodPost, base+c.path, c.secret, "{}"); got != c.want {
			t.Errorf("%s with %s: %d, want %d", c.path, c.secret, got, c.want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := uplink.OpenHooks(t.Context(), "127.0.0.1:0", spots(a, one("c", "/a")), a.log); chat.CodeOf(err) != chat.Invalid {
		t.Errorf("two bots on one path: %v", err)
	}
}
