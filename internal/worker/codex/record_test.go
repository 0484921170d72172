//go:build agents

package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker/proc"
)

var record = flag.Bool("record", false, "rewrite the transcripts with the installed CLI")

// TestRecord plays the scenarios with the real CLI and a model server of our
// own, and writes the transcripts:
//
//	go test -tags agents -run 'TestRecord$' ./internal/worker/codex -record
//	go test -run Transcripts ./internal/worker/codex -update
func TestRecord(t *testing.T) { //nolint:paralleltest // one process at a time makes quiet transcripts
	if !*record {
		return
	}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			l := lab.New(t, "codex")
			work := l.Workspace(t)
			home := ""
			for _, v := range l.Env {
				if dir, ok := strings.CutPrefix(v, "HOME="); ok {
					home = dir
				}
			}
			d := New(Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
			tape := &tape{clean: strings.NewReplacer(work, recordedWork, home, "/home/ann", l.Server.URL(), "http://127.0.0.1:1")}
			plain := d.start
			d.start = func(ctx context.Context, s proc.Spec) (process, error) {
				p, err := plain(ctx, s)
				if err != nil {
					return nil, err
				}
				return &recorded{process: p, tape: tape}, nil
			}
			p, err := d.launch(t.Context(), work, d.cfg.arguments())
			if err != nil {
				t.Fatal(err)
			}
			srv := newServer(t.Context(), d.cfg, work, p, l.Log)
			sc.act(t, &stageHand{}, srv, work)
			if err := srv.close(); err != nil {
				t.Error(err)
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

// brief shortens the list of models, most of which is help for people.
func brief(line string) string {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result struct {
			Data []map[string]any `json:"data"`
			Next any              `json:"nextCursor"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || len(m.Result.Data) == 0 || m.Result.Data[0]["supportedReasoningEfforts"] == nil {
		return line
	}
	for _, model := range m.Result.Data {
		for name := range model {
			switch name {
			case "id", "model", "hidden", "isDefault", "supportedReasoningEfforts", "inputModalities":
			default:
				delete(model, name)
			}
		}
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
