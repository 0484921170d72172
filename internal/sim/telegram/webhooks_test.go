package telegram

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is where a webhook leads.
type receiver struct {
	mu      sync.Mutex
	refuse  int // how many to refuse
	got     []int64
	secrets []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var u struct {
		ID int64 `json:"update_id"`
	}
	_ = json.NewDecoder(h.Body).Decode(&u)
	r.secrets = append(r.secrets, h.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
	if r.refuse > 0 {
		r.refuse--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.got = append(r.got, u.ID)
}

func TestAWebhookGetsEveryUpdateInOrderUntilItTakesIt(t *testing.T) {
	t.Parallel()
	s := start(t)
	rec := &receiver{refuse: 3}
	to := httptest.NewServer(rec)
	t.Cleanup(to.Close)
	s.Say(token, Say{Chat: alice, Text: "waited"})
	if r := call(t, s, "setWebhook", "url", to.URL+"/x", "secret_token", "s3cret", "max_connections", 1); !r.OK {
		t.Fatalf("%+v", r)
	}
	s.Say(token, Say{Chat: alice, Text: "two"})
	s.Say(token, Say{Chat: alice, Text: "three"})
	if !s.Wait(20*time.Second, func() bool { return s.Pending(token) == 0 }) {
		t.Fatal("not all were delivered")
	}
	rec.mu.Lock()
	if !slices.Equal(rec.got, []int64{1000, 1001, 1002}) || len(rec.secrets) != 6 || rec.secrets[5] != "s3cret" {
		t.Errorf("got %v with %q", rec.got, rec.secrets)
	}
	rec.mu.Unlock()
	r := call(t, s, "getWebhookInfo")
	if !strings.Contains(string(r.Result), "503 Service Unavailable") || !strings.Contains(string(r.Result), `"max_connections":1`) {
		t.Errorf("info %s", r.Result)
	}
	call(t, s, "deleteWebhook")
	s.Say(token, Say{Chat: alice, Text: "four"})
	if us := poll(t, s, 0); len(us) != 1 || us[0].Message.Text != "four" {
		t.Errorf("after deleteWebhook a poll gives %+v", us)
	}
}

func TestSettingAWebhookEndsThePollThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := make(chan reply, 1)
	go func() { first <- call(t, s, "getUpdates", "timeout", 20) }() // ends with the answer
	s.Wait(5*time.Second, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.bots[token].poll == 1 })
	call(t, s, "setWebhook", "url", "http://127.0.0.1:1/x")
	if r := <-first; r.Code != 409 || !strings.Contains(r.Description, "terminated by setWebhook request") {
		t.Errorf("%+v", r)
	}
}

func TestTheCloudWantsHTTPSAndOneOfItsPorts(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Cloud(true)
	for address, want := range map[string]string{
		"http://bot.example.org/x": "An HTTPS URL must be provided", "https://bot.example.org:9000/x": "only on ports 80, 88, 443 or 8443",
	} {
		if r := call(t, s, "setWebhook", "url", address); !strings.Contains(r.Description, want) {
			t.Errorf("%s: %+v", address, r)
		}
	}
	if r := call(t, s, "setWebhook", "url", "https://bot.example.org:8443/x", "secret_token", strings.Repeat("s", 257)); !strings.Contains(r.Description, "too long") {
		t.Errorf("%+v", r)
	}
}

func TestAPressWaitsShorterThanAMessage(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Say(token, Say{Chat: alice, Text: "kept"})
	s.Click(token, alice, 1, alice, "x")
	s.Elapse(151 * time.Second)
	if us := poll(t, s, 0); len(us) != 1 || us[0].Message == nil {
		t.Errorf("left: %+v", us)
	}
}

func TestMenusAreKeptByScopeAndLanguage(t *testing.T) {
	t.Parallel()
	s := start(t)
	set := func(scope any, lang, name string) reply {
		return call(t, s, "setMyCommands", "scope", scope, "language_code", lang, "commands", []map[string]string{{"command": name, "description": "x"}})
	}
	chatScope := map[string]any{"type": "chat", "chat_id": alice}
	set(map[string]any{"type": "default"}, "", "a")
	set(map[string]any{"type": "default"}, "zh", "b")
	set(chatScope, "", "c")
	for key, want := range map[[2]string]string{{"default", ""}: "a", {"default", "zh"}: "b", {"chat 11", ""}: "c"} {
		if got := s.Menu(token, key[0], key[1]); !slices.Equal(got, []string{want}) {
			t.Errorf("%v: %v", key, got)
		}
	}
	if r := call(t, s, "getMyCommands", "scope", chatScope, "language_code", "zh"); string(r.Result) != "[]" {
		t.Errorf("a scope falls back: %s", r.Result)
	}
	call(t, s, "deleteMyCommands", "scope", chatScope)
	if got := s.Menu(token, "chat 11", ""); got != nil {
		t.Errorf("deleted, and %v", got)
	}
	for _, r := range []reply{set(map[string]any{"type": "everywhere"}, "", "a"), set(nil, "english", "a"), set(map[string]any{"type": "chat_administrators", "chat_id": alice}, "", "a")} {
		if r.OK {
			t.Error("an impossible scope or language is taken")
		}
	}
}
