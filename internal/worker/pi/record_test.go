//go:build agents

package pi

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var record = flag.Bool("record", false, "rewrite the recordings with the installed CLI")

// TestRecord plays the scenarios with the real CLI and a model server of our
// own, and writes down what both sides said:
//
//	go test -tags agents -run 'TestRecord$' -record ./internal/worker/pi
//	go test -run Recorded -update ./internal/worker/pi
func TestRecord(t *testing.T) { //nolint:paralleltest // one process at a time makes quiet recordings
	if !*record {
		return
	}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			l := lab.New(t, "pi")
			work := l.Workspace(t)
			d := New(Config{Command: l.Command, Env: l.Env}, l.Starter, l.Log)
			tape := &tape{clean: strings.NewReplacer(l.Home, "/home/ann", work, "/home/ann/project",
				strings.ReplaceAll(work[1:], "/", "-"), "home-ann-project", l.Server.URL(), "http://127.0.0.1:1")}
			start := d.start
			d.start = func(ctx context.Context, s proc.Spec) (process, error) {
				p, err := start(ctx, s)
				if err != nil {
					return nil, err
				}
				return &recorded{process: p, tape: tape}, nil
			}
			w, err := d.Open(t.Context(), worker.Spec{Session: 1, Workspace: work, Seed: uuid.NewString()})
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
	rest  string // an unfinished line of the agent
}

func (t *tape) put(mark, line string) {
	t.lines.WriteString(mark + " " + t.clean.Replace(line) + "\n")
}

// recorded is a process whose words are recorded.
type recorded struct {
	process
	tape *tape
}

func (r *recorded) Read(b []byte) (int, error) {
	n, err := r.process.Read(b)
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	r.tape.rest += string(b[:n])
	for {
		line, rest, ok := strings.Cut(r.tape.rest, "\n")
		if !ok {
			return n, err
		}
		r.tape.rest = rest
		r.tape.put("<-", line)
	}
}

func (r *recorded) Write(b []byte) (int, error) {
	r.tape.mu.Lock() // before the agent can answer
	r.tape.put("->", strings.TrimSpace(string(b)))
	r.tape.mu.Unlock()
	return r.process.Write(b)
}
