package opencode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRecordedConversationsAreUnderstood plays what the real server said, and
// wants the driver to say what it said then and to report what the golden file
// says.
func TestRecordedConversationsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, sc.name)
			d := New(Config{Command: "/bin/true"}, nil, slog.New(slog.DiscardHandler))
			d.wire = func() http.RoundTripper { return p }
			d.start = func(context.Context, proc.Spec) (process, error) { return newHusk(), nil }
			w, err := d.Open(t.Context(), worker.Spec{Session: 1, Workspace: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			s := &stage{w: w.(*Worker)}
			sc.play(t, s)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			golden(t, sc.name, s.out.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}

// husk is a process that only says where it listens.
type husk struct {
	io.Reader
	done chan struct{}
	once sync.Once
}

func newHusk() *husk {
	r, w := io.Pipe()
	h := &husk{Reader: r, done: make(chan struct{})}
	go func() { // ends when it was read
		_, _ = io.WriteString(w, "opencode server listening on http://127.0.0.1:4096\n")
		<-h.done
		_ = w.Close()
	}()
	return h
}

func (h *husk) Close() error                    { h.once.Do(func() { close(h.done) }); return nil }
func (h *husk) CloseWrite() error               { return nil }
func (h *husk) Stderr() string                  { return "" }
func (h *husk) Done() <-chan struct{}           { return h.done }
func (h *husk) Exit() (int, syscall.Signal)     { return 0, 0 }
func (h *husk) Identity() string                { return "1.1.x" }
func (h *husk) Terminate(context.Context) error { return h.Close() }

// player is the server's part of a recording. It goes on when the driver asks
// for what it asked for then. What is only looked at is answered as it was when
// the driver last did so before that, however often it looks.
type player struct {
	t      *testing.T
	lines  []string
	events *io.PipeWriter
	body   *io.PipeReader

	mu      sync.Mutex
	looks   map[string][]look // recorded answers to GET, by path
	acts    []string          // recorded requests that do something, in order
	replies map[int]string    // and their answers
	ids     map[string]string // ids of the driver's, by those that were recorded
	done    int               // acts that were asked for
	begun   bool              // the events are sent
	rests   int               // the act that is waited for, from 1; 0 = events are being sent
	news    chan struct{}
}

// look is an answer, and how many acts there had been before it.
type look struct {
	acts int
	text string
}

func newPlayer(t *testing.T, name string) *player {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, looks: map[string][]look{}, replies: map[int]string{}, ids: map[string]string{}, news: make(chan struct{})}
	p.body, p.events = io.Pipe()
	p.lines = strings.Split(strings.TrimSpace(string(raw)), "\n")
	open := map[string][]int{}
	for _, l := range p.lines {
		mark, text, _ := strings.Cut(l, " ")
		method, rest, _ := strings.Cut(text, " ")
		path, rest, _ := strings.Cut(rest, " ")
		switch {
		case mark == "<-" && method == http.MethodGet:
			p.looks[path] = append(p.looks[path], look{len(p.acts), rest})
		case mark == "->" && method != http.MethodGet:
			open[path] = append(open[path], len(p.acts))
			p.acts = append(p.acts, text)
		case mark == "<-":
			p.replies[open[path][0]] = rest
			open[path] = open[path][1:]
		}
	}
	return p
}

// RoundTrip implements http.RoundTripper.
func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	path := r.URL.RequestURI()
	switch {
	case r.Header.Get("Authorization") == "":
		return reply("401 "), nil
	case path == "/event":
		p.mu.Lock()
		p.begun = true
		p.mu.Unlock()
		go p.perform() // ends with the recording
		return &http.Response{StatusCode: http.StatusOK, Body: closer{p.body, r.Context()}}, nil
	case r.Method == http.MethodGet:
		return p.look(path)
	}
	return p.act(r, path)
}

func (p *player) look(path string) (*http.Response, error) {
	for {
		p.mu.Lock()
		all, news := p.looks[path], p.news
		if len(all) == 0 {
			p.mu.Unlock()
			return nil, errors.New("nobody asked that: " + path)
		}
		answer := all[0].text
		for _, l := range all {
			if l.acts < p.rests {
				answer = p.renamed(l.text)
			}
		}
		ready := p.rests > 0 || !p.begun
		p.mu.Unlock()
		if ready {
			return reply(answer), nil
		}
		select {
		case <-news:
		case <-p.t.Context().Done():
			return nil, p.t.Context().Err()
		}
	}
}

func (p *player) act(r *http.Request, path string) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	got := strings.TrimSpace(r.Method + " " + path + " " + string(body))
	if p.done < len(p.acts) { // ids of ours are new each time
		now, then := ours.FindString(got), ours.FindString(p.acts[p.done])
		if now != "" && then != "" {
			p.ids[then] = now
		}
	}
	if p.done >= len(p.acts) || !same(got, p.renamed(p.acts[p.done])) {
		if strings.HasSuffix(path, "/abort") { // it is told as often as it takes
			return reply("200 true"), nil
		}
		p.t.Errorf("the driver said %s, recorded was %s", got, p.acts[min(p.done, len(p.acts)-1)])
		return reply("500 {}"), nil
	}
	answer := p.replies[p.done]
	p.done++
	p.rests = 0
	p.tell()
	return reply(p.renamed(answer)), nil
}

// ours are the ids that the driver gives.
var ours = regexp.MustCompile(`\bprt_[A-Z2-7]{26}\b`)

// renamed puts the ids of now into a text; p.mu is held.
func (p *player) renamed(text string) string {
	return ours.ReplaceAllStringFunc(text, func(id string) string { return cmp.Or(p.ids[id], id) })
}

// tell wakes whoever waits; p.mu is held.
func (p *player) tell() {
	close(p.news)
	p.news = make(chan struct{})
}

// same compares requests; the order of members says nothing.
func same(a, b string) bool {
	head := func(s string) (string, any) {
		i := strings.Index(s, " {")
		if i < 0 {
			return s, nil
		}
		var v any
		_ = json.Unmarshal([]byte(s[i:]), &v) // what is no JSON differs
		return s[:i], v
	}
	ha, va := head(a)
	hb, vb := head(b)
	return ha == hb && reflect.DeepEqual(va, vb)
}

// perform sends the events.
func (p *player) perform() {
	acts := 0
	for _, l := range p.lines {
		mark, text, _ := strings.Cut(l, " ")
		switch {
		case mark == "->" && !strings.HasPrefix(text, "GET "):
			acts++
			if !p.wait(acts) {
				return
			}
		case mark == "<~":
			p.mu.Lock()
			text = p.renamed(text)
			p.mu.Unlock()
			if _, err := io.WriteString(p.events, "data: "+text+"\n\n"); err != nil {
				return
			}
		}
	}
	p.wait(acts + 1)
}

// wait waits for an act.
func (p *player) wait(act int) bool {
	for {
		p.mu.Lock()
		if p.done >= act {
			p.mu.Unlock()
			return true
		}
		p.rests = act
		p.tell()
		news := p.news
		p.mu.Unlock()
		select {
		case <-news:
		case <-p.t.Context().Done():
			return false
		}
	}
}

func reply(text string) *http.Response {
	code, body, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(code) // as recorded
	return &http.Response{StatusCode: n, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

// closer is a body that ends with its request.
type closer struct {
	*io.PipeReader
	ctx context.Context
}

func (c closer) Read(b []byte) (int, error) {
	stop := context.AfterFunc(c.ctx, func() { _ = c.CloseWithError(c.ctx.Err()) })
	defer stop()
	return c.PipeReader.Read(b)
}
