//go:build agents

package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/model"
	"cligate/internal/worker/proc"
)

var record = flag.Bool("record", false, "rewrite the transcripts with the installed CLI")

// TestRecord plays the scenarios with the real CLI and a model server of our
// own, and writes the transcripts:
//
//	go test -tags agents -run 'TestRecord$' -record ./internal/worker/claude
//	go test -run Transcripts -update ./internal/worker/claude
func TestRecord(t *testing.T) { //nolint:paralleltest // one process at a time makes quiet transcripts
	if !*record {
		return
	}
	log := slog.New(slog.DiscardHandler)
	server, err := model.Open(context.WithoutCancel(t.Context()), log)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	starter, err := proc.New(proc.Config{Token: "record-" + uuid.NewString(), Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer starter.Close()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			home, work := t.TempDir(), t.TempDir()
			env := append([]string{"HOME=" + home, "ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + server.URL()}, sc.env...)
			d := New(Config{Env: env}, starter, log)
			tape := &tape{clean: strings.NewReplacer(home, "/home/ann", work, "/home/ann/project",
				strings.ReplaceAll(work, "/", "-"), "-home-ann-project", server.URL(), "http://127.0.0.1:1",
				strings.TrimPrefix(server.URL(), "http://"), "127.0.0.1:1", os.TempDir(), "/tmp")}
			plain := d.start
			d.start = func(ctx context.Context, s proc.Spec) (process, error) {
				p, err := plain(ctx, s)
				if err != nil {
					return nil, err
				}
				return &recorded{process: p, tape: tape}, nil
			}
			s := newStage()
			spec := s.spec(sc)
			spec.Workspace = work
			how := way{id: uuid.NewString()}
			if sc.resume != "" {
				how = way{id: sc.resume, resume: true}
			}
			w, err := d.open(t.Context(), spec, how)
			if err == nil {
				s.w = w
				sc.play(t, s)
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := os.WriteFile(filepath.Join("testdata", sc.name+".txt"), tape.bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
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

// brief shortens the greeting, most of which is help for people.
func brief(line string) string {
	var m struct {
		Type     string `json:"type"`
		Response struct {
			Subtype string         `json:"subtype"`
			ID      string         `json:"request_id"`
			Body    map[string]any `json:"response"`
		} `json:"response"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.Response.Body["commands"] == nil {
		return line
	}
	for _, list := range []string{"commands", "models"} {
		all, _ := m.Response.Body[list].([]any)
		for _, c := range all {
			entry, _ := c.(map[string]any)
			if help, ok := entry["description"].(string); ok {
				entry["description"] = strings.Join(strings.Fields(help)[:min(3, len(strings.Fields(help)))], " ")
			}
		}
	}
	for _, drop := range []string{"agents", "user_output_styles_dir", "available_output_styles", "pid"} {
		delete(m.Response.Body, drop)
	}
	short, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return string(short)
}

// recorded is a process whose words are recorded.
type recorded struct {
	process
	tape *tape
}

func (r *recorded) Read(b []byte) (int, error) {
	n, err := r.process.Read(b)
	r.tape.theirs(b[:n])
	return n, err
}

func (r *recorded) Write(b []byte) (int, error) {
	r.tape.ours(b) // before the agent can answer
	return r.process.Write(b)
}
