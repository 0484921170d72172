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
)

func TestAFileThatIsTooLargeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	calls := 0
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) {
		calls++
		return no(400, "Bad Request: file is too big")
	})
	if err := a.Fetch(t.Context(), chat.FileRef{ID: "f", Size: maxFetch + 1}, io.Discard); chat.CodeOf(err) != chat.Full || calls != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
	// Whoever has a server of their own is told by that server.
	a, _ = offline(t, Config{APIURL: "http://127.0.0.1:1"}, func(string, url.Values) (int, string) {
		calls++
		return no(400, "Bad Request: file is too big")
	})
	if err := a.Fetch(t.Context(), chat.FileRef{ID: "f", Size: maxFetch + 1}, io.Discard); chat.CodeOf(err) != chat.Full || calls != 1 {
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
		if strings.Contains(chat.DetailOf(err), dir) {
			t.Errorf("people are shown a path of this machine: %v", err)
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
