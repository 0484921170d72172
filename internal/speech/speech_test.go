package speech

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/sim/wording"
	"cligate/internal/worker/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recording is a file with this content.
func recording(t *testing.T, content string) chat.FileRef {
	t.Helper()
	path := filepath.Join(t.TempDir(), "voice_5.oga")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return chat.FileRef{ID: "v", Path: path, Kind: chat.MediaVoice, Seconds: 3}
}

func starter(t *testing.T) *proc.Starter {
	t.Helper()
	s, err := proc.New(proc.Config{Token: "speech-" + strings.ReplaceAll(t.Name(), "/", "-")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func listen(t *testing.T, c Config, s *proc.Starter) *Listener {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	l, err := New(c, s)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	return l
}

// inChinese fails when what is shown of err has English words inside. Where
// nothing is shown, the code alone says it.
func inChinese(t *testing.T, err error) {
	t.Helper()
	code := chat.CodeOf(err)
	text := i18n.Detail("zh", err)
	if bad := wording.English(text); len(bad) > 0 || text == "" && code != chat.Full && code != chat.Nothing {
		t.Errorf("%q, of which %q is English (%v)", text, bad, err)
	}
}

// shell is a command that runs a line of the test's own; what it is given comes
// as arguments, as it does with any program.
func shell(line string, args ...string) []string {
	return append([]string{"sh", "-c", line, "sh"}, args...)
}

func TestAProgramUnderstandsSpeech(t *testing.T) {
	t.Parallel()
	s := starter(t)
	f := recording(t, "buy milk")
	l := listen(t, Config{Command: shell(`echo " $2: $(cat "$1") "; pwd >&2; touch left`, "{file}", "lang={language}"), Language: "de"}, s)
	got, err := l.Hear(t.Context(), f)
	if err != nil || got != "lang=de: buy milk" {
		t.Errorf("%q, %v", got, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(f.Path)); len(left) != 1 {
		t.Errorf("the program left something beside the recording: %v", left)
	}
}

func TestNoShellSeesTheName(t *testing.T) {
	t.Parallel()
	s := starter(t)
	f := recording(t, "x")
	evil := filepath.Join(filepath.Dir(f.Path), "$(touch pwned); -rf `id` .ogg")
	if err := os.Rename(f.Path, evil); err != nil {
		t.Fatal(err)
	}
	f.Path = evil
	got, err := listen(t, Config{Command: []string{"printf", "%s", "{file}"}}, s).Hear(t.Context(), f)
	if err != nil || got != evil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAProgramThatDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	s := starter(t)
	for name, c := range map[string]struct {
		line string
		want chat.Code
	}{
		"fails":           {`echo half; echo secret >&2; exit 3`, chat.AgentError},
		"says nothing":    {`echo "  "`, chat.Nothing},
		"prints noise":    {`printf '\000\001\377'`, chat.Nothing},
		"prints for ever": {`yes`, chat.AgentError},
		"hangs":           {`sleep 600`, chat.TimedOut},
		"leaves a child":  {`sleep 600 & exit 0`, chat.Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if c.want == chat.TimedOut {
				limit = 300 * time.Millisecond
			}
			l := listen(t, Config{Command: shell(c.line, "{file}"), Timeout: limit}, s)
			got, err := l.Hear(t.Context(), recording(t, "x"))
			if chat.CodeOf(err) != c.want || got != "" {
				t.Errorf("%q, %v", got, err)
			}
			inChinese(t, err)
			if strings.Contains(i18n.Detail("en", err), "secret") {
				t.Errorf("people see what a program complains about: %v", err)
			}
		})
	}
	l := listen(t, Config{Command: []string{"no-such-program-here", "{file}"}}, s)
	if _, err := l.Hear(t.Context(), recording(t, "x")); chat.CodeOf(err) != chat.NotInstalled {
		t.Errorf("not installed: %v", err)
	}
}

func TestWhatIsTooLargeOrTooLongIsNotTried(t *testing.T) {
	t.Parallel()
	s := starter(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for name, c := range map[string]Config{"size": {MaxSize: 3}, "time": {MaxTime: 2 * time.Second}} {
		c.Command = shell(`touch "$1"`, ran, "{file}")
		if _, err := listen(t, c, s).Hear(t.Context(), recording(t, "four")); chat.CodeOf(err) != chat.Full {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was tried")
	}
}

// heard is one request as a service gets it.
type heard struct {
	fields map[string]string
	file   string
	name   string
	key    string
}

func read(t *testing.T, r *http.Request) heard {
	t.Helper()
	h := heard{fields: map[string]string{}, key: r.Header.Get("Authorization")}
	m, err := r.MultipartReader()
	if err != nil {
		t.Error(err)
		return h
	}
	for {
		var p *multipart.Part
		if p, err = m.NextPart(); err != nil {
			return h
		}
		b, _ := io.ReadAll(p)
		if p.FormName() == "file" {
			h.file, h.name = string(b), p.FileName()
		} else {
			h.fields[p.FormName()] = string(b)
		}
	}
}

func TestAServiceUnderstandsSpeech(t *testing.T) {
	t.Parallel()
	got := make(chan heard, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		got <- read(t, r)
		_ = json.NewEncoder(w).Encode(map[string]any{"text": " buy milk\n", "usage": map[string]any{}})
	})
	mux.HandleFunc("POST /inference", func(w http.ResponseWriter, r *http.Request) {
		got <- read(t, r)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "buy milk")
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, base := range []string{"/v1", "/v1/", "/v1/audio/transcriptions", "/inference"} {
		l := listen(t, Config{URL: srv.URL + base, Key: "sk-canary", Model: "m1", Language: "de"}, nil)
		words, err := l.Hear(t.Context(), recording(t, "OggS..."))
		if err != nil || words != "buy milk" {
			t.Fatalf("%s: %q, %v", base, words, err)
		}
		h := <-got
		if h.file != "OggS..." || h.name != "recording.ogg" || h.key != "Bearer sk-canary" ||
			h.fields["model"] != "m1" || h.fields["language"] != "de" || h.fields["response_format"] != "json" {
			t.Errorf("%s: %+v", base, h)
		}
	}
	l := listen(t, Config{URL: srv.URL + "/v1"}, nil)
	if _, err := l.Hear(t.Context(), recording(t, "x")); err != nil {
		t.Fatal(err)
	}
	if h := <-got; h.key != "" || len(h.fields) != 1 {
		t.Errorf("what is not configured is sent: %+v", h)
	}
}

func TestAServiceThatDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-key"
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the recording went elsewhere") }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   chat.Code
	}{
		"refuses":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "wrong key "+key, http.StatusUnauthorized) }, chat.AgentError},
		"is overwhelmed": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, chat.Full},
		"says nothing":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"text":"  "}`) }, chat.Nothing},
		"is no service":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>"+key) }, chat.Protocol},
		"sends us away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, chat.AgentError},
		"hangs":      {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, chat.TimedOut},
		"breaks off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, chat.Network},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(c.answer)
			defer srv.Close()
			limit := time.Minute
			if c.want == chat.TimedOut {
				limit = 300 * time.Millisecond
			}
			l := listen(t, Config{URL: srv.URL, Key: key, Timeout: limit}, nil)
			words, err := l.Hear(t.Context(), recording(t, "x"))
			if chat.CodeOf(err) != c.want || words != "" {
				t.Errorf("%q, %v", words, err)
			}
			inChinese(t, err)
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), srv.URL) {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"both":           {Command: []string{"a", "{file}"}, URL: "http://x"},
		"no placeholder": {Command: []string{"a", "b"}},
		"program only":   {Command: []string{"{file}"}},
		"no address":     {URL: "x"},
		"negative":       {URL: "http://x", MaxSize: -1},
	} {
		c.Timeout = time.Second
		if _, err := New(c, nil); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := New(Config{URL: "http://x"}, nil); err == nil {
		t.Error("no time limit is taken")
	}
	if l, err := New(Config{}, nil); l != nil || err != nil {
		t.Errorf("nothing configured: %v, %v", l, err)
	}
}
