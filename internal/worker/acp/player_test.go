package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// profile is one real agent as the player plays it: strict where that one is,
// and with its bad habits.
type profile struct {
	caps   string // agentCapabilities
	start  string // the mode that it begins in
	modes  []string
	models []string
	option string // of configOptions, beside modes and models
	unasks string // the mode in which it asks nobody

	late     bool // replays after the answer to a load
	breaks   bool // what is cancelled in a tool makes its model refuse the rest, until a load
	quiet    bool // tells of a tool that it asked about only when it has ended
	textual  bool // tells failures as texts
	details  bool // puts them into data.details
	sums     bool // sums its usage up
	quota    bool // tells it in _meta.quota
	perCall  bool // tells it with each call of the model
	window   bool // tells the window
	denyEnds bool // a denial ends the turn
	lost     string
	files    func(dir, id string, at time.Time) string
}

var profiles = map[string]profile{
	"gemini": {
		caps:  `{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true}}`,
		start: "default", modes: []string{"default", "autoEdit", "yolo", "plan"}, unasks: "yolo", models: []string{"large", "small"},
		late: true, breaks: true, quiet: true, quota: true,
		lost: `{"code":-32603,"message":"Internal error","data":{"details":"Invalid session identifier \"$ID\".\n  Searched for sessions."}}`,
		files: func(dir, id string, at time.Time) string {
			stamp := "*"
			if !at.IsZero() {
				stamp = at.UTC().Format("2006-01-02T15-04")
			}
			return filepath.Join(dir, ".gemini/tmp/work/chats/session-"+stamp+"-"+id[:8]+".jsonl")
		},
	},
	"qwen": {
		caps:  `{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{},"resume":{}}}`,
		start: "auto", modes: []string{"plan", "default", "auto-edit", "auto", "yolo"}, unasks: "auto",
		models:  []string{"$runtime|openai|large(openai)", "$runtime|openai|small(openai)"},
		details: true, perCall: true, denyEnds: true,
		lost: `{"code":-32002,"message":"Resource not found","data":{"sessionId":"$ID"}}`,
	},
	"copilot": {
		caps:  `{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"close":{},"list":{}}}`,
		start: "https://agentclientprotocol.com/modes#agent", unasks: "https://agentclientprotocol.com/modes#autopilot",
		modes: []string{
			"https://agentclientprotocol.com/modes#agent", "https://agentclientprotocol.com/modes#plan",
			"https://agentclientprotocol.com/modes#autopilot",
		},
		option:  `{"id":"allow_all","category":"permissions","currentValue":"on","options":[{"value":"on"},{"value":"off"}]}`,
		textual: true, sums: true, window: true, denyEnds: true,
		lost: `{"code":-32002,"message":"Resource not found: Session $ID not found"}`,
	},
}

// player plays an agent of a profile.
type player struct {
	rough
	profile

	lock     sync.Mutex
	id, cwd  string
	mode     string
	model    string
	allowAll bool
	busy     bool
	broken   bool
	total    int
	stop     context.CancelFunc
}

func playAgent(dir, name string) {
	p := &player{rough: rough{dir: dir, out: os.Stdout, pending: map[string]chan json.RawMessage{}}, profile: profiles[name]}
	if p.files == nil {
		p.files = func(dir, id string, _ time.Time) string { return filepath.Join(dir, "session-"+id+".jsonl") }
	}
	p.tidy()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		p.take(m)
	}
}

// tidy throws away, at the start, every file of a session of which one is
// empty.
func (p *player) tidy() {
	kept, _ := os.ReadFile(os.Getenv("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"))
	if !p.breaks || bytes.Contains(kept, []byte(`"enabled":false`)) {
		return
	}
	all, _ := filepath.Glob(p.files(p.dir, "????????", time.Time{}))
	for _, f := range all {
		if b, err := os.ReadFile(f); err == nil && !bytes.Contains(b, []byte(`"gemini"`)) {
			same, _ := filepath.Glob(p.files(p.dir, strings.TrimSuffix(f, ".jsonl")[len(f)-14:], time.Time{}))
			for _, s := range same {
				_ = os.Remove(s)
			}
		}
	}
}

func (p *player) take(m incoming) {
	var a struct {
		SessionID, Cwd, ModeID, ModelID, ConfigID, Value, Cursor string
		Prompt                                                   []content
	}
	_ = json.Unmarshal(m.Params, &a)
	switch m.Method {
	case "":
		p.mu.Lock()
		ch := p.pending[string(m.ID)]
		p.mu.Unlock()
		if ch != nil {
			ch <- m.Result
		}
	case "initialize":
		p.answer(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"x","version":"99.0"},"agentCapabilities":`+p.caps+`}`)
	case "session/new":
		p.id, p.cwd = fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint32()), a.Cwd
		p.note(p.files(p.dir, p.id, time.Now()), map[string]any{"sessionId": p.id, "startTime": "now", "cwd": a.Cwd})
		p.answer(m.ID, p.opened(`"sessionId":"`+p.id+`",`))
	case "session/load":
		p.load(m.ID, a.SessionID, a.Cwd)
	case "session/list":
		p.list(m.ID, a.Cursor)
	case "session/set_mode":
		p.change(m.ID, &p.mode, a.ModeID, p.modes)
	case "session/set_model":
		p.change(m.ID, &p.model, a.ModelID, p.models)
	case "session/set_config_option":
		p.allowAll = a.ConfigID == "allow_all" && a.Value == "on"
		p.answer(m.ID, `{}`)
	case "session/prompt":
		p.lock.Lock()
		defer p.lock.Unlock()
		if p.busy {
			p.fail(m.ID, -32603, "a prompt is running already")
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		p.busy, p.stop = true, cancel
		go p.turn(ctx, m.ID, a.Prompt)
	case "session/cancel":
		p.lock.Lock()
		defer p.lock.Unlock()
		if p.stop != nil {
			p.stop()
		}
	default:
		p.fail(m.ID, codeNoMethod, "method not found")
	}
}

func (p *player) answer(id json.RawMessage, result string) {
	p.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + "}\n")
}

func (p *player) fail(id json.RawMessage, code int, text string) {
	b, _ := json.Marshal(text)
	body := fmt.Sprintf(`{"code":%d,"message":%s}`, code, b)
	if p.details {
		body = `{"code":-32603,"message":"Internal error","data":{"details":` + string(b) + `}}`
	}
	p.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + body + "}\n")
}

// note adds a record to a session's file.
func (*player) note(file string, record any) {
	_ = os.MkdirAll(filepath.Dir(file), 0o700)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(record)
}

// opened is what the answers to session/new and session/load tell; each begins
// in the mode that the agent likes.
func (p *player) opened(more string) string {
	p.mode, p.allowAll, p.broken = p.start, p.option != "", false
	var modes, models []string
	for _, m := range p.modes {
		modes = append(modes, fmt.Sprintf(`{"id":%q,"name":%q}`, m, m))
	}
	for _, m := range p.models {
		models = append(models, fmt.Sprintf(`{"modelId":%q,"name":%q,"_meta":{"contextLimit":200000}}`, m, modelName(m)))
	}
	body := more + `"modes":{"currentModeId":"` + p.mode + `","availableModes":[` + strings.Join(modes, ",") + `]}`
	if len(models) > 0 {
		p.model = p.models[0]
		body += `,"models":{"currentModelId":"` + p.model + `","availableModels":[` + strings.Join(models, ",") + `]}`
	}
	if p.option != "" {
		body += `,"configOptions":[` + p.option + `]`
	}
	return "{" + body + "}"
}

func modelName(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(id, "$runtime|openai|"), "(openai)")
}

func (p *player) change(id json.RawMessage, v *string, to string, all []string) {
	if len(all) == 0 {
		p.fail(id, codeNoMethod, "method not found")
		return
	}
	if !slices.Contains(all, to) {
		p.fail(id, -32602, "invalid value "+to)
		return
	}
	*v = to
	if p.quiet && v == &p.mode {
		p.update(p.id, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"[MODE_UPDATE] `+to+`"}`)
	}
	p.answer(id, `{}`)
}

// said is what was said in a session, and where its file lies.
func (p *player) history(id string) (said []string, file string) {
	if len(id) < 8 {
		return nil, ""
	}
	found, _ := filepath.Glob(p.files(p.dir, id, time.Time{}))
	for _, f := range found {
		b, _ := os.ReadFile(f)
		var lines []string
		for l := range bytes.Lines(b) {
			var r struct {
				Type, Content string
				SessionID     string
			}
			_ = json.Unmarshal(l, &r)
			switch {
			case r.SessionID != "": // the beginning of a file makes an empty session
				lines = nil
			case r.Type != "":
				lines = append(lines, r.Content)
			}
		}
		if len(lines) > 0 {
			return lines, f
		}
	}
	return nil, ""
}

func (p *player) load(id json.RawMessage, session, cwd string) {
	if p.breaks && len(session) >= 8 {
		p.note(p.files(p.dir, session, time.Now()), map[string]any{"sessionId": session, "startTime": "now"})
	}
	said, file := p.history(session)
	if file == "" {
		text := strings.ReplaceAll(p.lost, "$ID", session)
		p.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + text + "}\n")
		return
	}
	p.id, p.cwd = session, cwd
	replay := func() {
		for _, s := range said {
			p.update(session, `"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}`)
			p.say(session, "OLD "+s)
		}
	}
	if !p.late {
		replay()
	}
	p.answer(id, p.opened(""))
	if p.late {
		go func() { // ends by itself
			for range 50 {
				replay()
			}
		}()
	}
}

func (p *player) list(id json.RawMessage, cursor string) {
	if !strings.Contains(p.caps, `"list"`) {
		p.fail(id, codeNoMethod, "method not found")
		return
	}
	if cursor == "" { // of another folder, on a page of its own
		p.answer(id, `{"sessions":[{"sessionId":"zz","cwd":"/elsewhere","title":"x","updatedAt":"2026-01-01T00:00:00Z"}],"nextCursor":"2"}`)
		return
	}
	var rows []string
	found, _ := filepath.Glob(filepath.Join(p.dir, "session-*.jsonl"))
	for _, f := range found {
		b, _ := os.ReadFile(f)
		var head struct{ SessionID, Cwd string }
		_ = json.NewDecoder(bytes.NewReader(b)).Decode(&head)
		rows = append(rows, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"title":"a talk","updatedAt":"2026-02-01T10:00:00.5Z"}`, head.SessionID, head.Cwd))
	}
	p.answer(id, `{"sessions":[`+strings.Join(rows, ",")+`]}`)
}

// child is a process in a session of its own.
func child(seconds string) *exec.Cmd {
	c := exec.Command("/bin/sleep", seconds)
	c.SysProcAttr = detached
	_ = c.Start()
	return c
}
