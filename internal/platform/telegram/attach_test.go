package telegram

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	fakebot "cligate/internal/sim/telegram"
)

// shelf is a spool of a test.
type shelf struct{ dir string }

func newShelf(t *testing.T) shelf { t.Helper(); return shelf{t.TempDir()} }

// Open implements platform.Files.
func (s shelf) Open(name string) (*os.File, error) { return os.Open(filepath.Join(s.dir, name)) }

func (s shelf) put(t *testing.T, name string, body []byte) *chat.OutFile {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), body, 0o600); err != nil {
		t.Fatal(err)
	}
	return &chat.OutFile{Name: name + ".png", Spool: name, Size: int64(len(body)), Instead: "it lies there"}
}

func dot(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFileOfTheSpoolArrivesWhole(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	a, srv, _ := strict(t, Config{Files: s})
	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // beyond every buffer on the way
	for name, body := range map[string][]byte{"small": []byte("x"), "big": big} {
		for _, where := range []int64{ann, team} {
			f := s.put(t, name, body)
			r, err := a.Send(t.Context(), postTo(placeOf(where, ""), chat.Part{Text: "caption " + name, File: f}))
			if err != nil {
				t.Fatal(err)
			}
			ms := srv.Visible(testToken, where)
			m := ms[len(ms)-1]
			if fmt.Sprint(m.ID) != r.ID || !bytes.Equal(m.FileBody, body) || m.File != name+".png" || m.Text != "caption "+name || m.Photo {
				t.Errorf("%s: message %d (%s) with %d bytes of %d as %q", name, m.ID, r.ID, len(m.FileBody), len(body), m.File)
			}
		}
	}
}

func TestImageIsSentAsAPhotoInItsTopic(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	a, srv, _ := strict(t, Config{Files: s})
	const topic = "77"
	f := s.put(t, "plot", dot(t, 40, 30))
	f.Kind = chat.FilePhoto
	p := a.Render(chat.Reply{Kind: chat.ReplyFile, Markdown: "📎 `plot.png` · 5 B", File: f, Silent: true})
	if len(p) != 1 || p[0].Text != "📎 plot.png · 5 B" || !p[0].Silent {
		t.Fatalf("rendered %+v", p)
	}
	if _, err := a.Send(t.Context(), postTo(placeOf(forum, topic), p[0])); err != nil {
		t.Fatal(err)
	}
	ms := srv.Visible(testToken, forum)
	if m := ms[len(ms)-1]; !m.Photo || fmt.Sprint(m.Thread) != topic || m.Text != "📎 plot.png · 5 B" {
		t.Errorf("shown %+v", m)
	}
	// Too large for a photo of the service: a document without asking first.
	large := append(dot(t, 4, 4), make([]byte, maxPhoto)...)
	f = s.put(t, "huge", large)
	f.Kind = chat.FilePhoto
	if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{File: f})); err != nil {
		t.Fatal(err)
	}
	if ms := srv.Visible(testToken, ann); ms[len(ms)-1].Photo {
		t.Error("an image of more than 10 MB went as a photo")
	}
}

func TestRefusedFileHasAPlainerForm(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for name, c := range map[string]struct {
		part   func(t *testing.T) *chat.OutFile
		forbid string
		fault  string
		code   int
	}{
		"no image after all": {part: func(t *testing.T) *chat.OutFile {
			f := s.put(t, "n1", []byte("text"))
			f.Kind = chat.FilePhoto
			return f
		}},
		"too wide": {part: func(t *testing.T) *chat.OutFile {
			f := s.put(t, "n2", dot(t, 4100, 200))
			f.Kind = chat.FilePhoto
			return f
		}},
		"photos forbidden": {forbid: "photo", part: func(t *testing.T) *chat.OutFile {
			f := s.put(t, "n3", dot(t, 4, 4))
			f.Kind = chat.FilePhoto
			return f
		}},
		"documents forbidden": {forbid: "document", part: func(t *testing.T) *chat.OutFile { return s.put(t, "n4", []byte("x")) }},
		"empty":               {part: func(t *testing.T) *chat.OutFile { return s.put(t, "n5", nil) }},
		"too large": {part: func(t *testing.T) *chat.OutFile {
			return s.put(t, "n6", make([]byte, 50<<20+1))
		}},
		"too large for a proxy": {fault: "Request Entity Too Large", part: func(t *testing.T) *chat.OutFile { return s.put(t, "n7", []byte("x")) }},
		"not there any more": {part: func(*testing.T) *chat.OutFile {
			return &chat.OutFile{Name: "a", Spool: "nowhere", Size: 3, Instead: "it lies there"}
		}},
		"anything new": {fault: "Bad Request: SOMETHING_NEW", part: func(t *testing.T) *chat.OutFile { return s.put(t, "n8", []byte("x")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, srv, _ := strict(t, Config{Files: s})
			if c.forbid != "" {
				srv.Forbid(team, c.forbid)
			}
			if c.fault != "" {
				srv.Fail(fakebot.Fault{Kind: fakebot.Refuse, Method: "sendDocument", Text: c.fault, Times: 1})
			}
			_, err := a.Send(t.Context(), postTo(placeOf(team, ""), chat.Part{Text: "x", File: c.part(t)}))
			if chat.CodeOf(err) != chat.Degrade {
				t.Errorf("got %v", err)
			}
			if n := len(srv.Visible(testToken, team)); n != 0 {
				t.Errorf("%d messages arrived", n)
			}
			if strings.Contains(fmt.Sprint(err), s.dir) || strings.Contains(i18n.Detail("en", err), "n4") {
				t.Errorf("the error names a path: %v", err)
			}
		})
	}
}

func TestManyUploadsOfOneSizeAreNotRefused(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	a, srv, _ := strict(t, Config{Files: s})
	var all sync.WaitGroup
	for n := range 10 {
		f := s.put(t, fmt.Sprint("same", n), bytes.Repeat([]byte{byte(n)}, heavy+1))
		chatID := int64(9000 + n)
		srv.AddChat(chatID, fakebot.Private, "P")
		all.Go(func() {
			if _, err := a.Send(t.Context(), postTo(placeOf(chatID, ""), chat.Part{File: f})); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Ten at once are too many for the service when nobody keeps them apart.
func TestUploadsOfOneSizeWouldBeRefused(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	a, srv, _ := strict(t, Config{Files: s})
	refused := false
	for n := range 12 {
		a.wire.even = even{}
		f := s.put(t, fmt.Sprint("same", n), bytes.Repeat([]byte{byte(n)}, heavy+1))
		chatID := int64(9000 + n)
		srv.AddChat(chatID, fakebot.Private, "P")
		_, err := a.Send(t.Context(), postTo(placeOf(chatID, ""), chat.Part{File: f}))
		refused = refused || chat.CodeOf(err) == chat.Wait
	}
	if !refused {
		t.Error("the stand-in takes any number")
	}
}

func TestUploadHasALengthACleanNameAndIsRebuiltForEachTry(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	f := s.put(t, "body", []byte("the body"))
	f.Name = "/home/me/../secret folder/a\n.txt"
	tries := 0
	a, _ := open(t, Config{Files: s})
	a.wire.client.Transport = carrier(func(h *http.Request) (*http.Response, error) {
		tries++
		raw, err := io.ReadAll(h.Body)
		if err != nil || int64(len(raw)) != h.ContentLength || len(h.TransferEncoding) > 0 {
			t.Errorf("%d bytes are announced and %d come: %v", h.ContentLength, len(raw), err)
		}
		body := string(raw)
		if !strings.Contains(body, "the body") || strings.Contains(body, "/home") || strings.Contains(body, s.dir) || !strings.Contains(body, `filename="a.txt"`) {
			t.Errorf("sent %q", body)
		}
		return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"ok":false,"error_code":500,"description":"Internal Server Error"}`))}, nil
	})
	for range 3 {
		if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "x", File: f})); chat.CodeOf(err) != chat.Uncertain {
			t.Errorf("got %v", err)
		}
	}
	if tries != 3 {
		t.Errorf("%d tries", tries)
	}
}

type carrier func(h *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f carrier) RoundTrip(h *http.Request) (*http.Response, error) { return f(h) }

func TestDoubtfulFileOfTheSpoolEndsAsOneCopy(t *testing.T) {
	t.Parallel()
	for _, kind := range []chat.FileKind{chat.FileDocument, chat.FilePhoto} {
		for _, fault := range []fakebot.FaultKind{fakebot.Lose, fakebot.Drop} {
			for _, where := range []int64{ann, team, forum} {
				s := newShelf(t)
				a, srv, _ := strict(t, Config{Files: s})
				f := s.put(t, "plot", dot(t, 4, 4))
				f.Kind = kind
				since := srv.Say(testToken, fakebot.Say{Chat: where, From: ann, Text: "draw"})
				o := postTo(placeOf(where, ""), chat.Part{Text: "plot · 1 B", File: f})
				srv.Fail(fakebot.Fault{Kind: fault, Times: 1, Chat: where})
				if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Uncertain {
					t.Fatalf("a lost answer: %v", err)
				}
				o.Unsure = &chat.Unsure{Since: since}
				if _, err := a.Send(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				if n := len(srv.Visible(testToken, where)); n != 1 {
					t.Errorf("%s %q in %d: %d copies", fault, kind, where, n)
				}
			}
		}
	}
}

// watch notes how long each exchange may take.
type watch struct{ time time.Duration }

// RoundTrip implements http.RoundTripper.
func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	if end, ok := r.Context().Deadline(); ok {
		w.time = time.Until(end)
	}
	_ = r.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

func TestUploadMayTakeAsLongAsASlowUplinkNeeds(t *testing.T) {
	t.Parallel()
	w := newWire(Config{Token: testToken, APIURL: "http://127.0.0.1:1", SendTimeout: time.Second})
	seen := &watch{}
	w.client.Transport = seen
	const size = 50 << 20
	_, err := w.call(t.Context(), request{method: "sendDocument", file: &upload{
		field: "document", name: "f.txt", size: size,
		open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil },
	}})
	if need := time.Duration(size/(40<<10)) * time.Second; err == nil || seen.time < need || seen.time > 2*need {
		t.Errorf("it may take %v where it needs %v", seen.time, need)
	}
}
