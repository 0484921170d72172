package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
)

func TestNamesFollowTheirGrammar(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"a": true, "c-01ab": true, "terminal": true, "": false, "-a": false, "A": false, "a/b": false, "a.b": false, "a b": false, "é": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "a\n": false} {
		if ValidChat(s) != want {
			t.Errorf("ValidChat(%q) = %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"12345678": true, "AbC-_123": true, "1234567": false, "12345678\n": false, "1234/678": false, strings.Repeat("a", 65): false} {
		if ValidKey(s) != want {
			t.Errorf("ValidKey(%q) = %v", s, !want)
		}
	}
}

func TestIDsOfOwnMessagesAreTheirKeys(t *testing.T) {
	t.Parallel()
	if id := MineID("key-0001"); KeyOf(id) != "key-0001" || id == "key-0001" {
		t.Errorf("id %q, key %q", id, KeyOf(id))
	}
	if KeyOf("turn/7") != "turn/7" {
		t.Error("an id of ours is changed")
	}
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[chat.Code]int{chat.Invalid: 400, chat.Denied: 403, chat.Missing: 404, chat.Conflict: 409, chat.Expired: 410,
		chat.Full: 413, chat.Unavailable: 503, chat.Unsupported: 501, chat.Internal: 500, chat.Crashed: 500} {
		if got := StatusOf(chat.E(code, "", nil)); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
	if got := StatusOf(errors.New("x")); got != 500 {
		t.Errorf("an error without a code: %d", got)
	}
}

func TestARefusalShowsNoCause(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	Refuse(w, r, 500, chat.E(chat.Denied, "", errors.New("open /root/secret: no")))
	if body := w.Body.String(); strings.Contains(body, "secret") || !strings.Contains(body, "权限") || !strings.Contains(body, `"code":"denied"`) {
		t.Errorf("%s", body)
	}
}

func TestADeepSocketHasAShortPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30), SocketName)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	err := ShortPath(path, func(short string) error {
		if len(short) > maxSocketPath {
			t.Errorf("%q is still long", short)
		}
		return os.WriteFile(short, nil, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := ShortPath("/short", func(s string) error { return errors.New(s) }); err == nil || err.Error() != "/short" {
		t.Errorf("%v", err)
	}
	if err := ShortPath("/"+strings.Repeat("missing/", 30), func(string) error { return nil }); err == nil {
		t.Error("a directory that is not there is no error")
	}
}
