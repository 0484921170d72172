package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// script is an agent inside the test: it answers each method with a result, an
// error, or whatever its function does.
type script struct {
	net.Conn // the driver's end
	far      net.Conn
	done     chan struct{}
	once     sync.Once
	stderr   string

	mu   sync.Mutex
	seen []string // method and params of everything that came
	on   map[string]func(s *script, id, params string)
}

func newScript(on map[string]func(s *script, id, params string)) *script {
	s := &script{done: make(chan struct{}), on: map[string]func(*script, string, string){
		"initialize":  gives(`{"protocolVersion":1,"agentInfo":{"name":"x","version":"1.2"},"agentCapabilities":{"loadSession":true}}`),
		"session/new": gives(`{"sessionId":"s1"}`), "session/load": gives(`{}`),
		methodPing: fails(`{"code":-32601,"message":"method not found"}`), "session/set_mode": gives(`{}`), "session/set_model": gives(`{}`), "session/set_config_option": gives(`{}`),
	}}
	for m, f := range on {
		s.on[m] = f
	}
	s.Conn, s.far = net.Pipe()
	go s.serve() // ends with the connection
	return s
}

func (s *script) serve() {
	in := bufio.NewReader(s.far)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		_ = json.Unmarshal(line, &m)
		s.mu.Lock()
		s.seen = append(s.seen, strings.TrimSpace(m.Method+" "+string(m.Params)+string(m.Result)+string(m.Error)))
		f := s.on[m.Method]
		s.mu.Unlock()
		if f != nil {
			f(s, string(m.ID), string(m.Params))
		}
	}
}

func (s *script) line(format string, args ...any) {
	_, _ = fmt.Fprintf(s.far, strings.NewReplacer("\n", "", "\t", "").Replace(format)+"\n", args...)
}

func (s *script) update(body string) {
	s.line(`{"method":"session/update","params":{"sessionId":"s1","update":{%s}}}`, body)
}

func (s *script) say(text string) {
	b, _ := json.Marshal(text)
	s.update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(b) + `}`)
}

// got returns what came under a method.
func (s *script) got(method string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.seen {
		if m, params, _ := strings.Cut(l, " "); m == method {
			out = append(out, params)
		}
	}
	return out
}

// answers returns what came without a method: answers to the agent's requests.
func (s *script) answers() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.seen {
		if strings.HasPrefix(l, "{") {
			out = append(out, l)
		}
	}
	return out
}

func (s *script) Stderr() string                     { return s.stderr }
func (s *script) Done() <-chan struct{}              { return s.done }
func (s *script) Exit() (code int, _ syscall.Signal) { return 7, 0 }
func (s *script) Identity() string                   { return "1.1.x" }

func (s *script) Close() error {
	s.once.Do(func() {
		_ = s.far.Close()
		_ = s.Conn.Close()
		close(s.done)
	})
	return nil
}

// gives answers with a result, fails with an error, silent with nothing.
func gives(result string) func(*script, string, string) {
	return func(s *script, id, _ string) { s.line(`{"id":%s,"result":%s}`, id, result) }
}

func fails(err string) func(*script, string, string) {
	return func(s *script, id, _ string) { s.line(`{"id":%s,"error":%s}`, id, err) }
}

func silent(*script, string, string) {}

// turn is a prompt's function: what it does, then the stop reason.
func does(reason string, do func(s *script)) func(*script, string, string) {
	return func(s *script, id, _ string) {
		go func() { // the script reads on meanwhile
			do(s)
			s.line(`{"id":%s,"result":{"stopReason":%q}}`, id, reason)
		}()
	}
}

type methods = map[string]func(*script, string, string)

// opened opens a worker on a scripted agent.
func openOn(t *testing.T, s *script, cfg Config, spec worker.Spec) (*Worker, error) {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name, cfg.Command, cfg.Args = "x", "/opt/x", []string{"--acp"}
	}
	cfg.ReplayInLoad = true
	d := &Driver{cfg: cfg.withDefaults(), log: slog.New(slog.DiscardHandler)}
	spec.Workspace = "/w"
	w := newWorker(t.Context(), d, s, spec)
	t.Cleanup(func() { _ = w.Close() })
	return w, opening{w.session}.open(t.Context())
}

func mustOpen(t *testing.T, s *script, cfg Config) *Worker {
	t.Helper()
	w, err := openOn(t, s, cfg, worker.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newDiscard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func ask(text string) chat.Input { return chat.Input{Pieces: []chat.Piece{{Text: text}}} }

func TestOnlyAnAnswerOrAKnownReasonIsASuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		text   string
		want   chat.Code
	}{
		"end":                       {"end_turn", "", chat.CodeNone},
		"unknown, with an answer":   {"brand_new", "hello", chat.CodeNone},
		"unknown, without":          {"brand_new", "", chat.Protocol},
		"missing, without":          {"", "", chat.Protocol},
		"cut off":                   {"max_tokens", "hello", chat.CodeNone},
		"refused":                   {"refusal", "no", chat.AgentError},
		"cancelled by nobody":       {"cancelled", "some", chat.AgentError},
		"max requests, no answer":   {"max_turn_requests", "", chat.Protocol},
		"the agent's own complaint": {"end_turn", "Error: 400 mock error", chat.AgentError},
		"own complaint about login": {"end_turn", "Error: Authentication failed (HTTP 401).", chat.LoggedOut},
	} {
		s := newScript(methods{"session/prompt": does(c.reason, func(s *script) {
			if c.text != "" {
				s.say(c.text)
			}
		})})
		w := mustOpen(t, s, Config{Name: "x", Command: "x", Quirks: Quirks{Speaks: true}})
		if err := w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)); chat.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestAsidesOfTheAgentAreNoAnswer(t *testing.T) {
	t.Parallel()
	talk := func(s *script) {
		s.say("Warning: Model metadata not found.\n\n")
		s.say("Info: Request failed. Retrying...")
		s.say("Error: it was only")
		s.say("an example")
		s.say(" of Go: errors")
	}
	s := newScript(methods{"session/prompt": does("end_turn", talk)})
	h := workertest.NewHost(nil)
	if err := mustOpen(t, s, Config{Name: "x", Command: "x", Quirks: Quirks{Speaks: true}}).Prompt(t.Context(), ask("hi"), h); err != nil {
		t.Fatal(err)
	}
	if got := h.Text(); got != "Error: it was only\n\nan example of Go: errors" {
		t.Errorf("got %q", got)
	}
	h = workertest.NewHost(nil)
	s = newScript(methods{"session/prompt": does("end_turn", talk)})
	if err := mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h); err != nil || !strings.HasPrefix(h.Text(), "Warning: Model") {
		t.Errorf("other agents are taken at their word: %q, %v", h.Text(), err)
	}
}

func TestUsageIsPerTurn(t *testing.T) {
	t.Parallel()
	n := 0
	s := newScript(methods{"session/prompt": func(s *script, id, _ string) {
		n++
		s.update(`"sessionUpdate":"usage_update","used":9,"size":1000`)
		s.line(`{"id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":%d,"outputTokens":%d}}}`, id, 100*n, 10*n)
	}})
	w := mustOpen(t, s, Config{Name: "x", Command: "x", Quirks: Quirks{UsageSums: true}})
	for range 3 {
		h := workertest.NewHost(nil)
		if err := w.Prompt(t.Context(), ask("hi"), h); err != nil {
			t.Fatal(err)
		}
		for _, e := range h.Events() {
			if e.Kind == chat.EventUsage && (e.Usage.In != 100 || e.Usage.Out != 10 || e.Usage.Used != 9 || e.Usage.Window != 1000) {
				t.Errorf("usage %+v", e.Usage)
			}
		}
	}
}

func TestASecondPromptIsNeverSent(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": silent})
	w := mustOpen(t, s, Config{Name: "x", Command: "x", Grace: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	h := workertest.NewHost(nil)
	go func() { first <- w.Prompt(ctx, ask("one"), h) }()
	for len(s.got("session/prompt")) == 0 {
		<-time.After(time.Millisecond)
	}
	if err := w.Prompt(t.Context(), ask("two"), workertest.NewHost(nil)); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("got %v", err)
	}
	cancel()
	<-first
	if got := s.got("session/prompt"); len(got) != 1 {
		t.Errorf("sent %q", got)
	}
}

func TestALostSessionIsNoticedByAPromptToo(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]chat.Code{
		`{"code":-32602,"message":"Session not found: s1"}`:                                     chat.NoSession,
		`{"code":-32002,"message":"Resource not found","data":{"sessionId":"s1"}}`:              chat.NoSession,
		`{"code":-32002,"message":"Resource not found","data":{"uri":"file:///a.txt"}}`:         chat.AgentError,
		`{"code":-32603,"message":"Internal error: API Error: 400 context window exceeds max"}`: chat.ContextFull,
		`{"code":-32603,"message":"model \"gpt-9\" not found"}`:                                 chat.ModelUnknown,
		`{"code":-32603,"message":"fetch failed ECONNREFUSED"}`:                                 chat.Network,
		`{"code":500,"message":"terminated"}`:                                                   chat.AgentError,
	} {
		w := mustOpen(t, newScript(methods{"session/prompt": fails(answer)}), Config{})
		if err := w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)); chat.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
}

func TestToolsOfACancelledTurnAreClosed(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": func(s *script, id, _ string) {
		s.update(`"sessionUpdate":"tool_call_update","toolCallId":"t1","kind":"execute","status":"in_progress","title":"sleep"`)
		s.mu.Lock()
		s.on["session/cancel"] = func(s *script, _, _ string) { s.line(`{"id":%s,"result":{"stopReason":"cancelled"}}`, id) }
		s.mu.Unlock()
	}})
	w := mustOpen(t, s, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	h := workertest.NewHost(nil)
	over := make(chan error, 1)
	go func() { over <- w.Prompt(ctx, ask("hi"), h) }()
	for !strings.Contains(fmt.Sprint(h.Events()), "tool") {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-over
	var states []chat.ToolState
	for _, e := range h.Events() {
		if e.Kind == chat.EventTool {
			states = append(states, e.Tool.State)
		}
	}
	if len(states) != 2 || states[0] != chat.ToolRunning || states[1] != chat.ToolFailed {
		t.Errorf("states %v", states)
	}
}

func TestAFloodOfRequestsIsBounded(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		for i := range 500 {
			s.line(`{"id":"f%d","method":"_x/flood"}`, i)
		}
		s.say("done")
	})})
	h := workertest.NewHost(nil)
	if err := mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h); err != nil || h.Text() != "done" {
		t.Errorf("%q, %v", h.Text(), err)
	}
	for _, a := range s.answers() {
		if !strings.Contains(a, "-32601") {
			t.Errorf("answered %s", a)
		}
	}
}

func TestAPromptThatIsNotReadDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := newScript(methods{"session/new": func(s *script, id, _ string) {
			s.line(`{"id":%s,"result":{"sessionId":"s1"}}`, id)
			<-hold // it reads nothing any more
		}})
		defer close(hold)
		w := mustOpen(t, s, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := w.Prompt(ctx, ask(strings.Repeat("x", 1<<20)), workertest.NewHost(nil))
		if chat.CodeOf(err) != chat.TimedOut || time.Since(began) > 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		<-w.Done()
	})
}
