package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the agent.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "demo-agent" {
		if err := Main(context.Background(), os.Stdin, os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// client drives the demo agent over pipes.
type client struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	last int
	seen []string // updates, as "kind text"
	// ask answers the agent's requests; nil = no answer.
	ask func(method, params string) string
}

func connect(t *testing.T, dir string) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Main(t.Context(), inR, outW, dir); err != nil {
			t.Error(err)
		}
		_ = outW.Close()
	})
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
		wg.Wait()
		_ = inR.Close()
	})
	return &client{t: t, in: inW, out: bufio.NewReader(outR)}
}

func (c *client) raw(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// post sends a request and returns its id.
func (c *client) post(method, params string) int {
	c.t.Helper()
	c.last++
	c.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.last, method, params))
	return c.last
}

// until reads until the answer to a request has come.
func (c *client) until(id int) (result string, fault *failure) {
	c.t.Helper()
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var m struct {
			arrived
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Method == "session/update":
			var p struct {
				Update struct {
					Kind    string          `json:"sessionUpdate"`
					Status  string          `json:"status"`
					Content json.RawMessage `json:"content"`
				} `json:"update"`
			}
			_ = json.Unmarshal(m.Params, &p)
			var block struct {
				Text string `json:"text"`
			}
			_ = json.Unmarshal(p.Update.Content, &block)
			c.seen = append(c.seen, strings.TrimSpace(p.Update.Kind+" "+p.Update.Status+block.Text))
		case m.Method != "" && len(m.ID) == 0:
			c.seen = append(c.seen, m.Method+" "+string(m.Params))
		case m.Method != "":
			if c.ask != nil {
				c.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, c.ask(m.Method, string(m.Params))))
			}
		case string(m.ID) == fmt.Sprint(id):
			return string(m.Result), m.Error
		}
	}
}

func (c *client) call(method, params string) (string, *failure) {
	c.t.Helper()
	return c.until(c.post(method, params))
}

// open makes a session.
func (c *client) open(forms bool) string {
	c.t.Helper()
	capabilities := `{}`
	if forms {
		capabilities = `{"elicitation":{"form":{}}}`
	}
	c.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
	dir := c.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plum.txt"), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	result, fault := c.call("session/new", `{"mcpServers":[],"cwd":"`+dir+`"}`)
	if fault != nil {
		c.t.Fatal(fault)
	}
	var r struct {
		ID string `json:"sessionId"`
	}
	_ = json.Unmarshal([]byte(result), &r)
	return r.ID
}

// say prompts and returns the answer.
func (c *client) say(id, text string) (answer string, fault *failure) {
	c.t.Helper()
	c.seen = nil
	b, _ := json.Marshal(text)
	_, fault = c.call("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":`+string(b)+`}]}`)
	return c.text("agent_message_chunk"), fault
}

func (c *client) text(kind string) string {
	var parts []string
	for _, s := range c.seen {
		if text, ok := strings.CutPrefix(s, kind+" "); ok {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func TestSetPhrasesGiveSetAnswers(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(true)
	for _, p := range []struct{ say, want string }{
		{"what was the word?", "have not told me"},
		{"remember the word plum", "remember the word **plum**"},
		{"What was the word?", "**plum**"},
		{"/demo what was the word", "**plum**"},
		{"Ann: what was the word?", "**plum**"},
		{"[recap] User: remember the word fig\n\nwhat was the word?", "**fig**"},
		{"记住这个词 李子", "**李子**"},
		{"那个词是什么？", "**李子**"},
		{"echo  a b\n c", "a b\n c"},
		{"stream 3", "piece 3"},
		{"long 3", "**3**"},
		{"markdown", "```go"},
		{"tool", "plum.txt"},
		{"slow 0", "0 seconds"},
		{"think hm", "thought about it"},
		{"work 0", "0 seconds"},
		{"model", "model: demo-large, mode: default, effort: medium"},
		{"seen", "images 0 documents 0"},
		{"/compact", "compacted"},
		{"hello there", "demo agent"},
		{"-h", "demo agent"},
		{"你好", "演示代理"},
		{"streams of water", "demo agent"},
	} {
		if got, fault := c.say(id, p.say); fault != nil || !strings.Contains(got, p.want) {
			t.Errorf("%q: %q, %v; want %q", p.say, got, fault, p.want)
		}
	}
	if got, _ := c.say(id, "hello"); !strings.Contains(got, "turn 24") || !strings.Contains(got, "李子") || !strings.Contains(got, "npm install") {
		t.Errorf("got %q", got)
	}
}

func TestSessionsSurviveTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := connect(t, dir)
	id := first.open(false)
	first.say(id, "remember the word plum")
	// A kill in the middle of a write leaves half a line.
	f, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"role":"agent","te`)
	_ = f.Close()
	for range 2 {
		second := connect(t, dir)
		second.call("initialize", `{}`)
		if _, fault := second.call("session/load", `{"sessionId":"`+id+`","cwd":"/"}`); fault != nil {
			t.Fatal(fault)
		}
		if got := second.text("user_message_chunk"); !strings.Contains(got, "remember the word plum") {
			t.Errorf("replayed %q", second.seen)
		}
		if got, _ := second.say(id, "what was the word?"); !strings.Contains(got, "plum") {
			t.Errorf("got %q", got)
		}
	}
}

func TestErrorsOfTheProtocol(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(false)
	for _, p := range []struct {
		method, params string
		code           int
	}{
		{"session/load", `{"sessionId":"01a22c9f-0000-7382-8432-d27f47dca111","cwd":"/"}`, codeNotFound},
		{"session/load", `{"sessionId":"../../etc/passwd","cwd":"/"}`, codeNotFound},
		{"session/prompt", `{"sessionId":"nope","prompt":[]}`, codeNotFound},
		{"session/prompt", `7`, codeParams},
		{"session/nope", `{}`, codeNoMethod},
	} {
		if _, fault := c.call(p.method, p.params); fault == nil || fault.Code != p.code {
			t.Errorf("%s %s: %v, want %d", p.method, p.params, fault, p.code)
		}
	}
	if _, fault := c.call("session/set_mode", `{"sessionId":"`+id+`","modeId":"default"}`); fault != nil {
		t.Error(fault)
	}
	if _, fault := c.call("session/set_mode", `{"sessionId":"`+id+`","modeId":"juggle"}`); fault == nil {
		t.Error("a mode that does not exist was taken")
	}
	c.raw("garbage")
	if _, fault := c.say(id, "fail 429"); fault == nil || !strings.Contains(fault.Message, "429") {
		t.Errorf("fail: %v", fault)
	}
	if got, fault := c.say(id, "echo alive"); fault != nil || got != "alive" {
		t.Errorf("%q, %v", got, fault)
	}
}

func TestOnePromptAtATimeAndCancelEndsIt(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(true)
	for _, text := range []string{"stream 10000", "slow 3000", "work 3000", "ask", "question", "questions", "plan"} {
		first := c.post("session/prompt", `{"sessionId":"`+id+`","prompt":[{"text":"`+text+`"}]}`)
		if _, fault := c.say(id, "hello"); fault == nil || fault.Code != codeRequest {
			t.Errorf("second prompt: %v", fault)
		}
		c.raw(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
		if result, fault := c.until(first); fault != nil || !strings.Contains(result, "cancelled") {
			t.Errorf("%s: %s, %v", text, result, fault)
		}
	}
	if got, _ := c.say(id, "echo alive"); got != "alive" {
		t.Errorf("got %q", got)
	}
}

func TestApprovalsAndQuestions(t *testing.T) {
	t.Parallel()
	for _, forms := range []bool{true, false} {
		c := connect(t, t.TempDir())
		id := c.open(forms)
		asked := ""
		reply := ""
		c.ask = func(method, params string) string { asked = method + " " + params; return reply }
		for _, p := range []struct {
			say, reply, asked, want string
			form                    bool
		}{
			{"ask", `{"outcome":{"outcome":"selected","optionId":"allow"}}`, "allow_always", "plum.txt", forms},
			{"ask", `{"outcome":{"outcome":"selected","optionId":"reject"}}`, "reject_once", "did not allow", forms},
			{"ask", `{"outcome":{"outcome":"cancelled"}}`, "ls /", "did not allow", forms},
			{"question", `{"action":"accept","content":{"colour":"blue"}}`, "elicitation/create", "**blue**", true},
			{"question why?", `{"action":"accept","content":{"colour_other":"mauve"}}`, "why?", "**mauve**", true},
			{"question", `{"action":"decline"}`, "oneOf", "no answer", true},
			{"questions", `{"action":"accept","content":{"a_colour":"red","b_colours":["green","blue"],"c_name":"plum"}}`, "anyOf", "**red, plum, green, blue**", true},
			{"questions", `{"action":"cancel"}`, "elicitation/create", "no answer", true},
			{"questions", ``, "", "no forms", false},
			{"plan", `{"outcome":{"outcome":"selected","optionId":"go"}}`, "switch_mode", "as planned", forms},
			{"plan", `{"outcome":{"outcome":"selected","optionId":"stay"}}`, "1. look around", "leave it", forms},
			{"question", `{"outcome":{"outcome":"selected","optionId":"green"}}`, "request_permission", "**green**", false},
		} {
			if p.form != forms {
				continue
			}
			asked, reply = "", p.reply
			got, fault := c.say(id, p.say)
			if fault != nil || !strings.Contains(got, p.want) || !strings.Contains(asked, p.asked) {
				t.Errorf("%s: asked %s; %q, %v", p.say, asked, got, fault)
			}
		}
	}
}

func TestSettingsAreTakenAndTold(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(true)
	for _, p := range []struct{ method, params string }{
		{"session/set_mode", `"modeId":"yolo"`}, {"session/set_model", `"modelId":"demo-small"`},
		{"session/set_config_option", `"configId":"effort","value":"high"`},
	} {
		if _, fault := c.call(p.method, `{"sessionId":"`+id+`",`+p.params+`}`); fault != nil {
			t.Errorf("%s: %v", p.method, fault)
		}
	}
	if got, _ := c.say(id, "model"); got != "model: demo-small, mode: yolo, effort: high" {
		t.Errorf("got %q", got)
	}
	if got, _ := c.say(id, "ask"); !strings.Contains(got, "plum.txt") {
		t.Errorf("a mode that asks nobody waits: %q", got)
	}
	c.call("session/set_mode", `{"sessionId":"`+id+`","modeId":"plan"}`)
	if got, _ := c.say(id, "tool"); strings.Contains(got, "plum.txt") {
		t.Errorf("a tool ran in plan mode: %q", got)
	}
	for _, bad := range []string{`"modelId":"x"`, `"configId":"effort","value":"x"`, `"configId":"x","value":"high"`} {
		if _, fault := c.call("session/set_config_option", `{"sessionId":"`+id+`",`+bad+`}`); fault == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestFilesOfAPromptAreCountedAndFiguresAreOfTheTurn(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(true)
	var before string
	for range 3 {
		result, fault := c.call("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"seen"},`+
			`{"type":"image","mimeType":"image/png","data":"x"},{"type":"resource","resource":{"uri":"file:///a.pdf","blob":"x"}}]}`)
		if fault != nil || !strings.Contains(result, `"inputTokens":1004`) || before != "" && result != before {
			t.Errorf("%s after %s, %v", result, before, fault)
		}
		before = result
	}
	if got := c.text("agent_message_chunk"); !strings.Contains(got, "images 1 documents 1") {
		t.Errorf("got %q", got)
	}
}

func TestATurnOfItsOwnIsAskedForAndEnds(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	id := c.open(true)
	c.ask = func(method, params string) string {
		if method != "_qwencode/start_turn" || !strings.Contains(params, `"turnId"`) {
			t.Errorf("asked %s %s", method, params)
		}
		return `{}`
	}
	c.say(id, "later 0")
	for c.text("_qwencode/end_turn") == "" { // prompts in between cost it nothing
		if got, fault := c.say(id, "echo still here"); fault != nil && fault.Code != codeRequest || fault == nil && !strings.Contains(got, "still here") {
			t.Fatalf("%q, %v", got, fault)
		}
	}
	if got := c.text("_qwencode/end_turn"); !strings.Contains(got, `"reason":"end_turn"`) {
		t.Errorf("ended with %s", got)
	}
}

func TestCommandsAreAnnounced(t *testing.T) {
	t.Parallel()
	c := connect(t, t.TempDir())
	c.open(false)
	if !strings.Contains(strings.Join(c.seen, " "), "available_commands_update") {
		t.Errorf("got %q", c.seen)
	}
}

func TestCrashIsACrash(t *testing.T) {
	t.Parallel()
	crashed := make(chan struct{})
	inR, inW := io.Pipe()
	a := &agent{
		out: io.Discard, dir: t.TempDir(), ctx: t.Context(), crash: func() { close(crashed) },
		sessions: map[string]*session{}, waiting: map[string]chan reply{},
	}
	b, err := openBook(a.dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	a.sessions[b.id] = &session{agent: a, book: b}
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.read(bufio.NewReader(inR)) })
	fmt.Fprintf(inW, `{"id":1,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"text":"crash"}]}}`+"\n", b.id)
	select {
	case <-crashed:
	case <-time.After(10 * time.Second):
		t.Error("no crash")
	}
	_ = inW.Close()
	wg.Wait()
	a.work.Wait()
	if raw, _ := os.ReadFile(b.path); !strings.Contains(string(raw), `"text":"crash"`) {
		t.Errorf("the prompt was not on the disk: %s", raw)
	}
}

func TestBookRefusesIDsThatAreNoIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", ".", "..", "a/b", "x\x00y", strings.Repeat("a", 300)} {
		if _, err := openBook(t.TempDir(), id, true); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
