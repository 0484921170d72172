// Package demo is the demo agent: a program of its own ("cligate demo-agent")
// that speaks the Agent Client Protocol over stdio and needs neither a model nor
// a network. It lets people try the gateway, and tests drive everything that a
// real agent does: streaming, approvals, questions, plans, tools, turns of its
// own, changes of model and mode, figures, failures, crashes.
//
// Place in the flow: it is at the far end, in a process below worker/acp, and
// shares no code with the driver, so that the two are tested against each other.
//
// Guarantees: the same words give the same answer; a session is in a file
// before its prompt is answered, so it can be loaded after any kind of end; it
// never pretends to be a real agent.
package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

// Main serves one client until its input ends or ctx does. Sessions are kept
// in stateDir, which is made if it is missing.
func Main(ctx context.Context, in io.Reader, out io.Writer, stateDir string) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("folder of the demo agent: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{
		out: out, dir: stateDir, ctx: ctx, crash: func() { os.Exit(crashCode) },
		sessions: map[string]*session{}, waiting: map[string]chan reply{},
	}
	err := a.read(bufio.NewReader(in))
	cancel()
	a.work.Wait()
	return err
}

// crashCode is the exit code of a crash on request.
const crashCode = 3

// agent serves one client.
type agent struct {
	dir   string
	ctx   context.Context // ends with the client
	crash func()
	work  sync.WaitGroup

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	sessions map[string]*session
	waiting  map[string]chan reply // our requests, by id
	asked    int
	forms    bool // the client can show forms
}

// packet is one line of the protocol in either direction.
type packet struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// arrived is packet as it is read.
type arrived struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	reply
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
}

// failure is a JSON-RPC error.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// Codes of JSON-RPC and of the protocol.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeNoMethod = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeNotFound = -32002
	codeAuth     = -32000
)

// read takes the client's lines until there are no more.
func (a *agent) read(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			a.line(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

func (a *agent) line(line []byte) {
	var m arrived
	if err := json.Unmarshal(line, &m); err != nil {
		a.write(packet{ID: json.RawMessage("null"), Error: &failure{codeParse, "parse error"}})
		return
	}
	switch m.Method {
	case "":
		a.mu.Lock()
		ch := a.waiting[string(m.ID)]
		delete(a.waiting, string(m.ID))
		a.mu.Unlock()
		if ch != nil {
			ch <- m.reply // has room for one
		}
	case "session/prompt": // the only one that takes long
		if err := a.prompt(m.ID, m.Params); err != nil {
			a.answer(m.ID, nil, err)
		}
	default:
		result, err := a.call(m.Method, m.Params)
		if len(m.ID) > 0 {
			a.answer(m.ID, result, err)
		}
	}
}

// call carries out everything but prompts.
func (a *agent) call(method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		return a.initialize(params)
	case "session/new", "session/load":
		return a.open(params, method == "session/load")
	case "session/cancel":
		return nil, a.cancel(params)
	case "session/set_mode", "session/set_model", "session/set_config_option":
		return a.change(params)
	}
	return nil, &failure{codeNoMethod, "method not found: " + method}
}

func (a *agent) initialize(params json.RawMessage) (any, error) {
	var p struct {
		Capabilities struct {
			Elicitation struct {
				Form *struct{} `json:"form"`
			} `json:"elicitation"`
		} `json:"clientCapabilities"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &failure{codeParams, "unreadable parameters"}
	}
	a.mu.Lock()
	a.forms = p.Capabilities.Elicitation.Form != nil
	a.mu.Unlock()
	return map[string]any{
		"protocolVersion": 1,
		"agentInfo":       map[string]any{"name": "cligate-demo", "title": "CliGate demo agent", "version": "1"},
		"agentCapabilities": map[string]any{
			"loadSession": true, "promptCapabilities": map[string]any{"image": true, "embeddedContext": true},
		},
		"authMethods": []any{},
	}, nil
}

// open makes a session, or loads one and replays what was said in it.
func (a *agent) open(params json.RawMessage, load bool) (any, error) {
	var p struct {
		ID  string `json:"sessionId"`
		Dir string `json:"cwd"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &failure{codeParams, "unreadable parameters"}
	}
	a.mu.Lock()
	if old := a.sessions[p.ID]; old != nil && load { // once more, in this very process
		_ = old.book.hold.Close()
	}
	a.mu.Unlock()
	book, err := openBook(a.dir, p.ID, load)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &failure{codeNotFound, "session not found: " + p.ID}
	case err != nil:
		return nil, &failure{codeInternal, err.Error()}
	}
	s := &session{agent: a, book: book, dir: p.Dir, set: settings{modeDefault, models[0], efforts[1]}}
	a.mu.Lock()
	a.sessions[book.id] = s
	a.mu.Unlock()
	if load {
		for _, l := range book.lines {
			s.update(chunk(l.kind(), l.Text))
		}
	}
	s.update(commands())
	s.update(s.sums(0)) // so that a client knows them before the first turn
	result := s.settings().offers()
	if !load {
		result["sessionId"] = book.id
	}
	return result, nil
}

// prompted is what a client asks a session.
type prompted struct {
	ID     string  `json:"sessionId"`
	Prompt []block `json:"prompt"`
}

// block is a piece of a prompt.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIME     string `json:"mimeType"`
	Resource struct {
		Blob string `json:"blob"`
	} `json:"resource"`
}

// seen is how many files came with a prompt.
type seen struct{ images, documents int }

// text is the prompt's text, and what came with it.
func (p prompted) text() (string, seen) {
	var text []byte
	var files seen
	for _, b := range p.Prompt {
		text = append(text, b.Text...)
		switch {
		case b.Type == "image":
			files.images++
		case b.Type == "resource" && b.Resource.Blob != "":
			files.documents++
		}
	}
	return string(text), files
}

// find returns the session of a request's parameters.
func (a *agent) find(id string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &failure{codeNotFound, "session not found: " + id}
}

// cancel ends the running turn of a session.
func (a *agent) cancel(params json.RawMessage) error {
	var p prompted
	if err := json.Unmarshal(params, &p); err != nil {
		return &failure{codeParams, "unreadable parameters"}
	}
	s, err := a.find(p.ID)
	if err == nil {
		s.cancelTurn()
	}
	return err
}

// prompt starts a turn, if its session has none.
func (a *agent) prompt(id, params json.RawMessage) error {
	var p prompted
	if err := json.Unmarshal(params, &p); err != nil {
		return &failure{codeParams, "unreadable parameters"}
	}
	s, err := a.find(p.ID)
	if err != nil {
		return err
	}
	ctx, ok := s.takeTurn(a.ctx)
	if !ok {
		return &failure{codeRequest, "a prompt is running in this session"}
	}
	text, files := p.text()
	a.work.Go(func() {
		s.seen = files
		reason, err := s.run(ctx, text)
		result := map[string]any{"stopReason": reason, "usage": s.usage(text)}
		s.release() // before the client knows that it may go on
		a.answer(id, result, err)
	})
	return nil
}

// ask sends a request to the client and waits for its answer, which is read
// into v. When ctx ends it returns without one; the turn is over then.
func (a *agent) ask(ctx context.Context, method string, params, v any) error {
	ch := make(chan reply, 1)
	a.mu.Lock()
	a.asked++
	id := strconv.Itoa(a.asked)
	a.waiting[id] = ch
	a.mu.Unlock()
	a.write(packet{ID: json.RawMessage(id), Method: method, Params: params})
	select {
	case r := <-ch:
		if r.Error != nil {
			return r.Error
		}
		_ = json.Unmarshal(r.Result, v) // what cannot be read is no answer
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.waiting, id)
		a.mu.Unlock()
	}
	return nil
}

func (a *agent) answer(id json.RawMessage, result any, err error) {
	p := packet{ID: id}
	var f *failure
	switch {
	case err == nil:
		p.Result = result
	case errors.As(err, &f):
		p.Error = f
	default:
		p.Error = &failure{codeInternal, err.Error()}
	}
	a.write(p)
}

// write sends one line. A client that is gone ends the input as well.
func (a *agent) write(p packet) {
	p.JSONRPC = "2.0"
	line, err := json.Marshal(p)
	if err != nil {
		panic("demo agent: " + err.Error()) // our own types
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = a.out.Write(append(line, '\n'))
}
