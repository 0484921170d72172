package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cligate/internal/worker"
)

// puppet is an agent whose every line the test writes itself.
type puppet struct {
	stdin, stdout *os.File // the driver's ends
	in            *bufio.Reader
	hear, out     *os.File // ours
	done          chan struct{}
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
	return &puppet{stdin: stdin, stdout: stdout, in: bufio.NewReader(hear), hear: hear, out: out, done: make(chan struct{})}
}

func (p *puppet) Read(b []byte) (int, error)         { return p.stdout.Read(b) }
func (p *puppet) Write(b []byte) (int, error)        { return p.stdin.Write(b) }
func (p *puppet) SetWriteDeadline(t time.Time) error { return p.stdin.SetWriteDeadline(t) }
func (p *puppet) CloseWrite() error                  { return p.stdin.Close() }
func (p *puppet) Stderr() string                     { return "" }
func (p *puppet) Done() <-chan struct{}              { return p.done }
func (p *puppet) Exit() (int, syscall.Signal)        { return 0, 0 }
func (p *puppet) Identity() string                   { return "puppet" }

func (p *puppet) Terminate(context.Context) error {
	p.end.Do(func() {
		for _, f := range []*os.File{p.out, p.hear, p.stdin} {
			_ = f.Close()
		}
		close(p.done)
	})
	return nil
}

func (p *puppet) Close() error { return p.Terminate(context.Background()) }

// says writes lines as the agent.
func (p *puppet) says(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(p.out, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Errorf("the driver does not read: %v", err)
	}
}

// hears returns the next line from the driver.
func (p *puppet) hears(t *testing.T) message {
	t.Helper()
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the driver is gone: %v", err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("the driver wrote %q", line)
	}
	return m
}

// message is what the driver writes, as far as the tests look at it.
type message struct {
	Type     string         `json:"type"`
	UUID     string         `json:"uuid"`
	Priority string         `json:"priority"`
	ID       string         `json:"request_id"`
	Request  map[string]any `json:"request"`
	Response struct {
		Subtype string         `json:"subtype"`
		ID      string         `json:"request_id"`
		Body    map[string]any `json:"response"`
	} `json:"response"`
}

// agrees answers a control request with success.
func (p *puppet) agrees(t *testing.T, m message, body string) {
	t.Helper()
	p.says(t, `{"type":"control_response","response":{"subtype":"success","request_id":"`+m.ID+`","response":`+body+`}}`)
}

// Lines of the agent.
func life(id, state string) string {
	return `{"type":"command_lifecycle","command_uuid":"` + id + `","state":"` + state + `","session_id":"s"}`
}

func says(id, text string) string {
	return `{"type":"assistant","session_id":"s","message":{"id":"` + id + `","model":"m","content":[{"type":"text","text":"` + text + `"}]}}`
}

const (
	initLine   = `{"type":"system","subtype":"init","session_id":"s","model":"m"}`
	resultLine = `{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"","total_cost_usd":0.5,"usage":{"input_tokens":1}}`
	asksLine   = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"u1"}}`
)

// play returns a worker on p.
func (p *puppet) play(t *testing.T, change func(*worker.Spec)) *Worker {
	t.Helper()
	s := worker.Spec{Session: 1}
	if change != nil {
		change(&s)
	}
	cfg := Config{Grace: 300 * time.Millisecond, ControlTimeout: 300 * time.Millisecond}.withDefaults()
	w := newWorker(t.Context(), cfg, s, p, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}
