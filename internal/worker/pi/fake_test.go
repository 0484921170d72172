package pi

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fake is a stand-in for "pi --mode rpc": the same commands, the same messages
// in the same order, and the same refusals. What the driver must never do it
// writes down as a breach.
type fake struct {
	out  *bufio.Writer
	file string

	mu       sync.Mutex
	entries  []object // of the session's file
	model    string
	level    string
	running  bool
	compacts bool
	stopped  chan struct{}
	queue    []string
	dialogs  map[string]chan map[string]any
	serial   int
}

// Variables that the stand-in reads.
const (
	fakeOn     = "FAKE_PI" // the folder for breaches
	fakeKeyed  = "FAKE_PI_NO_KEY"
	fakeLeaves = "FAKE_PI_LEAVES"
)

func fakeMain(args []string) {
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println(cmp.Or(os.Getenv("FAKE_PI_VERSION"), "0.73.1"))
		return
	}
	if len(args) < 4 || args[0] != "--mode" || args[1] != "rpc" || args[2] != "--session" || !filepath.IsAbs(args[3]) {
		fmt.Fprintln(os.Stderr, "Unknown option:", args)
		os.Exit(1)
	}
	if os.Getenv(fakeLeaves) != "" {
		fmt.Fprintln(os.Stderr, "Error: No API key found for anthropic.")
		os.Exit(1)
	}
	f := &fake{out: bufio.NewWriter(os.Stdout), file: args[3], model: "large", level: "medium", dialogs: map[string]chan map[string]any{}}
	f.load()
	for i := 4; i+1 < len(args); i += 2 {
		switch value := strings.TrimPrefix(args[i+1], "mock/"); args[i] {
		case "--model":
			if value == "large" || value == "small" { // any other is taken for the one that it has
				f.model = value
				f.entries = append(f.entries, object{"type": "model_change", "provider": "mock", "modelId": value})
			}
		case "--thinking":
			f.level = value
		default:
			f.breach("an unknown option %s", args[i])
		}
	}
	if f.model == "small" {
		f.level = "off"
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c map[string]any
		if err := json.Unmarshal(line, &c); err != nil {
			f.breach("no JSON: %s", line)
			f.say(object{"type": "response", "command": "parse", "success": false, "error": err.Error()})
			continue
		}
		f.command(c)
	}
}

func (f *fake) breach(format string, args ...any) {
	file, err := os.OpenFile(filepath.Join(os.Getenv(fakeOn), "breaches"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

func (f *fake) load() {
	raw, err := os.ReadFile(f.file)
	if err != nil {
		dir, _ := os.Getwd()
		f.entries = []object{{"type": "session", "version": 3, "id": "01a2", "cwd": dir}}
		return
	}
	for line := range strings.Lines(string(raw)) {
		var e object
		if json.Unmarshal([]byte(line), &e) == nil {
			f.entries = append(f.entries, e)
		}
		if e["type"] == "model_change" {
			f.model = fmt.Sprint(e["modelId"])
		}
	}
}

// keep writes the session down: not before the model has said something, as
// the real one does it. f.mu is held.
func (f *fake) keep() {
	var b strings.Builder
	answered := false
	for _, e := range f.entries {
		raw, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
		m, _ := e["message"].(object)
		answered = answered || m["role"] == "assistant"
	}
	if _, err := os.Stat(f.file); err != nil && !answered {
		return
	}
	if err := os.WriteFile(f.file, []byte(b.String()), 0o600); err != nil {
		panic(err)
	}
}

func (f *fake) say(m any) {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	f.line(string(raw))
}

func (f *fake) line(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.WriteString(text + "\n")
	_ = f.out.Flush()
}

// typed writes a message whose type comes first, as the real one's do.
func (f *fake) typed(kind string, rest object) {
	raw, err := json.Marshal(rest)
	if err != nil {
		panic(err)
	}
	body := strings.TrimPrefix(string(raw), "{")
	if body != "}" {
		body = "," + body
	}
	f.line(`{"type":"` + kind + `"` + body)
}

func modelOf(id string) object {
	return object{"id": id, "provider": "mock", "reasoning": id != "small", "input": []string{"text", "image"}, "contextWindow": 200000}
}

func (f *fake) command(c map[string]any) {
	kind, id := fmt.Sprint(c["type"]), c["id"]
	yes := func(data any) {
		f.say(object{"id": id, "type": "response", "command": kind, "success": true, "data": data})
	}
	no := func(words string) {
		f.say(object{"id": id, "type": "response", "command": kind, "success": false, "error": words})
	}
	f.mu.Lock()
	running, compacts := f.running, f.compacts
	f.mu.Unlock()
	switch kind {
	case "get_state":
		f.mu.Lock()
		s := object{"model": modelOf(f.model), "thinkingLevel": f.level, "isStreaming": running, "isCompacting": compacts, "sessionFile": f.file, "pendingMessageCount": len(f.queue)}
		f.mu.Unlock()
		yes(s)
	case "get_available_models":
		yes(object{"models": []object{modelOf("large"), modelOf("small"), {"id": "small", "provider": "other"}}})
	case "get_commands":
		yes(object{"commands": []object{{"name": "hello", "description": "an extension's", "source": "extension"}}})
	case "set_model", "set_thinking_level":
		f.breach("%s changes the user's own defaults", kind)
		yes(nil)
	case "prompt":
		f.prompt(c, yes, no)
	case "steer":
		if !running {
			f.breach("words are steered into nothing") // they would reach the next turn
		}
		f.mu.Lock()
		f.queue = append(f.queue, fmt.Sprint(c["message"]))
		f.mu.Unlock()
		f.queued()
		yes(nil)
	case "abort":
		f.mu.Lock()
		if f.stopped != nil {
			close(f.stopped)
			f.stopped = nil
		}
		f.mu.Unlock()
		go func() { // the answer comes when the turn has ended
			for {
				f.mu.Lock()
				rests := !f.running
				f.mu.Unlock()
				if rests {
					yes(nil)
					return
				}
				<-time.After(5 * time.Millisecond)
			}
		}()
	case "abort_retry":
		yes(nil)
	case "compact":
		f.mu.Lock()
		f.compacts = true
		f.mu.Unlock()
		f.say(object{"type": "compaction_start", "reason": "manual"})
		f.mu.Lock()
		f.compacts = false
		f.mu.Unlock()
		f.say(object{"type": "compaction_end", "reason": "manual", "result": object{"summary": "s"}, "aborted": false, "willRetry": false})
		yes(object{"summary": "s"})
	case "extension_ui_response":
		f.mu.Lock()
		ch := f.dialogs[fmt.Sprint(id)]
		f.mu.Unlock()
		if ch == nil {
			f.breach("an answer to no question")
			return
		}
		ch <- c
	default:
		f.breach("no command %q", kind)
		f.say(object{"type": "response", "command": kind, "success": false, "error": "Unknown command: " + kind})
	}
}

func (f *fake) queued() {
	f.mu.Lock()
	q := append([]string{}, f.queue...)
	f.mu.Unlock()
	f.say(object{"type": "queue_update", "steering": q, "followUp": []string{}})
}

func (f *fake) prompt(c map[string]any, yes func(any), no func(string)) {
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	switch {
	case running:
		f.breach("a prompt for a session that is busy")
		no("Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.")
		return
	case os.Getenv(fakeKeyed) != "":
		no("No API key found for mock.")
		return
	case strings.HasPrefix(fmt.Sprint(c["message"]), "/hello"): // an extension's: nothing more comes
		yes(nil)
		return
	}
	f.mu.Lock()
	f.running, f.stopped = true, make(chan struct{})
	g := &going{fake: f, stopped: f.stopped}
	f.mu.Unlock()
	if images, ok := c["images"].([]any); ok {
		g.images = len(images)
	}
	yes(nil)
	go g.turn(fmt.Sprint(c["message"]))
}

// going is a turn of the stand-in.
type going struct {
	*fake
	stopped chan struct{}
	images  int
	deaf    bool
	text    string // of the answer so far
	index   int
	blocks  []object
}

var (
	errFakeStop = errors.New("aborted")
	errFake     = errors.New("failed")
)

func (g *going) user(text string) {
	m := object{"role": "user", "content": []object{{"type": "text", "text": text}}}
	g.typed("message_start", object{"message": m})
	g.typed("message_end", object{"message": m})
	g.mu.Lock()
	g.entries = append(g.entries, object{"type": "message", "message": m})
	g.keep()
	g.mu.Unlock()
}

// turn runs a prompt, and the words that are steered in meanwhile.
func (g *going) turn(text string) {
	g.say(object{"type": "agent_start"})
	for {
		g.say(object{"type": "turn_start"})
		g.user(text)
		err := g.steps(text)
		g.mu.Lock()
		next := ""
		if err == nil && len(g.queue) > 0 {
			next, g.queue = g.queue[0], g.queue[1:]
		}
		g.mu.Unlock()
		if next == "" {
			break
		}
		g.queued()
		text = next
	}
	g.mu.Lock()
	g.running, g.fake.stopped = false, nil
	g.mu.Unlock()
	g.say(object{"type": "agent_end", "messages": []object{}})
}

// begin starts an answer.
func (g *going) begin() {
	g.blocks, g.text, g.index = nil, "", -1
	g.typed("message_start", object{"message": object{"role": "assistant", "content": []object{}}})
}

// finish ends an answer.
func (g *going) finish(stop, trouble string) {
	g.mu.Lock()
	m := object{
		"role": "assistant", "content": g.blocks, "provider": "mock", "model": g.model, "stopReason": stop,
		"usage": object{"input": 100, "output": 5, "cacheRead": 10, "cacheWrite": 0, "cost": object{"total": 0.002}},
	}
	if trouble != "" {
		m["errorMessage"] = trouble
	}
	g.entries = append(g.entries, object{"type": "message", "message": m})
	g.keep()
	g.mu.Unlock()
	g.typed("message_end", object{"message": m})
	g.typed("turn_end", object{"message": m})
}

// stream writes a block, and with each piece all that was written before.
func (g *going) stream(kind string, pieces []string, wait time.Duration) error {
	g.index++
	all, field := "", "text"
	if kind == kindThink {
		field = "thinking"
	}
	block := object{"type": kind, field: ""}
	g.blocks = append(g.blocks, block)
	event := func(what, delta string) {
		partial, _ := json.Marshal(object{"role": "assistant", "content": g.blocks})
		d, _ := json.Marshal(delta)
		if what == "delta" {
			what += `","contentIndex":` + strconv.Itoa(g.index) + `,"delta":` + string(d)
		} else {
			what += `","contentIndex":` + strconv.Itoa(g.index)
		}
		g.line(`{"type":"message_update","assistantMessageEvent":{"type":"` + kind + `_` + what + `,"partial":` + string(partial) + `},"message":` + string(partial) + `}`)
	}
	event("start", "")
	var err error
	for _, p := range pieces {
		all += p
		block[field] = all
		event("delta", p)
		if err = g.pause(wait); err != nil {
			break
		}
	}
	event("end", "")
	return err
}

func (g *going) pause(d time.Duration) error {
	if g.deaf {
		select {}
	}
	select {
	case <-g.stopped:
		return errFakeStop
	case <-time.After(d):
		return nil
	}
}

var plum = regexp.MustCompile(`remember the word (\w+)`)

func (g *going) recall() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	word := "none"
	for _, e := range g.entries {
		raw, _ := json.Marshal(e)
		if found := plum.FindSubmatch(raw); found != nil && strings.Contains(string(raw), `"role":"user"`) {
			word = string(found[1])
		}
	}
	return "the word was " + word
}

// child leaves a process behind that has left the agent's session.
func child() error {
	c := exec.Command("sleep", "300")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.Start()
}
