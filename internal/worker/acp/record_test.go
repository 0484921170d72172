//go:build agents

package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker/proc"
)

var record = flag.Bool("record", false, "rewrite the transcripts with the installed CLIs")

// TestRecord plays the scenarios with the real CLIs and a model server of our
// own, and writes the transcripts:
//
//	go test -tags agents -run 'TestRecord$' -record ./internal/worker/acp
//	go test -run Transcripts -update ./internal/worker/acp
func TestRecord(t *testing.T) { //nolint:paralleltest // one process at a time makes quiet transcripts
	if !*record {
		return
	}
	for _, agent := range recorded {
		for _, sc := range scenarios {
			t.Run(agent+"-"+sc.name, func(t *testing.T) {
				l := lab.New(t, agent)
				cfg, _ := Preset(agent)
				cfg.Command, cfg.Env = l.Command, append(cfg.Env, l.Env...)
				d, err := New(cfg, l.Starter, l.Log)
				if err != nil {
					t.Fatal(err)
				}
				work, id := l.Workspace(t), ""
				if sc.before != "" {
					w := recordable(t, d, sc, "", work)
					s := &stage{w: w}
					s.prompt(t, sc.before)
					id = w.NativeID()
					if err := w.Close(); err != nil {
						t.Error(err)
					}
				}
				url := l.Server.URL()
				user, err := os.UserHomeDir()
				if err != nil {
					t.Fatal(err)
				}
				tape := &tape{clean: strings.NewReplacer(l.Home, "/home/ann", work, "/home/ann/project",
					filepath.Base(work), "project", url, "http://127.0.0.1:1", strings.TrimPrefix(url, "http://"), "127.0.0.1:1", user+"/", "/home/ann/")}
				plain := d.start
				d.start = func(ctx context.Context, s proc.Spec) (process, error) {
					p, err := plain(ctx, s)
					if err != nil {
						return nil, err
					}
					return &taped{process: p, tape: tape}, nil
				}
				s := &stage{w: recordable(t, d, sc, id, work)}
				sc.play(t, s)
				if err := s.w.Close(); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(filepath.Join("testdata", agent+"-"+sc.name+".txt"), tape.bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func recordable(t *testing.T, d *Driver, sc scenario, id, work string) *Worker {
	t.Helper()
	w, err := d.Open(t.Context(), sc.spec(id, work))
	if err != nil {
		t.Fatal(err)
	}
	return w.(*Worker)
}

// tape is a transcript in the making.
type tape struct {
	clean *strings.Replacer // of what differs from machine to machine

	mu    sync.Mutex
	lines bytes.Buffer
	rest  string // an unfinished line of the agent
}

func (t *tape) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines.Bytes()
}

func (t *tape) ours(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = io.WriteString(&t.lines, "-> "+t.clean.Replace(string(b)))
}

func (t *tape) theirs(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest += string(b)
	for {
		line, rest, ok := strings.Cut(t.rest, "\n")
		if !ok {
			return
		}
		t.rest = rest
		_, _ = io.WriteString(&t.lines, "<- "+t.clean.Replace(brief(line))+"\n")
	}
}

// help is what commands and options say about themselves, for people.
var help = regexp.MustCompile(`"description":"(?:[^"\\]|\\.){20,}"`)

// brief shortens help, and what an agent tells its model of this machine.
func brief(line string) string {
	if !json.Valid([]byte(line)) {
		return line
	}
	line = offers(line)
	line = help.ReplaceAllString(line, `"description":"…"`)
	return about.ReplaceAllString(line, `"<session_context>…</session_context>"`)
}

// offers keeps the names of an agent's commands only.
func offers(line string) string {
	var m map[string]any
	if !strings.Contains(line, `"availableCommands"`) || json.Unmarshal([]byte(line), &m) != nil {
		return line
	}
	params, _ := m["params"].(map[string]any)
	update, _ := params["update"].(map[string]any)
	all, _ := update["availableCommands"].([]any)
	for i, c := range all {
		if entry, ok := c.(map[string]any); ok {
			all[i] = map[string]any{"name": entry["name"], "description": "…"}
		}
	}
	delete(update, "_meta")
	short, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return string(short)
}

var about = regexp.MustCompile(`"<session_context>(?:[^"\\]|\\.)*"`)

// taped is a process whose words are recorded.
type taped struct {
	process
	tape *tape
}

func (r *taped) Read(b []byte) (int, error) {
	n, err := r.process.Read(b)
	r.tape.theirs(b[:n])
	return n, err
}

func (r *taped) Write(b []byte) (int, error) {
	r.tape.ours(b) // before the agent can answer
	return r.process.Write(b)
}
