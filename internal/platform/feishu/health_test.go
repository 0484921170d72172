package feishu

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
	sim "cligate/internal/sim/feishu"
)

// operator hears what only the operator can end.
type operator struct {
	mu   sync.Mutex
	told []string
	mute []string // of that, what the account itself cannot carry
}

func (o *operator) alarm(detail string, speaks bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, detail)
	if !speaks {
		o.mute = append(o.mute, detail)
	}
}

func (o *operator) heard() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.told...)
}

func TestEveryKindOfRefusedConnectionIsNamedAndMended(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse, heal func(s *sim.Server)
		want         uplink.Trouble
		says         string
	}{
		"too many programs": {
			func(s *sim.Server) { s.HandshakeFails(appID, 514, 1000040350) },
			func(s *sim.Server) { s.HandshakeFails(appID, 0, 0) }, troubleCrowded, "1000040350",
		},
		"forbidden": {
			func(s *sim.Server) { s.HandshakeFails(appID, 403, 0) },
			func(s *sim.Server) { s.HandshakeFails(appID, 0, 0) }, troubleRefused, "code 403",
		},
		"a code that nobody knows": {
			func(s *sim.Server) { s.EndpointFails(appID, 1000040399, "not in this mode") },
			func(s *sim.Server) { s.EndpointFails(appID, 0, "") }, troubleRefused, "1000040399: not in this mode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e, o := service(t), &ear{}, &operator{}
			c.refuse(s)
			k, _ := listen(t, s, e, func(k *socket) {
				k.link, k.refused = newLink("en", o.alarm, k.log), 10*time.Millisecond
			})
			if !s.Wait(patience, func() bool { return k.link.Trouble() == c.want }) {
				t.Fatalf("the trouble is %q", k.link.Trouble())
			}
			if h := k.link.Health(); h.Connected || !strings.Contains(h.Detail, c.says) || !strings.Contains(h.Detail, "since") {
				t.Errorf("%+v", h)
			}
			if !s.Wait(patience, func() bool { return len(o.heard()) == 1 }) || !strings.Contains(o.heard()[0], c.says) {
				t.Errorf("the operator hears %q", o.heard())
			}
			c.heal(s)
			connected(t, s, 1)
			if !s.Wait(patience, func() bool { return k.link.Health().Connected }) {
				t.Error("still said to be cut off")
			}
		})
	}
}

func TestADeadLongConnectionIsToldApartFromADeadService(t *testing.T) {
	t.Parallel()
	s, in := service(t), &ear{}
	a := adapter(t, s, nil)
	k, _ := listen(t, s, in, func(k *socket) { k.link, k.reach = a.link, a.reaches })
	connected(t, s, 1)
	s.EndpointFails(appID, 1, "system busy")
	s.Disconnect(appID)
	used := func() int {
		n := 0
		for _, c := range s.Calls() {
			if c.Method == "endpoint" {
				n++
			}
		}
		return n
	}
	before := used()
	if !s.Wait(patience, func() bool { return used() > before+3 && k.link.Trouble() == troubleCut }) {
		t.Errorf("with calls that work: %q", k.link.Trouble())
	}
	s.Fail(sim.Fault{Kind: sim.Drop})
	if !s.Wait(patience, func() bool { return k.link.Trouble() == troubleNetwork }) {
		t.Errorf("with calls that do not: %q", k.link.Trouble())
	}
	s.Heal()
	s.EndpointFails(appID, 0, "")
	connected(t, s, 1)
}

func TestAMissingScopeIsToldOnceHoweverManyCallsNeedIt(t *testing.T) {
	t.Parallel()
	s, o := service(t), &operator{}
	a := adapter(t, s, func(c *Config) { c.Alarm = o.alarm })
	s.Withdraw(appID, "im:message", "im:message:send_as_bot", "im:message.reactions:write_only", "im:chat:readonly")
	for range 5 {
		_, _ = a.Send(t.Context(), chat.Out{ID: 1, Op: chat.OpPost, Key: "k", Place: chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}, Part: chat.Part{Text: "x"}})
		_, _ = a.kindOf(t.Context(), direct)
	}
	got := o.heard()
	if len(got) != 2 {
		t.Fatalf("the operator hears %q", got)
	}
	for _, d := range got {
		if !strings.Contains(d, "https://open.feishu.cn/app/"+appID+"/auth?q=") {
			t.Errorf("%q does not say where", d)
		}
	}
	if len(o.mute) != 1 || !strings.Contains(o.mute[0], "im:message, im:message:send_as_bot") {
		t.Errorf("the account is to carry that it may not speak: %q", o.mute)
	}
}

func TestARefusalForWantOfAScopeIsTakenApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"Access denied. One of the following scopes is required: [im:message:send, im:message].应用尚未开通所需的应用身份权限：[im:message:send, im:message]，点击链接申请并开通任一权限即可：https://open.feishu.cn/app/cli_x/auth?q=im:message&op_from=openapi": {
			"im:message im:message:send", "https://open.feishu.cn/app/cli_x/auth?q=im:message&op_from=openapi"},
		"scopes [a:b_c.d] https://open.larksuite.com/app/x。": {"a:b_c.d", "https://open.larksuite.com/app/x"},
		"denied": {"", ""},
	} {
		scopes, page := wanting(text)
		if got := [2]string{strings.Join(scopes, " "), page}; got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestPostsThatOurKeyDoesNotOpenAreNamedUntilOneDoes(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(s *sim.Server, url string){
		"another key":   func(s *sim.Server, url string) { s.SetWebhook(appID, url, "another", "verify") },
		"another token": func(s *sim.Server, url string) { s.SetWebhook(appID, url, "encrypt-key", "another") },
		"no key":        func(s *sim.Server, url string) { s.SetWebhook(appID, url, "", "verify") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := service(t), &ear{}
			s.Ladder(time.Second, 10*time.Millisecond)
			h, url := posts(t, s, e)
			set(s, url)
			if err := s.Challenge(appID); err == nil {
				t.Fatal("the address is accepted in the console")
			}
			if h.link.Trouble() != troubleSealed || !strings.Contains(h.link.Health().Detail, "encrypt_key") {
				t.Errorf("%+v", h.link.Health())
			}
			s.SetWebhook(appID, url, "encrypt-key", "verify")
			_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
			if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
				t.Fatalf("%+v", s.Deliveries())
			}
			h.link.Set(t.Context(), troubleNone, nil) // as taking an event does
			if status, _, err := s.Forge(appID, sim.Forged{Body: []byte(`{}`), Key: "other"}); err != nil || status == http.StatusOK {
				t.Errorf("%d, %v", status, err)
			}
			if h.link.Trouble() != troubleNone {
				t.Error("somebody else's post counts as trouble once the service's own came")
			}
		})
	}
}

func TestAnAppWithoutABotIsNamedAndGoesOnOnceItHasOne(t *testing.T) {
	t.Parallel()
	s, o := service(t), &operator{}
	a := adapter(t, s, func(c *Config) { c.Alarm = o.alarm })
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "bot.info", Code: 11205, Text: "app do not have bot", Times: 1})
	if err := a.hello(t.Context()); err != nil || a.bot() == "" {
		t.Errorf("%v", err)
	}
	if got := o.heard(); len(got) != 1 || !strings.Contains(got[0], "Bot") {
		t.Errorf("the operator hears %q", got)
	}
}

func TestATokenWithoutASensibleLifeIsUsedForAWhile(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int]time.Duration{0: shortToken, -5: shortToken, 60: shortToken, 3600: time.Hour, 7200: longToken, 1 << 40: longToken} {
		if got := tokenLife(seconds); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
	s := service(t)
	s.TokenSaysNothing(appID)
	r := newRest(Config{Account: "feishu", AppID: appID, AppSecret: secret, BaseURL: s.URL}.withDefaults(), slog.New(slog.DiscardHandler))
	now := time.Now()
	r.tokens.now = func() time.Time { return now }
	fetched := func() (n int) {
		for _, c := range s.Calls() {
			if c.Method == "token" {
				n++
			}
		}
		return n
	}
	for range 20 {
		if err := r.do(t.Context(), say("x"), nil); err != nil && chat.CodeOf(err) != chat.Wait {
			t.Fatal(err)
		}
	}
	if fetched() != 1 {
		t.Errorf("%d tokens for twenty calls", fetched())
	}
	now = now.Add(shortToken)
	if err := r.do(t.Context(), call{method: http.MethodGet, path: botInfo}, nil); err != nil || fetched() != 2 {
		t.Errorf("%v, %d tokens", err, fetched())
	}
}

// ledger stores what arrives.
type ledger struct {
	mu   sync.Mutex
	msgs []chat.Message
}

// Receive implements platform.Inbound.
func (l *ledger) Receive(_ context.Context, b platform.Batch) ([]chat.Ack, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.msgs = append(l.msgs, b.Messages...)
	return make([]chat.Ack, len(b.Messages)), nil
}

// Cursor implements platform.Inbound.
func (l *ledger) Cursor(context.Context, string) (string, error) { return "", nil }

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.msgs)
}

// run runs an adapter until the test ends.
func run(t *testing.T, a *Adapter, in platform.Inbound) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.Run(ctx, in) }) // an error shows in what the test waits for
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// ticker is a clock that tests move.
type ticker struct {
	mu sync.Mutex
	at time.Time
}

func (c *ticker) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *ticker) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
