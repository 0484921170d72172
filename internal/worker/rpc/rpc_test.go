package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard remembers what the agent said.
type heard struct {
	conn *Conn

	mu    sync.Mutex
	words []string
}

func (h *heard) add(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = append(h.words, s)
}

func (h *heard) Notify(method string, params json.RawMessage) { h.add(method + " " + string(params)) }

func (h *heard) Request(id ID, method string, _ json.RawMessage) { h.add(string(id) + " " + method) }

func (h *heard) Skipped(head []byte, _ int64) { h.add("skipped " + string(head[:10])) }

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.words, "|")
}

// agent is the other side of a conversation.
type agent struct {
	net.Conn
	in *bufio.Reader
}

func (a *agent) hear(t *testing.T) string {
	t.Helper()
	line, err := a.in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (a *agent) say(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(a, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

func talk(t *testing.T, cfg Config) (*Conn, *agent, *heard) {
	t.Helper()
	ours, theirs := net.Pipe()
	h := &heard{}
	c := New(ours, h, cfg)
	h.conn = c
	var run sync.WaitGroup
	run.Go(func() { _ = c.Run() })
	t.Cleanup(func() {
		_ = theirs.Close()
		_ = ours.Close()
		run.Wait()
	})
	return c, &agent{Conn: theirs, in: bufio.NewReader(theirs)}, h
}

func TestAnswersFindTheirCallsInAnyOrder(t *testing.T) {
	t.Parallel()
	c, a, _ := talk(t, Config{})
	var wg sync.WaitGroup
	for _, word := range []string{"one", "two"} {
		wg.Go(func() {
			var got string
			if err := c.Call(t.Context(), "echo", word, &got); err != nil || got != word {
				t.Errorf("%q: %q, %v", word, got, err)
			}
		})
	}
	var asked []message
	for range 2 {
		var m message
		if err := json.Unmarshal([]byte(a.hear(t)), &m); err != nil {
			t.Fatal(err)
		}
		asked = append([]message{m}, asked...)
	}
	for _, m := range asked {
		a.say(t, `{"id":`+string(m.ID)+`,"result":`+string(m.Params)+`}`)
	}
	wg.Wait()
}

func TestWhatWasSaidBeforeAnAnswerIsHandledBeforeIt(t *testing.T) {
	t.Parallel()
	c, a, h := talk(t, Config{})
	call, err := async(t, c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.say(t, `{"method":"a","params":1}`, `{"method":"b"}`, `{"id":1,"result":{}}`)
	if err := call.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := h.all(); got != "a 1|b " {
		t.Errorf("handled %q", got)
	}
}

func async(t *testing.T, c *Conn, a *agent) (*Call, error) {
	t.Helper()
	type sent struct {
		call *Call
		err  error
	}
	ch := make(chan sent, 1)
	go func() { // ends with the write, which the agent hears below
		call, err := c.Send(t.Context(), "do", struct{}{})
		ch <- sent{call, err}
	}()
	if got := a.hear(t); got != `{"id":1,"method":"do","params":{}}` {
		t.Errorf("said %s", got)
	}
	s := <-ch
	return s.call, s.err
}

func TestGarbageAndLongLinesCostThemselvesOnly(t *testing.T) {
	t.Parallel()
	c, a, h := talk(t, Config{MaxLine: 100})
	call, err := async(t, c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.say(t, "garbage", "[]", "12", "{}", `{"id":"x","result":1}`, `{"id":77,"result":1}`, "\x00\xff",
		`{"long":"`+strings.Repeat("x", 5000)+`"}`, `{"id":"abc","method":"ask"}`,
		`{"id":1,"error":{"code":-32600,"message":"no"}}`)
	err = call.Wait(t.Context(), nil)
	var no *Error
	if !errors.As(err, &no) || no.Code != -32600 || no.Message != "no" {
		t.Errorf("got %v", err)
	}
	if got := h.all(); got != `skipped {"long":"x|"abc" ask` {
		t.Errorf("handled %q", got)
	}
}

func TestACallEndsWithItsContextAndWithTheStream(t *testing.T) {
	t.Parallel()
	c, a, _ := talk(t, Config{})
	call, err := async(t, c, a)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := call.Wait(ctx, nil); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	_ = a.Close()
	<-c.Done()
	if err := c.Call(t.Context(), "more", nil, nil); !errors.Is(err, ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAnAgentThatDoesNotReadDoesNotHoldUsForEver(t *testing.T) {
	t.Parallel()
	c, _, _ := talk(t, Config{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("late"))
	defer cancel()
	if err := c.Tell(ctx, "hello", nil); err == nil || err.Error() != "late" {
		t.Errorf("got %v", err)
	}
}

func TestRepliesKeepTheAgentsID(t *testing.T) {
	t.Parallel()
	c, a, _ := talk(t, Config{Version: "2.0"})
	go func() { _ = c.Reply(t.Context(), ID(`"abc"`), map[string]int{"n": 1}) }() // ends with the write
	if got := a.hear(t); got != `{"jsonrpc":"2.0","id":"abc","result":{"n":1}}` {
		t.Errorf("said %s", got)
	}
	go func() { _ = c.Refuse(t.Context(), ID(`0`), MethodUnknown, "what?") }() // likewise
	if got := a.hear(t); got != `{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}` {
		t.Errorf("said %s", got)
	}
}
