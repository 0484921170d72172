package codex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recordedWork stands in the transcripts for the folder in which they were
// made.
const recordedWork = "/home/ann/project"

// TestRecordedTranscriptsAreUnderstood plays what the real CLI said, and wants
// the driver to say what it said then and to report what the golden file says.
func TestRecordedTranscriptsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			lines := readTranscript(t, sc.name)
			p := newPuppet(t)
			var played sync.WaitGroup
			played.Go(func() { p.perform(t, lines) })
			s := &stageHand{}
			srv := newServer(t.Context(), Config{Grace: 10 * time.Second}.withDefaults(), recordedWork, p, slog.New(slog.DiscardHandler))
			sc.act(t, s, srv, recordedWork)
			if err := srv.close(); err != nil {
				t.Error(err)
			}
			played.Wait()
			golden(t, sc.name, s.text())
		})
	}
}

// act plays the scenario in a process.
func (sc scenario) act(t *testing.T, s *stageHand, srv *server, workspace string) {
	t.Helper()
	if err := srv.greet(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := openThread(t.Context(), srv, sc.spec(workspace))
	if err != nil {
		s.note("open: %v", err)
		return
	}
	w.release = func() error { return nil }
	s.w = w
	s.note("open: model %s, effort %q, version %s", w.Info().Model, w.Info().Effort, w.Info().Version)
	sc.play(t, s)
	if err := w.Close(); err != nil {
		t.Error(err)
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
		t.Errorf("%s differs: got\n%s", file, got)
	}
}

// spoken is one line of a transcript.
type spoken struct {
	ours bool
	text string
}

// readTranscript reads testdata/name.txt: "-> " is what the driver wrote, "<- "
// what the agent did.
func readTranscript(t *testing.T, name string) []spoken {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []spoken
	for l := range bytes.Lines(raw) {
		text := strings.TrimSuffix(string(l), "\n")
		switch {
		case strings.HasPrefix(text, "-> "):
			lines = append(lines, spoken{true, text[3:]})
		case strings.HasPrefix(text, "<- "):
			lines = append(lines, spoken{false, text[3:]})
		default:
			t.Fatalf("strange line %q", text)
		}
	}
	return lines
}

// puppet is a process that says what a transcript says.
type puppet struct {
	stdin, stdout *os.File // the driver's ends
	in            *bufio.Reader
	hear, out     *os.File // ours
	end           sync.Once
}

func newPuppet(t *testing.T) *puppet {
	t.Helper()
	hear, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return &puppet{stdin: stdin, stdout: stdout, in: bufio.NewReader(hear), hear: hear, out: out}
}

func (p *puppet) Read(b []byte) (int, error)         { return p.stdout.Read(b) }
func (p *puppet) Write(b []byte) (int, error)        { return p.stdin.Write(b) }
func (p *puppet) SetWriteDeadline(t time.Time) error { return p.stdin.SetWriteDeadline(t) }
func (p *puppet) CloseWrite() error                  { return p.stdin.Close() }
func (p *puppet) Stderr() string                     { return "" }
func (p *puppet) Exit() (int, syscall.Signal)        { return 0, 0 }
func (p *puppet) Identity() string                   { return "puppet" }
func (p *puppet) EndMarked(...string) int            { return 0 }

func (p *puppet) Terminate(context.Context) error {
	p.end.Do(func() {
		for _, f := range []*os.File{p.out, p.hear, p.stdin} {
			_ = f.Close()
		}
	})
	return nil
}

func (p *puppet) Close() error { return p.Terminate(context.Background()) }

// perform plays the agent's part.
func (p *puppet) perform(t *testing.T, lines []spoken) {
	for _, l := range lines {
		if !l.ours {
			if _, err := io.WriteString(p.out, l.text+"\n"); err != nil {
				return // the driver left early; the golden file tells whether it should have
			}
			continue
		}
		raw, err := p.in.ReadBytes('\n')
		if err != nil {
			t.Errorf("the driver left before it said %s", l.text)
			return
		}
		var want, got any
		if json.Unmarshal([]byte(l.text), &want) != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("no JSON: %s or %s", l.text, raw)
			return
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("the driver said\n%s, recorded was\n%s", raw, l.text)
		}
	}
	_ = p.out.Close() // the agent has left
}
