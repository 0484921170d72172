// Package rpc speaks JSON-RPC in lines with an agent: requests, answers and
// notifications in both directions over one stream.
//
// Place in the flow: a driver gives it the stream of a process and a Handler
// for what the agent says, and calls the agent through it.
//
// Guarantees:
//   - What the agent says reaches the handler in order, one at a time.
//   - An answer reaches its caller after everything that was said before it
//     was handled.
//   - A line that is no message, or too long, costs itself only.
//   - A call ends with its answer, with its context or with the stream.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"cligate/internal/worker/proc"
)

// Stream is the way to the agent.
type Stream interface {
	io.ReadWriter
	SetWriteDeadline(t time.Time) error
}

// Handler takes what the agent says. Its methods are called one at a time and
// must not wait for the agent or for people.
type Handler interface {
	// Notify takes a notification.
	Notify(method string, params json.RawMessage)
	// Request takes a request, which is to be answered with Reply or Refuse.
	Request(id ID, method string, params json.RawMessage)
	// Skipped takes the beginning of a line over the cap; size is the whole
	// line's, in bytes. head is valid during the call only.
	Skipped(head []byte, size int64)
}

// ID is the agent's own name of a request, as it wrote it.
type ID string

// Config are the settings of a Conn.
type Config struct {
	// Version is the member "jsonrpc" of every message; empty = none.
	Version string
	MaxLine int // cap of one line in bytes; 0 = proc.MaxLine
	Log     *slog.Logger
}

// Conn is a conversation with an agent.
type Conn struct {
	cfg     Config
	stream  Stream
	handler Handler
	gone    chan struct{} // closed when nothing will be read any more

	sending chan struct{} // holds one token: who has it may write
	torn    bool          // a line was written in part; the token guards it

	mu      sync.Mutex
	last    int64
	pending map[int64]chan message
}

// ErrGone says that the agent is not there any more.
var ErrGone = errors.New("the agent is gone")

// ErrTorn says that a line was written in part: nothing can be written any
// more, and the agent must be ended.
var ErrTorn = errors.New("a line was written in part")

// Error is the agent's no to a request.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("the agent refused: %d %s", e.Code, e.Message) }

// Codes of JSON-RPC that we answer with.
const (
	MethodUnknown = -32601
	ParamsInvalid = -32602
)

// message is any line.
type message struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Err     *Error          `json:"error,omitempty"`
}

// New returns a conversation over s. Run must be called for anything to be
// heard.
func New(s Stream, h Handler, cfg Config) *Conn {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		cfg: cfg, stream: s, handler: h, gone: make(chan struct{}), sending: make(chan struct{}, 1),
		pending: map[int64]chan message{},
	}
	c.sending <- struct{}{}
	return c
}

// Done is closed when the stream has ended and everything was handled.
func (c *Conn) Done() <-chan struct{} { return c.gone }

// Run reads until the stream ends; nil for a regular end.
func (c *Conn) Run() error {
	defer close(c.gone)
	lines := proc.NewLineReader(c.stream, c.cfg.MaxLine)
	for {
		l, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the agent: %w", err)
		case l.Cut:
			c.handler.Skipped(l.Data, l.Size)
		default:
			c.line(l.Data)
		}
	}
}

func (c *Conn) line(data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		c.cfg.Log.Debug("line of the agent is no message", "bytes", len(data))
		return
	}
	named := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && named:
		c.handler.Request(ID(m.ID), m.Method, m.Params)
	case m.Method != "":
		c.handler.Notify(m.Method, m.Params)
	case named:
		c.answered(m)
	default:
		c.cfg.Log.Debug("line of the agent is neither request nor answer", "bytes", len(data))
	}
}

// answered hands an answer to whoever waits for it.
func (c *Conn) answered(m message) {
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		c.cfg.Log.Debug("answer with a strange id")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.pending[n]
	if !ok {
		c.cfg.Log.Debug("answer that nobody waits for", "id", n)
		return
	}
	delete(c.pending, n)
	ch <- m // has room for one
}

// Call is a request that was sent.
type Call struct {
	conn   *Conn
	id     int64
	answer chan message
}

// Send sends a request. After an error that is ErrTorn the agent must be
// ended; after one that is neither that nor ErrGone nothing was written.
func (c *Conn) Send(ctx context.Context, method string, params any) (*Call, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	call := &Call{conn: c, answer: make(chan message, 1)}
	c.mu.Lock()
	c.last++
	call.id = c.last
	c.pending[call.id] = call.answer
	c.mu.Unlock()
	id := json.RawMessage(strconv.FormatInt(call.id, 10))
	if err := c.write(ctx, message{ID: id, Method: method, Params: body}); err != nil {
		call.forget()
		return nil, err
	}
	return call, nil
}

func (k *Call) forget() {
	k.conn.mu.Lock()
	defer k.conn.mu.Unlock()
	delete(k.conn.pending, k.id)
}

// Wait waits for the answer and reads it into result, unless that is nil. The
// agent's no is an *Error. It is called once.
func (k *Call) Wait(ctx context.Context, result any) error {
	defer k.forget()
	select {
	case m := <-k.answer:
		return m.read(result)
	case <-k.conn.gone:
		select {
		case m := <-k.answer: // its last words
			return m.read(result)
		default:
			return ErrGone
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m message) read(result any) error {
	switch {
	case m.Err != nil:
		return m.Err
	case result == nil:
		return nil
	}
	if err := Decode(m.Result, result); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	return nil
}

// Decode reads a message. A member of a type that we do not know costs that
// member, not the message.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// Call sends a request and waits for its answer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	call, err := c.Send(ctx, method, params)
	if err != nil {
		return err
	}
	return call.Wait(ctx, result)
}

// Tell sends a notification; nil params are left out.
func (c *Conn) Tell(ctx context.Context, method string, params any) error {
	m := message{Method: method}
	if params != nil {
		body, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("encode %s: %w", method, err)
		}
		m.Params = body
	}
	return c.write(ctx, m)
}

// Reply answers a request of the agent.
func (c *Conn) Reply(ctx context.Context, id ID, result any) error {
	body, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	return c.write(ctx, message{ID: json.RawMessage(id), Result: body})
}

// Refuse answers a request of the agent with an error.
func (c *Conn) Refuse(ctx context.Context, id ID, code int, why string) error {
	return c.write(ctx, message{ID: json.RawMessage(id), Err: &Error{Code: code, Message: why}})
}

// write writes m as one line. It waits while the agent does not read, at most
// until ctx ends.
func (c *Conn) write(ctx context.Context, m message) error {
	m.Version = c.cfg.Version
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case <-c.sending:
		defer func() { c.sending <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.gone:
		return ErrGone
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.torn:
		return ErrTorn
	}
	return c.put(ctx, append(line, '\n'))
}

// put writes a line; the token is held.
func (c *Conn) put(ctx context.Context, line []byte) error {
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = c.stream.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := c.stream.Write(line)
	if !stop() {
		<-fired
		_ = c.stream.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		c.torn = true
		return fmt.Errorf("write to the agent: %w: %w", ErrTorn, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("write to the agent: %w: %w", ErrGone, err)
	}
}
