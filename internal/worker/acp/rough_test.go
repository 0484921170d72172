package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"cligate/internal/worker/workertest"
)

// rough is an agent with every bad habit that was seen in real ones: it
// replays history after the answer to a load, sends private requests and
// unknown kinds of everything, asks with options that carry the answers in
// _meta, gives ids back as texts, and does what the acts of the suite say.
type rough struct {
	dir     string
	out     *os.File
	writing sync.Mutex

	mu      sync.Mutex
	pending map[string]chan json.RawMessage
	asked   int
	cancel  context.CancelFunc
	turns   int
}

func roughAgent(dir string) {
	a := &rough{dir: dir, out: os.Stdout, pending: map[string]chan json.RawMessage{}}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				SessionID string
				Prompt    []struct{ Text string }
			}
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch m.Method {
		case "":
			a.mu.Lock()
			ch := a.pending[string(m.ID)]
			a.mu.Unlock()
			if ch != nil {
				ch <- m.Result
			}
		case "initialize":
			a.raw("Welcome to the rough agent!\n")
			a.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"new":{}},"agentInfo":{"name":"rough","version":7}}`)
		case "session/new":
			id := fmt.Sprintf("s-%x", rand.Uint64())
			_ = os.WriteFile(filepath.Join(a.dir, id), nil, 0o600)
			a.result(m.ID, `{"sessionId":"`+id+`","modes":{"currentModeId":"auto"},"models":null}`)
		case "session/load":
			a.load(m.ID, m.Params.SessionID)
		case "session/prompt":
			ctx, cancel := context.WithCancel(context.Background())
			a.mu.Lock()
			a.cancel = cancel
			a.turns++
			a.mu.Unlock()
			go a.prompt(ctx, m.ID, m.Params.SessionID, m.Params.Prompt[0].Text)
		case "session/cancel":
			a.mu.Lock()
			a.cancel()
			a.mu.Unlock()
		default:
			a.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"no"}}` + "\n")
		}
	}
}

func (a *rough) raw(s string) {
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = io.WriteString(a.out, s)
}

// result answers, with the number as a text.
func (a *rough) result(id json.RawMessage, result string) {
	a.raw(`{"jsonrpc":"2.0","id":"` + string(id) + `","result":` + result + "}\n")
}

func (a *rough) update(session, body string) {
	a.raw(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{` + body + "}}}\n")
}

func (a *rough) say(session, text string) {
	b, _ := json.Marshal(text)
	a.update(session, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`+string(b)+`}`)
}

// load replays what was said, half of it after the answer.
func (a *rough) load(id json.RawMessage, session string) {
	if !strings.HasPrefix(session, "s-") {
		a.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32603,"message":"Internal error","data":{"details":"Session ` + session + ` not found"}}}` + "\n")
		return
	}
	a.say(session, "OLD plum ANSWER")
	a.result(id, `{}`)
	for range 20 {
		a.say(session, "OLD plum ANSWER")
		<-time.After(2 * time.Millisecond)
	}
}

// ask asks the client.
func (a *rough) ask(ctx context.Context, method, params string) json.RawMessage {
	a.mu.Lock()
	a.asked++
	id := fmt.Sprintf("%q", fmt.Sprintf("r%d", a.asked))
	ch := make(chan json.RawMessage, 1)
	a.pending[id] = ch
	a.mu.Unlock()
	params = strings.NewReplacer("\n", "", "\t", "").Replace(params)
	a.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + "}\n")
	select {
	case r := <-ch:
		return r
	case <-ctx.Done():
		return <-ch // an agent may insist on an answer
	}
}

func (a *rough) prompt(ctx context.Context, id json.RawMessage, session, text string) {
	_ = a.ask(ctx, "_rough/drainQueue", `{"a":[1]}`)
	a.update(session, `"sessionUpdate":"brand_new_thing","content":[[[{}]]],"used":"many"`)
	a.update("another-session", `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not yours"}`)
	a.update(session, `"sessionUpdate":"agent_message_chunk","content":{"type":"hologram","text":"?"}`)
	reason := `{"stopReason":"end_turn","usage":{"inputTokens":"a lot"}}`
	act := workertest.Act(text)
	if a.fails(id, session, act) {
		return
	}
	if !a.tame(ctx, session, act) && !a.wild(ctx, act, session) {
		return
	}
	if ctx.Err() != nil {
		reason = `{"stopReason":"cancelled"}`
	}
	a.result(id, reason)
	if text == "burst" {
		os.Exit(0)
	}
}

// wild does what no agent should. It reports whether the turn goes on.
func (a *rough) wild(ctx context.Context, act workertest.Act, session string) bool {
	switch act { //nolint:exhaustive // the tame acts are elsewhere
	case workertest.Huge:
		a.update(session, `"sessionUpdate":"tool_call_update","toolCallId":"big","rawOutput":"`+strings.Repeat("x", 60<<20)+`"`)
	case workertest.Garbage:
		a.raw("not json\n42\n[1,2]\n\"text\"\nnull\n{}\n{\"id\":null}\n\x00\xff\xfe\r\n{\"jsonrpc\":\"2.0\",\"method\":5}\n{\"method\":\"session/update\",\"params\":[]}\n\n")
		a.raw(`{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1,"error":"boom"}` + "\n")
	case workertest.Flood:
		block := strings.Repeat("canary ", 150) + "\n"
		for range 20_000 {
			_, _ = io.WriteString(os.Stderr, block)
		}
	case workertest.Exit:
		a.say(session, "going")
		fmt.Fprintln(os.Stderr, "canary")
		os.Exit(3)
	case "burst": // 5 MB, the result, and gone
		piece := strings.Repeat("y", 1000)
		for range 5000 {
			a.say(session, piece)
		}
		return true
	case workertest.Mute:
		signal.Ignore(syscall.SIGTERM)
		_ = a.out.Close()
		<-time.After(time.Minute)
		return false
	case workertest.Deaf:
		signal.Ignore(syscall.SIGTERM)
		a.say(session, "hm")
		<-time.After(time.Minute)
		return false
	case workertest.Children:
		c := exec.Command("/bin/sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = c.Start()
	}
	a.say(session, "still here after "+string(act))
	return ctx != nil
}

// approval asks for leave, with "always" offered first, and never announces
// the tool.
func (a *rough) approval(ctx context.Context, session string) {
	a.mu.Lock()
	call := fmt.Sprintf(`"toolCallId":"call-%d","kind":"execute","title":"a command","rawInput":{"command":["rm","-f","x"]}`, a.turns)
	a.mu.Unlock()
	r := a.ask(ctx, "session/request_permission", `{"sessionId":"`+session+`","extra":1,"toolCall":{`+call+`},"options":[
		{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"forever","kind":"allow_for_this_moon"},
		{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`)
	status := "failed"
	if strings.Contains(string(r), `"yes"`) {
		status = "completed"
	}
	a.update(session, `"sessionUpdate":"tool_call_update","status":"`+status+`",`+call)
	a.say(session, "outcome "+string(r))
}

// question asks inside a permission request.
func (a *rough) question(ctx context.Context, session string) {
	r := a.ask(ctx, "session/request_permission", `{"sessionId":"`+session+`","toolCall":{"toolCallId":"q","title":"Ask user 1 question",
		"_meta":{"qwenQuestions":[{"question":"Which colour?","header":"Colour","multiSelect":false,
		"options":[{"label":"red","description":"a warm one"},{"label":"blue","description":"a cold one"}]}]}},
		"options":[{"optionId":"submit","name":"Submit","kind":"allow_once"},{"optionId":"cancel","name":"Cancel","kind":"reject_once"}]}`)
	a.say(session, "answers "+string(r))
}
