package pi

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
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

	"github.com/google/uuid"

	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// TestRecordedConversationsAreUnderstood plays what the real CLI said, and
// wants the driver to say what it said then and to report what the golden file
// says.
func TestRecordedConversationsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			d := New(Config{Command: "/bin/true", Grace: 20 * time.Second, Env: []string{"HOME=" + t.TempDir()}}, nil, slog.New(slog.DiscardHandler))
			p := newPuppet(t, sc.name)
			d.start = func(context.Context, proc.Spec) (process, error) { return p, nil }
			w, err := d.Open(t.Context(), worker.Spec{Session: 1, Workspace: t.TempDir(), Seed: uuid.NewString()})
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
	if *rewrite {
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

// puppet is the agent's part of a recording. It goes on when the driver says
// what it said then. Questions for the state are answered as they last were
// before that, however many there are.
type puppet struct {
	t     *testing.T
	lines []string
	in    *io.PipeReader // what the driver writes
	w     *io.PipeWriter
	out   *io.PipeWriter // what the driver reads
	r     *io.PipeReader
	done  chan struct{}
	once  sync.Once
}

func newPuppet(t *testing.T, name string) *puppet {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	p := &puppet{t: t, done: make(chan struct{})}
	p.in, p.w = io.Pipe()
	p.r, p.out = io.Pipe()
	p.lines = strings.Split(strings.TrimSpace(string(raw)), "\n")
	said := make(chan map[string]any, 100)
	go p.listen(said)  // ends with the pipe
	go p.perform(said) // ends with the driver
	return p
}

// listen reads what the driver says.
func (p *puppet) listen(said chan<- map[string]any) {
	in := bufio.NewReader(p.in)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m map[string]any
		if json.Unmarshal(line, &m) != nil {
			p.t.Errorf("no JSON: %s", line)
			return
		}
		said <- m
	}
}

// say writes a line, an answer under the id that the driver gave.
func (p *puppet) say(line string, id any) {
	if id != nil {
		var m map[string]any
		_ = json.Unmarshal([]byte(line), &m) // it was read before
		m["id"] = id
		raw, _ := json.Marshal(m) // it was JSON before
		line = string(raw)
	}
	_, _ = io.WriteString(p.out, line+"\n") // the driver may have left
}

func (p *puppet) perform(said <-chan map[string]any) {
	ids := map[string]any{} // as given now, by those that were recorded
	state := ""             // the last answer about it
	for _, l := range p.lines {
		var m map[string]any
		_ = json.Unmarshal([]byte(l[3:]), &m) // as recorded
		switch ours := strings.HasPrefix(l, "-> "); {
		case m["command"] == "get_state":
			state = l[3:]
		case !ours:
			p.say(l[3:], ids[fmt.Sprint(m["id"])])
		case m["type"] != "get_state":
			got := p.await(said, state)
			if got == nil {
				return
			}
			ids[fmt.Sprint(m["id"])] = got["id"]
			delete(m, "id")
			delete(got, "id")
			if !reflect.DeepEqual(m, got) {
				p.t.Errorf("the driver said %v, recorded was %v", got, m)
			}
		}
	}
	p.await(said, state)
}

// await waits for what the driver says next; nil when it has left.
func (p *puppet) await(said <-chan map[string]any, state string) map[string]any {
	for {
		select {
		case got := <-said:
			if got["type"] != "get_state" {
				return got
			}
			p.say(state, got["id"])
		case <-p.done:
			return nil
		}
	}
}

func (p *puppet) Read(b []byte) (int, error)       { return p.r.Read(b) }
func (p *puppet) Write(b []byte) (int, error)      { return p.w.Write(b) }
func (p *puppet) SetWriteDeadline(time.Time) error { return nil }
func (p *puppet) CloseWrite() error                { return p.Close() }
func (p *puppet) Stderr() string                   { return "" }
func (p *puppet) Done() <-chan struct{}            { return p.done }
func (p *puppet) Exit() (int, syscall.Signal)      { return 0, 0 }
func (p *puppet) Identity() string                 { return "1.1.x" }
func (p *puppet) Terminate(context.Context) error  { return p.Close() }

// Close implements process.
func (p *puppet) Close() error {
	p.once.Do(func() {
		close(p.done)
		_ = p.out.Close()
		_ = p.in.Close()
	})
	return nil
}
