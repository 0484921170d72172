package cleanup

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// habit is what an agent does with its tool and with itself when something
// wants to end it.
type habit string

const (
	clean  habit = "clean"  // it ends, and its tool with it
	leaves habit = "leaves" // it ends, its tool does not
	deaf   habit = "deaf"   // it goes on
)

// manners are how an agent behaves in the middle of a tool. Every tool runs in
// a session of its own: killing the agent's group never reaches it.
type manners struct {
	Term   habit // SIGTERM
	EOF    habit // its input ends
	Cancel habit // the turn is cancelled; deaf = it does not obey
	Shim   bool  // it is started by a program that dies alone of SIGTERM
}

// rows are the manners of the agents as they were measured, and worse.
var rows = map[string]manners{
	"claude":     {Term: clean, EOF: deaf, Cancel: clean},
	"codex":      {Term: clean, EOF: clean, Cancel: leaves},
	"gemini":     {Term: clean, EOF: deaf, Cancel: clean},
	"pi":         {Term: clean, EOF: leaves, Cancel: clean},
	"copilot":    {Term: deaf, EOF: clean, Cancel: clean, Shim: true},
	"opencode":   {Term: leaves, EOF: clean, Cancel: clean},
	"claude-acp": {Term: leaves, EOF: clean, Cancel: clean, Shim: true},
	"qwen":       {Term: deaf, EOF: clean, Cancel: clean, Shim: true},
	"codex-acp":  {Term: clean, EOF: clean, Cancel: leaves, Shim: true},
	"the worst":  {Term: deaf, EOF: deaf, Cancel: deaf, Shim: true},
}

const (
	asRogue = "PLAY_ROGUE" // the manners of the agent to be played, as JSON
	asShim  = "PLAY_SHIM"  // play the program that starts it
)

// playShim starts the agent with its own input and output and waits.
func playShim() {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), asShim+"=")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = c.Run()
}

// rogue is an ACP agent that does one thing: "tool" runs a tool for a minute.
type rogue struct {
	manners manners
	mu      sync.Mutex
	tool    *exec.Cmd
	prompt  json.RawMessage // the request that runs
}

func playRogue(how string) {
	var r rogue
	if err := json.Unmarshal([]byte(how), &r.manners); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	go func() { // ends with the process
		for range terms {
			r.end(r.manners.Term)
		}
	}()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		r.take(line)
	}
	r.end(r.manners.EOF)
	<-time.After(time.Minute)
}

// end ends the process, if that is how it is.
func (r *rogue) end(how habit) {
	switch how {
	case clean:
		r.endTool()
		os.Exit(0)
	case leaves:
		os.Exit(0)
	case deaf:
	}
}

func (r *rogue) endTool() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tool != nil {
		_ = r.tool.Process.Kill()
	}
}

func (r *rogue) take(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Method {
	case "initialize":
		r.answer(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"rogue","version":"1"},"agentCapabilities":{"loadSession":true}}`)
	case "session/new":
		r.answer(m.ID, `{"sessionId":"s1"}`)
	case "session/prompt":
		if !strings.Contains(string(line), "tool") {
			r.update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"alive"}`)
			r.answer(m.ID, `{"stopReason":"end_turn"}`)
			return
		}
		c := exec.Command("/bin/sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			r.answer(m.ID, `{"stopReason":"refusal"}`)
			return
		}
		r.mu.Lock()
		r.tool, r.prompt = c, m.ID
		r.mu.Unlock()
		go func() { _ = c.Wait() }() // ends with the tool
		r.update(`"sessionUpdate":"tool_call","toolCallId":"1","kind":"execute","title":"sleep 60","status":"in_progress"`)
	case "session/cancel":
		if r.manners.Cancel == deaf {
			return
		}
		if r.manners.Cancel == clean {
			r.endTool()
		}
		r.answer(r.prompt, `{"stopReason":"cancelled"}`)
	default:
		if len(m.ID) > 0 && m.Method != "" {
			r.answer(m.ID, `{}`)
		}
	}
}

func (r *rogue) answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func (r *rogue) update(body string) {
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{%s}}}`+"\n", body)
}
