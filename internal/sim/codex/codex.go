// Package codex is a scripted stand-in for the Codex CLI: a real process that
// speaks the dialect of its app-server, so that drivers are tested without an
// account, a network or Node. What it does is told by the user's own text
// (package script).
//
// It is as strict as the real one and refuses in its words: a request before the
// greeting, an unknown method or policy, an unknown session, one that another
// process has, a turn that does not run. Commands survive an interrupt, and
// nothing is told of their end, as there. Transcripts are files, so a session
// survives kill -9.
//
// State lies in $CODEX_HOME: sessions/<id>.json, locks/<id>, breach (what a
// driver did that the real one would not forgive); a file "logged-out" there
// makes it say that it is not logged in.
package codex

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Version is the version of the real CLI that this one stands in for.
const Version = "0.171.0"

type object map[string]any

// Main runs the stand-in and returns its exit code.
func Main(args []string) int {
	for len(args) > 1 && args[0] == "-c" {
		if !strings.Contains(args[1], "=") {
			fmt.Fprintf(os.Stderr, "error: invalid override %q\n", args[1])
			return 2
		}
		args = args[2:]
	}
	switch strings.Join(args, " ") {
	case "--version":
		fmt.Println("codex-cli " + version())
		return 0
	case "app-server":
		return newServer().serve()
	}
	fmt.Fprintf(os.Stderr, "error: unexpected argument %q\n", args)
	return 2
}

// version is what it says that it is; SIM_CODEX_VERSION makes it another.
func version() string { return cmp.Or(os.Getenv("SIM_CODEX_VERSION"), Version) }

func home() string { return os.Getenv("CODEX_HOME") }

// Breaches returns what drivers did wrong, as the stand-ins of a state
// directory saw it.
func Breaches(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "breach"))
	return string(b)
}

func breach(what string) {
	f, err := os.OpenFile(filepath.Join(home(), "breach"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, what)
		_ = f.Close()
	}
}

// server is the process.
type server struct {
	out struct {
		mu sync.Mutex
		w  *os.File
	}

	mu      sync.Mutex
	greeted bool
	threads map[string]*thread
	asked   int64
	answers map[int64]chan json.RawMessage
}

func newServer() *server {
	s := &server{threads: map[string]*thread{}, answers: map[int64]chan json.RawMessage{}}
	s.out.w = os.Stdout
	return s
}

// incoming is any line of the client.
type incoming struct {
	Version *string         `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// serve reads until the input ends: then it leaves at once, whatever runs.
func (s *server) serve() int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil {
			return 1
		}
		var m incoming
		if err := json.Unmarshal(bytes.TrimSpace(line), &m); err != nil {
			fmt.Fprintln(os.Stderr, "ERROR failed to deserialize JSON-RPC message")
			continue
		}
		switch {
		case m.Version != nil:
			breach("a message with the member jsonrpc")
		case m.Method != "" && len(m.ID) > 0:
			s.request(m)
		case m.Method == "" && len(m.ID) > 0:
			s.answered(m)
		case m.Method != "initialized":
			breach("notification " + m.Method)
		}
	}
}

// say writes one message.
func (s *server) say(m object) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.raw(append(line, '\n'))
}

func (s *server) raw(b []byte) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	_, _ = s.out.w.Write(b)
}

func (s *server) tell(method string, params object) {
	s.say(object{"method": method, "params": params})
}

func (s *server) refuse(id json.RawMessage, why string) {
	s.say(object{"error": object{"code": -32600, "message": why}, "id": id})
}

// ask asks the client and returns where the answer comes; nil there means that
// it was taken back.
func (s *server) ask(method string, params object) (id int64, answer chan json.RawMessage) {
	id, answer = s.expect()
	s.say(object{"method": method, "id": id, "params": params})
	return id, answer
}

// expect makes the id of a request, and where its answer comes.
func (s *server) expect() (id int64, answer chan json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = s.asked
	s.asked++
	answer = make(chan json.RawMessage, 1)
	s.answers[id] = answer
	return id, answer
}

func (s *server) answered(m incoming) {
	var id int64
	if json.Unmarshal(m.ID, &id) != nil {
		breach("an answer with the id " + string(m.ID))
		return
	}
	s.mu.Lock()
	ch, ok := s.answers[id]
	delete(s.answers, id)
	s.mu.Unlock()
	if ok {
		ch <- m.Result
	}
}

var methods = []string{
	"initialize", "thread/start", "thread/resume", "thread/fork", "thread/unsubscribe", "thread/list", "turn/start", "turn/steer",
	"turn/interrupt", "thread/compact/start", "model/list", "account/read", "thread/backgroundTerminals/list",
	"thread/backgroundTerminals/terminate",
}

// request answers one; what takes longer goes on beside it.
func (s *server) request(m incoming) {
	var p params
	switch err := json.Unmarshal(m.Params, &p); {
	case !slices.Contains(methods, m.Method):
		s.refuse(m.ID, "Invalid request: unknown variant `"+m.Method+"`, expected one of `"+strings.Join(methods, "`, `")+"`")
		return
	case err != nil:
		s.refuse(m.ID, "Invalid request: "+err.Error())
		return
	case m.Method == "initialize":
		s.initialize(m, p)
		return
	case !s.greeted:
		s.refuse(m.ID, "Not initialized")
		return
	}
	if why := p.check(m.Method); why != "" {
		s.refuse(m.ID, "Invalid request: "+why)
		return
	}
	result, then, why := s.carryOut(m.Method, p)
	if why != "" {
		s.refuse(m.ID, why)
		return
	}
	s.say(object{"id": m.ID, "result": result})
	if then != nil {
		then()
	}
}

func (s *server) initialize(m incoming, p params) {
	switch {
	case s.greeted:
		s.refuse(m.ID, "Already initialized")
		return
	case p.Client.Name == "":
		s.refuse(m.ID, "Invalid request: missing field `clientInfo`")
		return
	case !p.Can.Experimental:
		breach("without experimentalApi")
	}
	s.greeted = true
	s.say(object{"id": m.ID, "result": object{"userAgent": p.Client.Name + "/" + version() + " (Test; x86_64) (" + p.Client.Name + "; 1)"}})
	s.tell("remoteControl/status/changed", object{"status": "disabled"})
}

// carryOut does what is asked; then is done after the answer.
func (s *server) carryOut(method string, p params) (result object, then func(), why string) {
	switch method {
	case "account/read":
		_, err := os.Stat(filepath.Join(home(), "logged-out"))
		in := any(object{"type": "apiKey"})
		if err == nil {
			in = nil
		}
		return object{"account": in, "requiresOpenaiAuth": true}, nil, ""
	case "model/list":
		return models(), nil, ""
	case "thread/list":
		return s.list(p), nil, ""
	case "thread/start", "thread/resume", "thread/fork":
		return s.open(method, p)
	}
	s.mu.Lock()
	t := s.threads[p.Thread]
	s.mu.Unlock()
	if t == nil {
		if method == "thread/unsubscribe" {
			return object{"status": "notLoaded"}, nil, ""
		}
		return nil, nil, "thread not found: " + p.Thread
	}
	switch method {
	case "thread/unsubscribe":
		return object{"status": "unsubscribed"}, t.unload, ""
	case "turn/start":
		return t.start(p)
	case "thread/compact/start":
		return t.compact()
	case "turn/steer":
		return t.steer(p)
	case "turn/interrupt":
		return t.interrupt(p)
	case "thread/backgroundTerminals/list":
		return object{"data": t.terminals(), "nextCursor": nil}, nil, ""
	}
	return object{"terminated": t.terminate(p.Process)}, nil, ""
}

func models() object {
	one := func(id string, isDefault bool) object {
		return object{
			"id": id, "model": id, "hidden": false, "isDefault": isDefault,
			"supportedReasoningEfforts": []object{{"reasoningEffort": "low"}, {"reasoningEffort": "medium"}, {"reasoningEffort": "high"}},
		}
	}
	return object{"data": []object{one("sim-large", true), one("sim-small", false)}, "nextCursor": nil}
}
