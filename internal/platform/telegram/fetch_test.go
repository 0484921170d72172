package telegram

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

func TestAFileThatIsTooLargeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	calls := 0
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) {
		calls++
		return no(400, "Bad Request: file is too big")
	})
	err := a.Fetch(t.Context(), chat.FileRef{ID: "f", Size: maxFetch + 1}, io.Discard)
	if chat.CodeOf(err) != chat.Full || calls != 0 || !strings.Contains(i18n.Detail("en", err), "20 MB") {
		t.Errorf("%v after %d calls", err, calls)
	}
	chinese(t, "too large", err)
	// Whoever has a server of their own is told by that server.
	a, _ = offline(t, Config{APIURL: "http://127.0.0.1:1"}, func(string, url.Values) (int, string) {
		calls++
		return no(400, "Bad Request: file is too big")
	})
	err = a.Fetch(t.Context(), chat.FileRef{ID: "f", Size: maxFetch + 1}, io.Discard)
	if chat.CodeOf(err) != chat.Full || calls != 1 || !strings.Contains(i18n.Detail("en", err), "local mode") {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestAServerInLocalModeNamesAPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "a b.txt"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("content"), 0o600), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]chat.Code{file: chat.CodeNone, filepath.Join(dir, "gone"): chat.Unsupported, dir: chat.Unsupported, pipe: chat.Unsupported} {
		a, _ := offline(t, Config{APIURL: "http://127.0.0.1:1"}, func(string, url.Values) (int, string) {
			return ok(`{"file_id":"f","file_path":` + jsonOf(t, path) + `}`)
		})
		var got strings.Builder
		err := a.Fetch(t.Context(), chat.FileRef{ID: "f", Size: 1 << 40}, &got)
		if chat.CodeOf(err) != want || want == chat.CodeNone && got.String() != "content" {
			t.Errorf("%s: %q, %v", path, got.String(), err)
		}
		if strings.Contains(i18n.Detail("en", err), dir) {
			t.Errorf("people are shown a path of this machine: %v", err)
		}
		if err != nil {
			chinese(t, path, err)
		}
	}
}

// failing is a writer of which the disk is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, unix.ENOSPC }

func TestADownloadThatBreaksOffIsToldFromAFullDisk(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/getFile") {
			_, b := ok(`{"file_id":"f","file_path":"documents/x"}`)
			_, _ = io.WriteString(w, b)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	}))
	defer srv.Close()
	a, _ := open(t, Config{APIURL: srv.URL})
	if err := a.Fetch(t.Context(), chat.FileRef{ID: "f"}, io.Discard); chat.CodeOf(err) != chat.Network || strings.Contains(err.Error(), testToken) {
		t.Errorf("broken off: %v", err)
	}
	if err := a.Fetch(t.Context(), chat.FileRef{ID: "f"}, failing{}); !errors.Is(err, unix.ENOSPC) || chat.CodeOf(err) == chat.Network {
		t.Errorf("disk full: %v", err)
	}
}

func TestWhyAFileCannotBeHadIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no path":            `{"file_id":"f"}`,
		"another machine's":  `{"file_id":"f","file_path":"/var/lib/x"}`,
		"the download fails": `{"file_id":"f","file_path":"documents/x"}`,
	} {
		a, _ := offline(t, Config{}, func(method string, _ url.Values) (int, string) {
			if method == "getFile" {
				return ok(answer)
			}
			return no(404, "Not Found")
		})
		err := a.Fetch(t.Context(), chat.FileRef{ID: "f"}, io.Discard)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		chinese(t, name, err)
	}
}
