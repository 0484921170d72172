//go:build agents

package opencode

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
)

var record = flag.Bool("record", false, "rewrite the recordings with the installed CLI")

// TestRecord plays the scenarios with the real CLI and a model server of our
// own, and writes down what both sides said:
//
//	go test -tags agents -run 'TestRecord$' -record ./internal/worker/opencode
//	go test -run Recorded -update ./internal/worker/opencode
func TestRecord(t *testing.T) { //nolint:paralleltest // one process at a time makes quiet recordings
	if !*record {
		return
	}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			l := lab.New(t, "opencode")
			work := l.Workspace(t)
			d := New(Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
			clean := strings.NewReplacer(l.Home, "/home/ann", work, "/home/ann/project", l.Home[1:], "home/ann", work[1:], "home/ann/project",
				l.Server.URL(), "http://127.0.0.1:1")
			tape := &tape{clean: clean}
			d.wire = func() http.RoundTripper { return &recorder{RoundTripper: loopback(), tape: tape} }
			w, err := d.Open(t.Context(), worker.Spec{Session: 1, Workspace: work})
			if err != nil {
				t.Fatal(err)
			}
			sc.play(t, &stage{w: w.(*Worker)})
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join("testdata", sc.name+".txt"), tape.lines.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// tape is a recording in the making.
type tape struct {
	clean *strings.Replacer // of what differs from machine to machine

	mu    sync.Mutex
	lines bytes.Buffer
}

func (t *tape) put(mark, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines.WriteString(mark + " " + t.clean.Replace(text) + "\n")
}

type recorder struct {
	http.RoundTripper
	tape *tape
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/event" {
		resp, err := r.RoundTripper.RoundTrip(req)
		if err == nil {
			resp.Body = &heardBody{ReadCloser: resp.Body, tape: r.tape}
		}
		return resp, err
	}
	if req.Header.Get("Authorization") == "" { // to see that it is refused
		return r.RoundTripper.RoundTrip(req)
	}
	body := ""
	if req.Body != nil {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
		req.Body = io.NopCloser(bytes.NewReader(raw))
	}
	r.tape.put("->", strings.TrimSpace(req.Method+" "+req.URL.RequestURI()+" "+body))
	resp, err := r.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	r.tape.put("<-", strings.TrimSpace(req.Method+" "+req.URL.RequestURI()+" "+resp.Status[:3]+" "+brief(req.URL.Path, raw)))
	return resp, nil
}

// brief leaves out what is long and not looked at.
func brief(path string, raw []byte) string {
	drop := map[string]string{"/command": "template", "/agent": "prompt"}[path]
	var all []map[string]any
	if drop == "" || json.Unmarshal(raw, &all) != nil {
		if path == "/config/providers" {
			return ownModels(raw)
		}
		return strings.TrimSpace(string(raw))
	}
	for _, one := range all {
		delete(one, drop)
	}
	short, err := json.Marshal(all)
	if err != nil {
		return string(raw)
	}
	return string(short)
}

// ownModels leaves out the providers that come and go with the network.
func ownModels(raw []byte) string {
	var all struct {
		Providers []map[string]any `json:"providers"`
	}
	if json.Unmarshal(raw, &all) != nil {
		return string(raw)
	}
	for _, p := range all.Providers {
		if p["id"] == "mock" {
			short, _ := json.Marshal(map[string]any{"providers": []any{p}}) // it was JSON before
			return string(short)
		}
	}
	return string(raw)
}

// heardBody writes down the events that are read.
type heardBody struct {
	io.ReadCloser
	tape *tape
	rest string
}

func (h *heardBody) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	h.rest += string(b[:n])
	for {
		line, rest, ok := strings.Cut(h.rest, "\n")
		if !ok {
			return n, err
		}
		h.rest = rest
		var e event
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil && (wantedEvent[e.Type] || e.Type == "server.connected") {
			h.tape.put("<~", data)
		}
	}
}
