package web

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
)

// shelf is a spool of a test.
type shelf string

// Open implements platform.Files.
func (s shelf) Open(name string) (*os.File, error) { return os.Open(filepath.Join(string(s), name)) }

// get is what a reader gets who asks for the file of a posted part.
func (h *house) get(n string, f *chat.OutFile) (*http.Response, string) {
	h.t.Helper()
	p := h.part(chat.ReplyFile, "📎 `plot.png`")
	p.File = f
	h.say(key(len(h.lines().Lines)+1), "a file please")
	h.post(chat.Out{Key: n, Class: chat.OutNotice, Part: p})
	ls := h.lines().Lines
	m := ls[len(ls)-1]
	if m.File == nil || m.File.Size != f.Bytes() || m.File.Photo != (f.Kind == chat.FilePhoto) {
		h.t.Fatalf("file %+v", m.File)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.srv.URL+m.File.URL, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := h.srv.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp, string(body)
}

func TestFileOfTheSpoolIsServedAsWhatItIsAndRunsNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	dir := t.TempDir()
	h.a.cfg.Files = shelf(dir)
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body, mime string
		kind       chat.FileKind
	}{
		"image":                {dot.String(), "image/png", chat.FilePhoto},
		"page":                 {"<html><script>alert(1)</script>", "application/octet-stream", chat.FileDocument},
		"page called an image": {"<html><script>alert(1)</script>", "application/octet-stream", chat.FilePhoto},
		"drawing":              {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "application/octet-stream", chat.FilePhoto},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c.body), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, got := h.get(name, &chat.OutFile{Name: "plot.png", Kind: c.kind, Spool: name, Size: int64(len(c.body))})
		hd := resp.Header
		if got != c.body || hd.Get("Content-Type") != c.mime || !strings.HasPrefix(hd.Get("Content-Disposition"), "attachment") ||
			!strings.Contains(hd.Get("Content-Security-Policy"), "sandbox") || hd.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d bytes, %v", name, len(got), hd)
		}
	}
}

func TestFileThatIsKeptNoLongerIsMissing(t *testing.T) {
	t.Parallel()
	h := open(t)
	f := &chat.OutFile{Name: "plot.png", Spool: "gone", Size: 7}
	if resp, _ := h.get("f/1", f); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without a spool: %d", resp.StatusCode)
	}
	h.a.cfg.Files = shelf(t.TempDir())
	if resp, body := h.get("f/2", f); resp.StatusCode != http.StatusNotFound || strings.Contains(body, "/tmp") {
		t.Errorf("gone: %d %s", resp.StatusCode, body)
	}
}
