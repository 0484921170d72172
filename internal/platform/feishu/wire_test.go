package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	sim "cligate/internal/sim/feishu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	appID    = "cli_rig"
	secret   = "rig-secret-0123456789"
	anna     = "ou_anna"
	direct   = "oc_direct"
	patience = 20 * time.Second
)

func service(t *testing.T) *sim.Server {
	t.Helper()
	s, err := sim.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.AddApp(appID, secret, "Rig")
	s.AddPerson(anna, "Anna")
	s.AddChat(direct, sim.P2P, "", []string{appID}, anna)
	return s
}

// ear is an inbox.
type ear struct {
	mu    sync.Mutex
	heard []string
	fail  int // so many events cannot be stored
}

func (e *ear) take(_ context.Context, payload []byte) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail > 0 {
		e.fail--
		return nil, errors.New("disk full")
	}
	e.heard = append(e.heard, string(payload))
	return nil, nil
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// listen runs a socket until the test ends, and returns what its run returned.
func listen(t *testing.T, s *sim.Server, e *ear, change func(*socket)) (*socket, <-chan error) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	cfg := Config{Account: "feishu", AppID: appID, AppSecret: secret, BaseURL: s.URL, Lang: "en", PingEvery: 10 * time.Second}.withDefaults()
	k := newSocket(cfg, log, newLink("en", nil, log), e.take)
	k.retry, k.retryMax, k.retire = 10*time.Millisecond, 50*time.Millisecond, 10*time.Millisecond
	if change != nil {
		change(k)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { out <- k.run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); k.client.CloseIdleConnections() })
	return k, out
}

func connected(t *testing.T, s *sim.Server, n int) {
	t.Helper()
	if !s.Wait(patience, func() bool { return s.Connections(appID) == n }) {
		t.Fatalf("%d connections, want %d", s.Connections(appID), n)
	}
}

func delivery(s *sim.Server, id string) sim.Delivery {
	for _, d := range s.Deliveries() {
		if d.ID == id {
			return d
		}
	}
	return sim.Delivery{}
}

func TestAnEventIsAcknowledgedWhenItIsStored(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{fail: 1}
	s.Ladder(time.Second, 20*time.Millisecond, 20*time.Millisecond)
	listen(t, s, e, nil)
	connected(t, s, 1)
	_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Fatalf("%+v", s.Deliveries())
	}
	if d := delivery(s, id); d.Attempts != 2 || e.count() != 1 || !strings.Contains(e.heard[0], "hello") {
		t.Errorf("%+v, heard %q", d, e.heard)
	}
}

// Storing a message may take its time. A press must be answered within three
// seconds, and is not pushed again.
func TestAPressDoesNotWaitForMessages(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	stored := make(chan struct{})
	listen(t, s, e, func(k *socket) {
		k.handle = func(ctx context.Context, payload []byte) ([]byte, error) {
			if strings.Contains(string(payload), eventMessage) {
				select {
				case <-stored:
				case <-ctx.Done():
				}
			}
			return e.take(ctx, payload)
		}
	})
	connected(t, s, 1)
	s.Ladder(patience)
	_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if c := s.Press(appID, "om_1", anna, map[string]any{"data": "ask:1:0"}, nil); c.Code != 0 {
		t.Errorf("%+v", c)
	}
	if delivery(s, id).Acked {
		t.Error("the message did not wait")
	}
	close(stored)
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Errorf("%+v", delivery(s, id))
	}
}

func TestEventsInSplitFramesAreWhole(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	s.Ladder(5*time.Second, time.Hour)
	s.Split(50)
	listen(t, s, e, nil)
	connected(t, s, 1)
	const many = 100
	var ids []string
	for range many {
		_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: strings.Repeat("words ", 20)})
		ids = append(ids, id)
	}
	for _, id := range ids {
		if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) || delivery(s, id).Attempts != 1 {
			t.Fatalf("%+v", delivery(s, id))
		}
	}
	if e.count() != many {
		t.Errorf("heard %d of %d", e.count(), many)
	}
	for _, h := range e.heard {
		if !json.Valid([]byte(h)) {
			t.Errorf("in pieces: %q", h)
		}
	}
}

// A connection that is half open takes everything and brings nothing; one that
// is deafened even answers pings.
func TestADeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	for name, mood := range map[string]sim.Mood{"half open": sim.HalfOpen, "without events": sim.Deafened} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := service(t), &ear{}
			s.Ladder(100*time.Millisecond, slices.Repeat([]time.Duration{50 * time.Millisecond}, 300)...) // until it is received
			listen(t, s, e, func(k *socket) {
				k.cfg.PingEvery = 100 * time.Millisecond
				if mood == sim.Deafened {
					k.cfg.Silence = 300 * time.Millisecond
				}
			})
			connected(t, s, 1)
			s.Turn(appID, mood)
			_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
			if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
				t.Fatalf("still deaf: %+v", s.Deliveries())
			}
		})
	}
}

func TestAnAppThatIsNotAcceptedAnyMoreEndsTheAdapter(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.EndpointFails(appID, 10014, "app secret invalid")
	a := adapter(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, &desk{}) }() // ends with ctx
	select {
	case err := <-ended:
		if chat.CodeOf(err) != chat.Denied {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
		cancel()
		<-ended
	}
}

func TestAConnectionThatIsCutIsMadeAgain(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	k, _ := listen(t, s, e, nil)
	connected(t, s, 1)
	s.EndpointFails(appID, 1, "system busy")
	s.Disconnect(appID)
	connected(t, s, 0)
	if !s.Wait(patience, func() bool { return !k.link.Health().Connected }) {
		t.Error("said to be connected")
	}
	s.EndpointFails(appID, 0, "")
	connected(t, s, 1)
	if !s.Wait(patience, func() bool { return k.link.Health().Connected }) {
		t.Error("said to be cut off")
	}
}

// A connection is good for more than one message: over one that is quiet for
// longer than a ping, and where the service cuts it after every message.
func TestEveryMessageComesWhateverTheConnectionDidAfterTheLast(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(s *sim.Server){
		"quiet": func(s *sim.Server) { s.Wait(1500*time.Millisecond, func() bool { return false }) },
		"cut": func(s *sim.Server) {
			before := s.Opened(appID)
			s.Disconnect(appID)
			s.Wait(patience, func() bool { return s.Opened(appID).After(before) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := service(t), &ear{}
			s.Ladder(patience, time.Hour)
			listen(t, s, e, func(k *socket) { k.cfg.PingEvery = time.Second })
			connected(t, s, 1)
			for i := range 3 {
				_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
				if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) || delivery(s, id).Attempts != 1 || e.count() != i+1 {
					t.Fatalf("message %d: %+v, heard %d", i, delivery(s, id), e.count())
				}
				after(s)
			}
		})
	}
}

func TestAnAppThatIsNotAcceptedIsNamedAndTooManyConnectionsAreWaitedFor(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	var told []string
	var mu sync.Mutex
	s.HandshakeFails(appID, 514, 1000040350)
	_, out := listen(t, s, e, func(k *socket) {
		k.link = newLink("en", func(d string, _ bool) { mu.Lock(); defer mu.Unlock(); told = append(told, d) }, k.log)
	})
	if !s.Wait(patience, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 1 && strings.Contains(told[0], "too many programs")
	}) {
		t.Errorf("told %q", told)
	}
	s.HandshakeFails(appID, 0, 0)
	connected(t, s, 1)
	s.ChangeSecret(appID, "another")
	s.Disconnect(appID)
	select {
	case err := <-out:
		if chat.CodeOf(err) != chat.Denied || strings.Contains(err.Error(), secret) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("goes on with a secret that is not accepted")
	}
}

// The service may leave the intervals out.
func TestZeroedIntervalsDoNotMakeUsPingWithoutPause(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	s.PingEvery(appID, 0, true)
	listen(t, s, e, nil)
	connected(t, s, 1)
	_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Error("not received")
	}
}

func client(t *testing.T, s *sim.Server) *rest {
	t.Helper()
	return newRest(Config{Account: "feishu", AppID: appID, AppSecret: secret, BaseURL: s.URL}.withDefaults(), slog.New(slog.DiscardHandler))
}

func say(text string) call {
	content, _ := json.Marshal(map[string]string{"text": text})
	return call{method: http.MethodPost, path: "im/v1/messages", query: map[string]string{"receive_id_type": "chat_id"},
		body: map[string]string{"receive_id": direct, "msg_type": "text", "content": string(content)}}
}

func TestARevokedTokenIsFetchedAnewOnce(t *testing.T) {
	t.Parallel()
	s := service(t)
	r := client(t, s)
	var out struct {
		ID string `json:"message_id"`
	}
	for range 3 {
		if err := r.do(t.Context(), say("x"), &out); err != nil || out.ID == "" {
			t.Fatalf("%v, %+v", err, out)
		}
		s.RevokeTokens(appID)
	}
	fetched := 0
	for _, c := range s.Calls() {
		if c.Method == "token" {
			fetched++
		}
	}
	if fetched != 3 {
		t.Errorf("%d tokens were asked for", fetched)
	}
	s.ChangeSecret(appID, "another")
	if err := r.do(t.Context(), say("x"), nil); chat.CodeOf(err) != chat.Denied || strings.Contains(err.Error(), secret) {
		t.Errorf("a wrong secret: %v", err)
	}
}

func TestWhatEachAnswerObligesTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault sim.Fault
		want  chat.Code
		after time.Duration
	}{
		"a rate":            {sim.Fault{Kind: sim.Refuse, Status: 429, Code: 99991400, Text: "limit", Reset: 7}, chat.Wait, 7 * time.Second},
		"a rate, as a page": {sim.Fault{Kind: sim.BadPage, Status: 429}, chat.Wait, time.Second},
		"a chat's rate":     {sim.Fault{Kind: sim.Refuse, Code: 230020, Text: "limit"}, chat.Wait, time.Second},
		"not a member":      {sim.Fault{Kind: sim.Refuse, Code: 230002, Text: "out"}, chat.Park, 0},
		"a bad card":        {sim.Fault{Kind: sim.Refuse, Code: 230099, Text: "ext=ErrCode: 11310; ErrMsg: x;"}, chat.Degrade, 0},
		"recalled":          {sim.Fault{Kind: sim.Refuse, Code: 230011, Text: "withdrawn"}, chat.Gone, 0},
		"code in a 200":     {sim.Fault{Kind: sim.Refuse, Status: 200, Code: 230001, Text: "ext=x"}, chat.Degrade, 0},
		"unknown":           {sim.Fault{Kind: sim.Refuse, Code: 999, Text: "x"}, chat.GiveUp, 0},
		"a foreign page":    {sim.Fault{Kind: sim.BadPage}, chat.Uncertain, 0},
		"an internal error": {sim.Fault{Kind: sim.Refuse, Status: 500, Code: 55001, Text: "x"}, chat.Uncertain, 0},
		"a lost answer":     {sim.Fault{Kind: sim.Lose}, chat.Uncertain, 0},
		"half an answer":    {sim.Fault{Kind: sim.CutBody}, chat.Uncertain, 0},
		"no answer":         {sim.Fault{Kind: sim.Hang}, chat.Uncertain, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			r := client(t, s)
			if err := r.do(t.Context(), say("first"), nil); err != nil {
				t.Fatal(err)
			}
			c.fault.Method, c.fault.Times = "message.create", 1
			s.Fail(c.fault)
			one := say("x")
			if c.fault.Kind == sim.Hang {
				one.limit = 100 * time.Millisecond
			}
			err := r.do(t.Context(), one, nil)
			if chat.CodeOf(err) != c.want || chat.AfterOf(err) != c.after {
				t.Errorf("%v: %s, wait %s", err, chat.CodeOf(err), chat.AfterOf(err))
			}
		})
	}
}

func TestAMissingScopeNamesThePageThatGrantsIt(t *testing.T) {
	t.Parallel()
	s := service(t)
	r := client(t, s)
	var told string
	r.missing = func(_, text string) { told = text }
	s.Withdraw(appID, "im:message", "im:message:send_as_bot")
	if err := r.do(t.Context(), say("x"), nil); chat.CodeOf(err) != chat.GiveUp || !strings.Contains(told, "https://open.feishu.cn/app/"+appID) {
		t.Errorf("%v, told %q", err, told)
	}
}

func posts(t *testing.T, s *sim.Server, e *ear) (*hook, string) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	h := newHook(Config{EncryptKey: "encrypt-key", VerificationToken: "verify"}, log, newLink("en", nil, log))
	h.take(e.take)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s.SetWebhook(appID, srv.URL, "encrypt-key", "verify")
	return h, srv.URL
}

func TestOnlyTheServicesOwnPostsAreTaken(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{}
	posts(t, s, e)
	if err := s.Challenge(appID); err != nil {
		t.Error(err)
	}
	_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) || e.count() != 1 {
		t.Fatalf("%+v", s.Deliveries())
	}
	event := func(token string) []byte {
		b, _ := json.Marshal(map[string]any{"schema": "2.0", "header": map[string]any{"event_id": "ev_x", "event_type": "im.message.receive_v1", "token": token}, "event": map[string]any{}})
		return b
	}
	for name, f := range map[string]sim.Forged{
		"plain":                   {Body: event("verify"), Plain: true, Signature: "none"},
		"no signature":            {Body: event("verify"), Signature: "none"},
		"a wrong signature":       {Body: event("verify"), Signature: strings.Repeat("0", 64)},
		"another key":             {Body: event("verify"), Key: "other"},
		"another token":           {Body: event("other")},
		"a day old":               {Body: event("verify"), At: time.Now().Add(-24 * time.Hour)},
		"from tomorrow":           {Body: event("verify"), At: time.Now().Add(24 * time.Hour)},
		"garbage":                 {Body: []byte("garbage")},
		"garbage, not encrypted":  {Body: []byte(`{"encrypt":"AAAA"}`), Plain: true},
		"too long":                {Body: bytes.Repeat([]byte("x"), maxEvent)},
		"a challenge of a forger": {Body: []byte(`{"type":"url_verification","token":"other","challenge":"x"}`)},
	} {
		if status, _, err := s.Forge(appID, f); err != nil || status == http.StatusOK {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
	good := sim.Forged{Body: event("verify"), Nonce: "same"}
	if status, _, err := s.Forge(appID, good); err != nil || status != http.StatusOK {
		t.Fatalf("the right one: %d, %v", status, err)
	}
	if status, _, _ := s.Forge(appID, good); status == http.StatusOK {
		t.Error("a replay is taken")
	}
	if e.count() != 2 {
		t.Errorf("taken: %q", e.heard)
	}
}

func TestAPostThatCannotBeStoredComesAgain(t *testing.T) {
	t.Parallel()
	s, e := service(t), &ear{fail: 2}
	s.Ladder(time.Second, 10*time.Millisecond, 10*time.Millisecond)
	posts(t, s, e)
	_, id := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) || delivery(s, id).Attempts != 3 || e.count() != 1 {
		t.Errorf("%+v", s.Deliveries())
	}
}

func TestConfigNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	err := Config{Mode: Webhook, BaseURL: "ftp://x", AppSecret: secret}.Validate()
	for _, want := range []string{"app_id", "Encrypt Key", "base_url", "no name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Error("the secret is told")
	}
	if err := (Config{Account: "feishu", AppID: appID, AppSecret: secret}).Validate(); err != nil {
		t.Error(err)
	}
}
