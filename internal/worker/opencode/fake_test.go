package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// fake is a stand-in for "opencode serve": the same requests, the same events
// in the same order, and the same refusals. What the driver must never do it
// writes down as a breach. Its sessions are kept in a folder, so they outlive
// it.
type fake struct {
	dir      string // sessions and breaches
	password string
	here     string // the workspace
	config   struct {
		Agent map[string]struct {
			Permission map[string]any `json:"permission"`
		} `json:"agent"`
	}

	mu       sync.Mutex
	sessions map[string]*fakeSession
	streams  map[chan []byte]bool
	pending  map[string]chan fakeReply // requests that wait for a person
	requests map[string]object         // the same, as they were asked
	serial   int64
}

type fakeSession struct {
	Info     object
	Rules    []rule
	Messages []fakeMessage
	busy     bool
	queue    []queued // prompts that came while it was busy
	came     int      // how many have
	status   object
	cancel   chan struct{}
}

type fakeMessage struct {
	Info  object   `json:"info"`
	Parts []object `json:"parts"`
}

type fakeReply struct {
	reply, message string
	answers        [][]string
}

// Variables that the stand-in reads.
const (
	fakeDir   = "FAKE_OPENCODE_DIR"
	fakeOpen  = "FAKE_OPENCODE_OPEN"  // it takes requests without a password
	fakeLoose = "FAKE_OPENCODE_LOOSE" // the repository defines agents that ask nobody
	fakeSlow  = "FAKE_OPENCODE_SLOW"  // a turn begins late
	fakeLate  = "FAKE_OPENCODE_LATE"  // a prompt for a busy session is looked at when it rests
)

func fakeMain(args []string) {
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println("1.18.33")
		return
	}
	if !slices.Equal(args, []string{"serve", "--hostname", "127.0.0.1", "--port", "0"}) {
		fmt.Fprintln(os.Stderr, "unknown arguments", args)
		os.Exit(2)
	}
	f := &fake{
		dir: os.Getenv(fakeDir), password: os.Getenv("OPENCODE_SERVER_PASSWORD"), sessions: map[string]*fakeSession{},
		streams: map[chan []byte]bool{}, pending: map[string]chan fakeReply{}, requests: map[string]object{},
		serial: time.Now().UnixMilli(),
	}
	f.here, _ = os.Getwd()
	if f.password == "" {
		fmt.Println("Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.")
		f.breach("no password")
	}
	if err := json.Unmarshal([]byte(os.Getenv("OPENCODE_CONFIG_CONTENT")), &f.config); err != nil || f.config.Agent["build"].Permission["bash"] != "ask" {
		f.breach("it is not told to ask: %v", err)
	}
	f.load()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("opencode server listening on http://%s\n", l.Addr())
	panic(http.Serve(l, f.routes()))
}

func (f *fake) breach(format string, args ...any) {
	file, err := os.OpenFile(filepath.Join(f.dir, "breaches"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

// load reads the sessions of earlier processes.
func (f *fake) load() {
	files, _ := filepath.Glob(filepath.Join(f.dir, "ses_*"))
	for _, file := range files {
		var s fakeSession
		if raw, err := os.ReadFile(file); err == nil && json.Unmarshal(raw, &s) == nil {
			f.sessions[filepath.Base(file)] = &s
		}
	}
}

// save writes a session down; f.mu is held.
func (f *fake) save(s *fakeSession) {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	file := filepath.Join(f.dir, s.Info["id"].(string))
	if err := os.WriteFile(file+".new", raw, 0o600); err != nil {
		panic(err)
	}
	_ = os.Rename(file+".new", file)
}

// id makes an id; later ones are greater.
func (f *fake) id(kind string) string {
	f.serial++
	return fmt.Sprintf("%s_%012x001", kind, f.serial)
}

// publish sends an event to whoever listens.
func (f *fake) publish(kind string, properties object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(kind, properties)
}

// tell is publish for whoever holds f.mu.
func (f *fake) tell(kind string, properties object) {
	raw, err := json.Marshal(object{"id": "evt_1", "type": kind, "properties": properties})
	if err != nil {
		panic(err)
	}
	f.send("data: " + string(raw) + "\n\n")
}

func (f *fake) line(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(text)
}

func (f *fake) send(text string) {
	for s := range f.streams {
		s <- []byte(text)
	}
}

func (f *fake) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(w http.ResponseWriter, r *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			name, password, ok := r.BasicAuth()
			if os.Getenv(fakeOpen) == "" && (!ok || name != "opencode" || password != f.password) {
				w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h(w, r)
		})
	}
	handle("GET /global/health", func(w http.ResponseWriter, _ *http.Request) { give(w, object{"healthy": true, "version": "1.18.33"}) })
	handle("GET /event", f.events)
	handle("GET /agent", func(w http.ResponseWriter, _ *http.Request) { give(w, f.agents()) })
	handle("GET /config", func(w http.ResponseWriter, _ *http.Request) { give(w, object{"model": "mock/large"}) })
	handle("GET /command", func(w http.ResponseWriter, _ *http.Request) {
		give(w, []object{{"name": "review", "description": "look at it", "source": "command", "template": "review $ARGUMENTS", "hints": []string{}},
			{"name": "skilled", "source": "skill", "template": "x", "hints": []string{}}})
	})
	handle("GET /config/providers", func(w http.ResponseWriter, _ *http.Request) {
		m := object{"status": "active", "variants": object{"high": object{}, "low": object{}}, "limit": object{"context": 200000},
			"capabilities": object{"input": object{"image": true, "pdf": true}}}
		give(w, object{"providers": []object{{"id": "mock", "models": object{"large": m, "small": m}}}, "default": object{"mock": "small"}})
	})
	handle("GET /session", f.list)
	handle("POST /session", f.create)
	handle("GET /session/status", f.statuses)
	handle("GET /session/{id}", f.with(func(w http.ResponseWriter, _ *http.Request, s *fakeSession) { give(w, s.shown()) }))
	handle("PATCH /session/{id}", f.with(f.patch))
	handle("GET /session/{id}/message", f.with(f.messages))
	handle("DELETE /session/{id}/message/{message}", f.with(f.forget))
	handle("POST /session/{id}/prompt_async", f.with(f.prompt))
	handle("POST /session/{id}/command", f.with(f.command))
	handle("POST /session/{id}/summarize", f.with(f.summarize))
	handle("POST /session/{id}/abort", f.with(func(w http.ResponseWriter, _ *http.Request, s *fakeSession) { f.abort(s); give(w, true) }))
	handle("GET /permission", func(w http.ResponseWriter, _ *http.Request) { give(w, f.waiting("per_")) })
	handle("GET /question", func(w http.ResponseWriter, _ *http.Request) { give(w, f.waiting("que_")) })
	handle("POST /permission/{id}/reply", f.permit)
	handle("POST /question/{id}/reply", f.answer)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		f.breach("no such request: %s %s", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	return mux
}

func give(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, name, words string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"name": name, "data": object{"message": words}})
}

// read decodes a body and takes nothing that is not known.
func (f *fake) read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		f.breach("%s: %v", r.URL.Path, err)
		refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return false
	}
	return true
}

func (f *fake) with(h func(w http.ResponseWriter, r *http.Request, s *fakeSession)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		f.mu.Lock()
		s := f.sessions[id]
		f.mu.Unlock()
		switch {
		case !strings.HasPrefix(id, "ses_"):
			refuse(w, http.StatusInternalServerError, "UnknownError", "Unexpected server error. Check server logs for details.")
		case s == nil:
			refuse(w, http.StatusNotFound, "NotFoundError", "Session not found: "+id)
		default:
			h(w, r, s)
		}
	}
}

func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	out := make(chan []byte, 10000)
	out <- []byte(`data: {"id":"evt_0","type":"server.connected","properties":{}}` + "\n\n")
	f.mu.Lock()
	f.streams[out] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.streams, out)
		f.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case b := <-out:
			if b == nil { // told to break off
				panic(http.ErrAbortHandler)
			}
			if _, err := w.Write(b); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// agents are those of the agent with what it was told in its environment, and
// those of a careless repository.
func (f *fake) agents() []agentInfo {
	own := []rule{{"*", "*", "allow"}, {"doom_loop", "*", "ask"}, {"external_directory", "*", "ask"}, {"external_directory", "/tmp/opencode/*", "allow"}, {"read", "*", "allow"}, {"read", "*.env", "ask"}}
	var all []agentInfo
	for _, a := range []agentInfo{{Name: "build", Mode: "primary"}, {Name: "plan", Mode: "primary"}, {Name: "general", Mode: "subagent"}, {Name: "title", Mode: "primary", Hidden: true}} {
		a.Permission = slices.Clone(own)
		told := f.config.Agent[a.Name].Permission
		for _, k := range sortedKeys(told) {
			if one, ok := told[k].(string); ok {
				a.Permission = append(a.Permission, rule{k, "*", one})
				continue
			}
			patterns, _ := told[k].(map[string]any)
			for _, p := range sortedKeys(patterns) {
				a.Permission = append(a.Permission, rule{k, p, patterns[p].(string)})
			}
		}
		all = append(all, a)
	}
	if os.Getenv(fakeLoose) != "" {
		all = append(all, agentInfo{Name: "wild", Mode: "all", Permission: append(slices.Clone(own), rule{"bash", "rm *", "deny"})})
	}
	return all
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *fakeSession) shown() object {
	all := object{"permission": s.Rules}
	for k, v := range s.Info {
		all[k] = v
	}
	return all
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []object{}
	for _, s := range f.sessions {
		if r.URL.Query().Get("roots") == "" || s.Info["parentID"] == nil {
			all = append(all, s.shown())
		}
	}
	give(w, all)
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	var in struct{}
	if f.read(w, r, &in) {
		s := f.newSession("")
		give(w, s.shown())
	}
}

func (f *fake) newSession(parent string) *fakeSession {
	f.mu.Lock()
	id := f.id("ses")
	id = "ses_" + fmt.Sprintf("%d", os.Getpid()) + "x" + strings.TrimPrefix(id, "ses_")
	now := time.Now().UnixMilli()
	s := &fakeSession{Info: object{
		"id": id, "directory": f.here, "title": "New session", "version": "1.18.33", "slug": "happy-engine",
		"time": object{"created": now, "updated": now},
	}}
	if parent != "" {
		s.Info["parentID"] = parent
	}
	f.sessions[id] = s
	f.save(s)
	f.mu.Unlock()
	f.publish("session.created", object{"sessionID": id, "info": s.Info})
	return s
}

func (f *fake) statuses(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := object{}
	for id, s := range f.sessions {
		if s.status != nil {
			all[id] = s.status
		}
	}
	give(w, all)
}

func (f *fake) patch(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	var in struct {
		Permission []rule `json:"permission"`
	}
	if !f.read(w, r, &in) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Rules = append(s.Rules, in.Permission...) // as the real one does
	f.save(s)
	give(w, s.shown())
}

func (f *fake) messages(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	n := 0
	if _, err := fmt.Sscan(r.URL.Query().Get("limit"), &n); err != nil {
		f.breach("messages without a limit")
	}
	f.mu.Lock()
	var b bytes.Buffer
	ms := s.Messages[max(0, len(s.Messages)-n):]
	if len(ms) == 0 {
		ms = []fakeMessage{}
	}
	_ = json.NewEncoder(&b).Encode(ms)
	f.mu.Unlock()
	_, _ = w.Write(b.Bytes())
}

func (f *fake) waiting(kind string) []object {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []object{}
	for id, q := range f.requests {
		if strings.HasPrefix(id, kind) {
			all = append(all, q)
		}
	}
	return all
}

func (f *fake) permit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reply   string `json:"reply"`
		Message string `json:"message"`
	}
	if !f.read(w, r, &in) {
		return
	}
	if in.Reply != "once" && in.Reply != "reject" {
		f.breach("a permission was answered with %q", in.Reply)
	}
	f.replied(w, r, "permission.replied", object{"reply": in.Reply}, fakeReply{reply: in.Reply, message: in.Message})
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Answers [][]string `json:"answers"`
	}
	if f.read(w, r, &in) {
		f.replied(w, r, "question.replied", object{"answers": in.Answers}, fakeReply{answers: in.Answers})
	}
}

func (f *fake) replied(w http.ResponseWriter, r *http.Request, kind string, p object, reply fakeReply) {
	id := r.PathValue("id")
	f.mu.Lock()
	ch, q := f.pending[id], f.requests[id]
	delete(f.pending, id)
	delete(f.requests, id)
	f.mu.Unlock()
	if ch == nil {
		refuse(w, http.StatusNotFound, "NotFoundError", "no such request")
		return
	}
	p["sessionID"], p["requestID"] = q["sessionID"], id
	f.publish(kind, p)
	ch <- reply
	give(w, true)
}
