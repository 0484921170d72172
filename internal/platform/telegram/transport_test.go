package telegram

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// every makes one call of each kind and returns all that came out.
func every(t *testing.T, a *Adapter) string {
	t.Helper()
	var sb strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	note := func(err error) { fmt.Fprintf(&sb, "%v|%+v|%#v|%s\n", err, err, err, i18n.Detail("en", err)) }
	_, err := a.Send(ctx, outTo("11", chat.OpPost, chat.Part{Text: "x"}))
	note(err)
	_, err = a.Send(ctx, outTo("11", chat.OpPost, chat.Part{File: &chat.OutFile{Name: "f.txt", Body: []byte("b")}}))
	note(err)
	_, err = a.Send(ctx, outTo("11", chat.OpEdit, chat.Part{Text: "x"}))
	note(err)
	o := outTo("11", chat.OpPost, chat.Part{Text: "x"})
	o.Unsure = &chat.Unsure{Since: 5}
	_, err = a.Send(ctx, o)
	note(err)
	note(a.Signal(ctx, o.Place, chat.Ref{}, chat.Signal{Kind: chat.SignalTyping}))
	note(a.Signal(ctx, o.Place, chat.Ref{ID: "1"}, chat.Signal{Kind: chat.SignalReact, Emoji: "👀"}))
	note(a.Fetch(ctx, chat.FileRef{ID: "f"}, io.Discard))
	run, stop := context.WithTimeout(ctx, 150*time.Millisecond)
	defer stop()
	note(a.Run(run, newInbox()))
	fmt.Fprintf(&sb, "%+v", a.Health())
	return sb.String()
}

// hostile are servers that fail in ways whose texts could carry the token.
func hostile(t *testing.T) map[string]Config {
	t.Helper()
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	junk, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = junk.Close() })
	go func() { // ends when junk is closed
		for {
			c, err := junk.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "%s is not HTTP\r\n\r\n", testToken)
			_ = c.Close()
		}
	}()
	return map[string]Config{
		"no server":    {APIURL: "http://127.0.0.1:1"},
		"no such host": {APIURL: "http://nowhere.invalid"},
		"bad TLS":      {APIURL: tls.URL},
		"TLS on plain": {APIURL: strings.Replace(serve(http.NotFound), "http:", "https:", 1)},
		"not HTTP":     {APIURL: "http://" + junk.Addr().String()},
		"dead proxy":   {APIURL: "http://example.invalid", Proxy: "http://user:hunter2secret@127.0.0.1:1"},
		"redirect": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1"+r.URL.Path, http.StatusFound)
		})},
		"echo in JSON": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			_, b := no(400, "bad path "+r.URL.Path)
			_, _ = io.WriteString(w, b)
		})},
		"echo in HTML": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, r.URL.Path)
		})},
		"unauthorized": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			_, b := no(401, "Unauthorized "+testToken)
			_, _ = io.WriteString(w, b)
		})},
		"too many": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			_, b := no(429, testToken+" retry after 1")
			_, _ = io.WriteString(w, b)
		})},
		"cut": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "999")
			_, _ = io.WriteString(w, testToken)
		})},
		"file path out": {APIURL: serve(func(w http.ResponseWriter, r *http.Request) {
			_, b := ok(`{"file_id":"f","file_path":"x/y","message_id":1,"id":1}`)
			if strings.Contains(r.URL.Path, "/file/") {
				http.Error(w, r.URL.Path, http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, b)
		})},
	}
}

func TestNoSecretInErrorsLogsOrHealth(t *testing.T) {
	t.Parallel()
	for name, cfg := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.SendTimeout = 2 * time.Second
			a, lines := open(t, cfg)
			all := every(t, a) + lines.String()
			for _, secret := range []string{testToken, strings.ReplaceAll(testToken, ":", "%3A"), "abcdefghijklmnopqrstuvwxyz", "hunter2secret"} {
				if i := strings.Index(all, secret); i >= 0 {
					t.Errorf("secret shown: …%s", all[max(0, i-80):min(len(all), i+60)])
				}
			}
		})
	}
}

func TestConfigErrorsNameTheFaultAndNoSecret(t *testing.T) {
	t.Parallel()
	bad := Config{Token: "sekret token", APIURL: "ftp://u:pw@x", Proxy: "::nope::pw", PollTimeout: time.Hour, SendTimeout: -1, SettleBound: -1}
	_, err := Open(bad, nil)
	for _, part := range []string{"account", "token", "api_url", "proxy", "poll_timeout", "timeout is negative", "settle_bound"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %q", err, part)
		}
	}
	for _, secret := range []string{"sekret", "pw"} {
		if strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%v shows %q", err, secret)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	followed := false
	second := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer second.Close()
	first := httptest.NewServer(http.RedirectHandler(second.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	a, _ := open(t, Config{APIURL: first.URL})
	if _, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{Text: "x"})); chat.CodeOf(err) != chat.Network {
		t.Errorf("got %v", err)
	}
	if followed {
		t.Error("the token went to another server")
	}
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat(" ", 1<<20)
		for range 40 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	a, _ := open(t, Config{APIURL: srv.URL})
	_, err := a.Send(t.Context(), outTo("11", chat.OpEdit, chat.Part{Text: "x"}))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func TestAnUploadHasALengthAndACleanName(t *testing.T) {
	t.Parallel()
	var length int64
	var name string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		length = r.ContentLength
		if _, h, err := r.FormFile("document"); err == nil {
			name = h.Filename
		}
		_, b := ok(`{"message_id":3,"chat":{"id":11}}`)
		_, _ = io.WriteString(w, b)
	}))
	defer srv.Close()
	a, _ := open(t, Config{APIURL: srv.URL})
	r, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{File: &chat.OutFile{Name: "/home/me/secret/out.diff", Body: []byte("diff")}}))
	if err != nil || r.Num != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if length <= 0 || name != "out.diff" {
		t.Errorf("length %d, name %q", length, name)
	}
}

func TestTheAddressMayHavePercentSigns(t *testing.T) {
	t.Parallel()
	path := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		_, b := ok(`true`)
		_, _ = io.WriteString(w, b)
	}))
	defer srv.Close()
	a, _ := open(t, Config{APIURL: srv.URL + "/a%20b/"})
	if _, err := a.Send(t.Context(), outTo("11", chat.OpRemove, chat.Part{})); err != nil {
		t.Fatal(err)
	}
	if want := "/a%20b/bot" + testToken + "/deleteMessage"; path != want {
		t.Errorf("path %q, want %q", path, want)
	}
}

func TestASlowSendEndsInTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(release)
	a, _ := open(t, Config{APIURL: srv.URL, SendTimeout: 50 * time.Millisecond})
	_, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{Text: "x"}))
	if chat.CodeOf(err) != chat.Uncertain {
		t.Errorf("got %v, want uncertain: the request was written", err)
	}
}

func TestAFileIsFetchedFromTheConfiguredServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bot" + testToken + "/getFile":
			_, b := ok(`{"file_id":"f","file_path":"documents/my file_1.txt"}`)
			_, _ = io.WriteString(w, b)
		case "/file/bot" + testToken + "/documents/my file_1.txt":
			_, _ = io.WriteString(w, "content")
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	a, _ := open(t, Config{APIURL: srv.URL})
	var sb strings.Builder
	if err := a.Fetch(t.Context(), chat.FileRef{ID: "f"}, &sb); err != nil || sb.String() != "content" {
		t.Errorf("%q, %v", sb.String(), err)
	}
}

func TestFilesThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(string, url.Values) (int, string)
		want   chat.Code
	}{
		"too big":        {func(string, url.Values) (int, string) { return no(400, "Bad Request: file is too big") }, chat.Full},
		"a local server": {func(string, url.Values) (int, string) { return ok(`{"file_id":"f","file_path":"/etc/passwd"}`) }, chat.Unsupported},
		"gone":           {func(string, url.Values) (int, string) { return no(400, "Bad Request: wrong file_id") }, chat.GiveUp},
		"no network":     {func(string, url.Values) (int, string) { return 0, "" }, chat.Network},
	} {
		a, _ := offline(t, Config{}, c.answer)
		if err := a.Fetch(t.Context(), chat.FileRef{ID: "f"}, io.Discard); chat.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARefusedUploadHasItsCode(t *testing.T) {
	t.Parallel()
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) {
		_, b := no(403, "Forbidden: bot was blocked by the user")
		return 200, b // as some proxies and older servers do
	})
	_, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{File: &chat.OutFile{Name: "a", Body: []byte("b")}}))
	if chat.CodeOf(err) != chat.Park {
		t.Errorf("got %v", err)
	}
}

func TestErrorsShowNoAddress(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{APIURL: "http://127.0.0.1:1"})
	_, err := a.Send(t.Context(), outTo("11", chat.OpEdit, chat.Part{Text: "x"}))
	if err == nil || strings.Contains(err.Error(), "http://") || strings.Contains(err.Error(), "/bot") {
		t.Errorf("got %v", err)
	}
}
