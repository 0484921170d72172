package model_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/sim/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *model.Server {
	t.Helper()
	s, err := model.Open(context.WithoutCancel(t.Context()), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// post sends a request with these messages, as JSON.
func post(t *testing.T, s *model.Server, stream bool, messages string) *http.Response {
	t.Helper()
	body := `{"model":"m","max_tokens":1,"stream":` + map[bool]string{true: "true", false: "false"}[stream] +
		`,"tools":[{"name":"Bash"}],"messages":` + messages + `}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "k")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func answer(t *testing.T, s *model.Server, messages string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(post(t, s, false, messages).Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// said joins the texts of an answer, and names its tools.
func said(m map[string]any) string {
	var parts []string
	for _, b := range m["content"].([]any) {
		block := b.(map[string]any)
		if block["type"] == "tool_use" {
			parts = append(parts, "<"+block["name"].(string)+">")
		} else {
			parts = append(parts, block["text"].(string))
		}
	}
	return strings.Join(parts, "|")
}

func TestTheLastOwnTextIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t)
	result := `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"out"}]}`
	for name, tt := range map[string]struct{ messages, want string }{
		"a plain text":             {`[{"role":"user","content":"say hi"}]`, "hi"},
		"reminders are skipped":    {`[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"say hi"}]}]`, "hi"},
		"the past is remembered":   {`[{"role":"user","content":"remember the word plum"},{"role":"assistant","content":"ok"},{"role":"user","content":"what was the word?"}]`, "the word was plum"},
		"a tool is called":         {`[{"role":"user","content":"say a\nrun ls\nsay b"}]`, "a|<Bash>"},
		"and then the rest":        {`[{"role":"user","content":"say a\nrun ls\nsay b"},` + result + `]`, "b"},
		"or its result":            {`[{"role":"user","content":"run ls"},` + result + `]`, "ran: out"},
		"two tools":                {`[{"role":"user","content":"tool 2\nsay end"}]`, "<Bash>|<Bash>"},
		"a tool that is not there": {`[{"role":"user","content":"ask"}]`, "no tool AskUserQuestion"},
		"a long text":              {`[{"role":"user","content":"` + strings.Repeat("x", 3000) + `"}]`, "3000 bytes"},
	} {
		if got := said(answer(t, s, tt.messages)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFailuresAreAsTold(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 3 {
		if resp := post(t, s, true, `[{"role":"user","content":"fail 529"}]`); resp.StatusCode != 529 {
			t.Errorf("status = %d", resp.StatusCode)
		}
	}
	for _, want := range []int{500, 500, 200} {
		if resp := post(t, s, false, `[{"role":"user","content":"fail 500 2\nsay fine"}]`); resp.StatusCode != want {
			t.Errorf("status = %d, want %d", resp.StatusCode, want)
		}
	}
	if _, err := io.ReadAll(post(t, s, true, `[{"role":"user","content":"cut"}]`).Body); err == nil {
		t.Error("a cut stream ends well")
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for body, want := range map[string]int{`{"model":"m","messages":[]}`: 400, `{"messages":[{"role":"user","content":"x"}]}`: 400, `nonsense`: 400} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		for _, key := range []string{"", "k"} {
			req.Body = io.NopCloser(strings.NewReader(body))
			code := want
			if key == "" {
				code = http.StatusUnauthorized
			} else {
				req.Header.Set("Authorization", "Bearer "+key)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != code {
				t.Errorf("%s with key %q: %d, want %d", body, key, resp.StatusCode, code)
			}
		}
	}
}

func TestCloseCutsAStreamThatHangs(t *testing.T) {
	t.Parallel()
	s, err := model.Open(context.WithoutCancel(t.Context()), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	resp := post(t, s, true, `[{"role":"user","content":"hang"}]`)
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("it hangs on: %v", err)
	}
}
