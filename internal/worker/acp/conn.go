package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"syscall"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker/proc"
)

// process is what the driver needs of a running agent; *proc.Process is one.
type process interface {
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	SetWriteDeadline(t time.Time) error
	Stderr() string
	Done() <-chan struct{}
	Exit() (code int, signal syscall.Signal)
	Identity() string
	Close() error
}

// peer is who gets what the agent says by itself.
type peer interface {
	// notify takes a notification. It is called in the order of arrival and
	// holds up reading while it runs.
	notify(method string, params json.RawMessage)
	// request answers a request in a goroutine of its own. ctx ends with the
	// connection.
	request(ctx context.Context, r request) (any, *rpcError)
	// answered is told when the answer to a request has been written, or why it
	// could not be.
	answered(r request, err error)
	// skipped is told about a line over the cap, of which the beginning is kept.
	skipped(method string, line proc.Line)
}

// request is one request of the agent.
type request struct {
	id     string
	method string
	params json.RawMessage
}

// maxRequests bounds the requests of an agent that are worked on at once.
const maxRequests = 64

// conn speaks JSON-RPC, one message a line, with one agent. Reading never
// waits for a write: what the agent asks is answered by other goroutines.
type conn struct {
	proc  process
	limit time.Duration // for one write
	log   *slog.Logger
	ctx   context.Context // ends when nothing will be read any more
	end   context.CancelCauseFunc
	work  sync.WaitGroup // the reader and the requests

	writing sync.Mutex

	mu      sync.Mutex
	last    int64
	pending map[string]chan incoming
}

// hurry is how long a write may go on after its ctx has ended: a line that was
// begun should be finished, because the agent is lost otherwise.
const hurry = 2 * time.Second

var errGone = errors.New("the agent is gone")

func newConn(ctx context.Context, p process, limit time.Duration, log *slog.Logger) *conn {
	c := &conn{proc: p, limit: limit, log: log, pending: map[string]chan incoming{}}
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

// start begins to read. It is called once.
func (c *conn) start(p peer, maxLine int) {
	c.work.Go(func() { c.read(p, proc.NewLineReader(c.proc, maxLine)) })
}

// stop waits until everything that was started has ended. The process must be
// closed before.
func (c *conn) stop() { c.work.Wait() }

// read ends with the agent's output.
func (c *conn) read(p peer, lines *proc.LineReader) {
	slots := make(chan struct{}, maxRequests)
	for {
		line, err := lines.Next()
		if err != nil {
			c.end(errGone)
			return
		}
		if line.Cut {
			c.cut(p, line)
			continue
		}
		var m incoming
		if err := json.Unmarshal(line.Data, &m); err != nil || m.Method == "" && len(m.ID) == 0 {
			if len(bytes.TrimSpace(line.Data)) > 0 {
				c.log.Debug("line of the agent is no message", "size", line.Size, "err", err)
			}
			continue
		}
		switch known := len(m.ID) > 0 && string(m.ID) != "null"; {
		case m.Method == "" && known:
			c.answered(m)
		case m.Method == "":
			c.log.Debug("agent complains", "err", m.Error)
		case !known:
			p.notify(m.Method, m.Params)
		default:
			select {
			case slots <- struct{}{}:
				c.work.Go(func() {
					defer func() { <-slots }()
					c.serve(p, m)
				})
			default:
				c.log.Warn("too many requests of the agent at once", "method", m.Method)
			}
		}
	}
}

// serve answers one request.
func (c *conn) serve(p peer, m incoming) {
	r := request{id: string(m.ID), method: m.Method, params: m.Params}
	result, fault := p.request(c.ctx, r)
	err := c.write(c.ctx, message{ID: m.ID, Result: result, Error: fault})
	if err != nil {
		c.log.Debug("agent not answered", "method", m.Method, "err", err)
	}
	p.answered(r, err)
}

// cut deals with a line over the cap: whoever waits for it must not wait.
func (c *conn) cut(p peer, line proc.Line) {
	id, method := decodeHead(line.Data)
	p.skipped(method, line)
	tooLarge := &rpcError{Code: codeInternal, Message: "the message is too large"}
	switch {
	case method == "" && id != nil:
		c.answered(incoming{ID: id, Error: tooLarge})
	case method != "session/update" && id != nil:
		c.work.Go(func() { _ = c.write(c.ctx, message{ID: id, Error: tooLarge}) })
	}
}

func (c *conn) answered(m incoming) {
	key := string(bytes.Trim(m.ID, `"`)) // some agents give a number back as a text
	c.mu.Lock()
	ch, ok := c.pending[key]
	delete(c.pending, key)
	c.mu.Unlock()
	if !ok {
		c.log.Debug("answer that nobody waits for", "id", key)
		return
	}
	ch <- m // has room for one, and is forgotten with it
}

// send writes a request and returns where its answer will come.
func (c *conn) send(ctx context.Context, method string, params any) (<-chan incoming, error) {
	c.mu.Lock()
	c.last++
	id := strconv.FormatInt(c.last, 10)
	ch := make(chan incoming, 1)
	c.pending[id] = ch
	c.mu.Unlock()
	if err := c.write(ctx, message{ID: json.RawMessage(id), Method: method, Params: params}); err != nil {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		return nil, err
	}
	return ch, nil
}

// call sends a request and waits for its answer until ctx ends.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ch, err := c.send(ctx, method, params)
	if err != nil {
		return nil, err
	}
	m, err := c.wait(ctx, ch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return m, nil
}

// wait waits for the answer to a request. What the agent answered before it
// went is returned even then.
func (c *conn) wait(ctx context.Context, ch <-chan incoming) (json.RawMessage, error) {
	select {
	case m := <-ch:
		return result(m)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ctx.Done():
	}
	select {
	case m := <-ch:
		return result(m)
	default:
		return nil, errGone
	}
}

func result(m incoming) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// note sends a notification.
func (c *conn) note(ctx context.Context, method string, params any) error {
	return c.write(ctx, message{Method: method, Params: params})
}

// write writes one line. A line that could not be written in whole makes the
// agent unusable: the process is killed, which everybody else then sees.
func (c *conn) write(ctx context.Context, m message) error {
	m.JSONRPC = "2.0"
	if len(m.ID) > 0 && m.Method == "" && m.Error == nil && m.Result == nil {
		m.Result = struct{}{}
	}
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m.Method, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ctx.Err() != nil {
		return errGone
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_ = c.proc.SetWriteDeadline(time.Now().Add(c.limit))
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = c.proc.SetWriteDeadline(time.Now().Add(hurry))
	})
	_, err = c.proc.Write(append(line, '\n'))
	if !stop() {
		<-fired // it must not hit the next write
	}
	if err != nil {
		c.end(errGone)
		c.work.Go(func() { _ = c.proc.Close() })
		return fmt.Errorf("write to the agent: %w: %w", errGone, err)
	}
	return nil
}

// obituary says how the agent ended, with the end of its stderr for the log.
func (c *conn) obituary() error {
	select {
	case <-c.proc.Done():
	case <-time.After(time.Second): // its output has ended, the process has not
		_ = c.proc.Close()
		return chat.E(chat.Crashed, "", errors.New("the agent closed its output"))
	}
	code, signal := c.proc.Exit()
	how := "exit code " + strconv.Itoa(code)
	if signal != 0 {
		how = "signal: " + signal.String()
	}
	tail := c.proc.Stderr()
	if cut := len(tail) - obituarySize; cut > 0 {
		tail = "…" + tail[cut:]
	}
	return chat.E(chat.Crashed, how, fmt.Errorf("agent ended with %s; stderr: %q", how, tail))
}

// obituarySize is how much of an agent's stderr goes into the log.
const obituarySize = 4 << 10
