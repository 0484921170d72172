package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/script"
)

// step does one thing.
func (n *turn) step(st script.Step) (failure object) {
	switch st.Verb {
	case "say":
		n.say(st.Rest)
	case "stream":
		n.stream(st.Int(0, 5), time.Duration(st.Int(1, 10))*time.Millisecond)
	case "slow":
		pause(n.over, time.Duration(st.Int(0, 100))*time.Millisecond)
	case "think":
		n.think(st.Rest)
	case "remember":
		n.say("I will remember " + script.Word(n.texts()))
	case "what":
		n.say("the word was " + script.Word(n.texts()))
	case "model":
		n.t.mu.Lock()
		text := "model: " + n.t.kept.Model + " effort: " + n.t.kept.Effort + " " + n.t.approval + " " + n.t.sandbox
		n.t.mu.Unlock()
		n.say(text)
	case "seen":
		n.say(fmt.Sprintf("images %d documents 0", n.images))
	case "run":
		n.run(st.Rest)
	case "write":
		n.write(st)
	case "ask":
		n.question([]object{one("colour", "Which colour?", "red", "blue")})
	case "questions":
		n.question([]object{one("colour", "Which colour?", "red", "blue"), one("name", "What name?", "Ann", "Bob")})
	case "plan":
		n.plan()
	case "todo":
		n.tell("turn/plan/updated", object{"explanation": nil, "plan": []object{{"step": "look", "status": "completed"}, {"step": "leap", "status": "pending"}}})
	case "task":
		own{n}.task(st.Rest)
	case "fail":
		return rogue{n}.fail(st)
	case "cut":
		return rogue{n}.cut()
	case "later":
		own{n}.later(st)
	default:
		rogue{n}.trouble(st)
	}
	return nil
}

func (n *turn) think(text string) {
	id := n.item("rs")
	n.tell("item/started", object{"item": object{"type": "reasoning", "id": id, "summary": []string{}}})
	n.tell("item/reasoning/summaryPartAdded", object{"itemId": id})
	n.tell("item/reasoning/summaryTextDelta", object{"itemId": id, "delta": text})
	n.tell("item/completed", object{"item": object{"type": "reasoning", "id": id, "summary": []string{text}}})
}

func (n *turn) plan() {
	n.t.mu.Lock()
	plans := n.t.plans
	n.t.mu.Unlock()
	if !plans {
		n.say("no plan in this mode")
		return
	}
	id := n.item("plan")
	n.tell("item/started", object{"item": object{"type": "plan", "id": id, "text": ""}})
	n.tell("item/plan/delta", object{"itemId": id, "delta": "1. look\n2. leap\n"})
	n.tell("item/completed", object{"item": object{"type": "plan", "id": id, "text": "1. look\n2. leap\n"}})
}

func one(id, text string, options ...string) object {
	opts := make([]object, 0, len(options))
	for _, o := range options {
		opts = append(opts, object{"label": o, "description": "choose " + o})
	}
	return object{"id": id, "header": id, "question": text, "isOther": true, "isSecret": false, "options": opts}
}

// put asks the client and waits; not ok when the turn was interrupted.
func (n *turn) put(method string, p object) (result json.RawMessage, ok bool) {
	p["threadId"], p["turnId"] = n.t.id, n.id
	id, answer := n.t.s.ask(method, p)
	select {
	case result = <-answer:
		n.tell("serverRequest/resolved", object{"requestId": id})
		return result, true
	case <-n.over:
		n.tell("serverRequest/resolved", object{"requestId": id})
		return nil, false
	}
}

func (n *turn) question(questions []object) {
	n.t.mu.Lock()
	plans := n.t.plans
	n.t.mu.Unlock()
	if !plans {
		n.say("request_user_input is unavailable in Default mode")
		return
	}
	result, ok := n.put("item/tool/requestUserInput", object{"itemId": n.item("call"), "questions": questions, "isBlocking": true})
	if !ok {
		return
	}
	var a struct {
		Answers map[string]struct {
			Answers []string `json:"answers"`
		} `json:"answers"`
	}
	if json.Unmarshal(result, &a) != nil || a.Answers == nil {
		breach("an unreadable answer: " + string(result))
	}
	said := ""
	for id, v := range a.Answers {
		said += " " + id + "=" + strings.Join(v.Answers, ",")
	}
	n.say("answered:" + said)
}

// allowed asks for leave, where the mode says so.
func (n *turn) allowed(method string, p object) (ok bool) {
	n.t.mu.Lock()
	asks := n.t.approval == "untrusted"
	n.t.mu.Unlock()
	if !asks {
		return true
	}
	result, ok := n.put(method, p)
	if !ok {
		return false
	}
	var d struct {
		Decision any `json:"decision"`
	}
	if json.Unmarshal(result, &d) != nil {
		d.Decision = "?"
	}
	switch d.Decision {
	case "accept":
		return true
	case "decline":
	case "cancel":
		n.stop()
	default:
		breach("decision " + string(result)) // what lasts is not for the agent to keep
	}
	return false
}

// run runs a command in a session of its own, which an interrupt does not end.
func (n *turn) run(text string) {
	id := n.item("call")
	it := object{
		"type": "commandExecution", "id": id, "command": "/bin/bash -lc '" + text + "'", "cwd": n.t.kept.Dir,
		"status": "inProgress", "commandActions": []object{{"type": "unknown", "command": text}},
	}
	n.tell("item/started", object{"item": it})
	if !n.allowed("item/commandExecution/requestApproval", object{
		"kind": "command", "itemId": id, "command": it["command"], "cwd": n.t.kept.Dir, "commandActions": it["commandActions"],
		"availableDecisions": []any{"accept", "cancel"},
	}) {
		it["status"] = "declined"
		n.tell("item/completed", object{"item": it})
		if !n.ended() && !n.take() && len(n.steps) == 0 {
			n.say("denied")
		}
		return
	}
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Dir = n.t.kept.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), "CODEX_THREAD_ID="+n.t.id, "CODEX_TOOL_CALL_ID="+id)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	process := strconv.Itoa(cmd.Process.Pid)
	n.t.mu.Lock()
	n.t.commands[process] = &command{item: id, text: text, cmd: cmd}
	n.t.mu.Unlock()
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		n.t.mu.Lock()
		delete(n.t.commands, process)
		n.t.mu.Unlock()
		ended <- err
	}()
	select {
	case err := <-ended:
		it["status"], it["aggregatedOutput"] = "completed", out.String()
		if err != nil {
			it["status"] = "failed"
		}
		n.tell("item/completed", object{"item": it})
		n.t.usage(n.id, 20, 2)
		if !n.take() && len(n.steps) == 0 {
			n.say("ran: " + out.String())
		}
	case <-n.over: // it goes on
	}
}

// write patches a file.
func (n *turn) write(st script.Step) {
	id := n.item("call")
	path := n.t.kept.Dir + "/" + st.First()
	it := object{
		"type": "fileChange", "id": id, "status": "inProgress",
		"changes": []object{{"path": path, "kind": object{"type": "add"}, "diff": st.After(1) + "\n"}},
	}
	n.tell("item/started", object{"item": it})
	it["status"] = "declined"
	if n.allowed("item/fileChange/requestApproval", object{"itemId": id, "reason": nil, "grantRoot": nil}) {
		it["status"] = "completed"
		_ = os.WriteFile(path, []byte(st.After(1)+"\n"), 0o600)
	}
	n.tell("item/completed", object{"item": it})
}

// own is what a turn sets going beside itself.
type own struct{ *turn }

// task lets a sub-agent do something: a thread of its own on the same line,
// whose turn ends before ours.
func (n own) task(text string) {
	id := n.item("call")
	it := object{"type": "collabAgentToolCall", "id": id, "tool": "spawnAgent", "status": "inProgress", "prompt": text}
	n.tell("item/started", object{"item": it})
	kid := &thread{s: n.t.s, id: uuid.NewString(), parent: n.turn, kept: n.t.kept, approval: n.t.approval, sandbox: n.t.sandbox, commands: map[string]*command{}}
	kid.kept.Texts = nil
	work := newTurn(kid, []input{{Type: "text", Text: text}}, n.id)
	kid.turn = work
	n.t.s.mu.Lock()
	n.t.s.threads[kid.id] = kid
	n.t.s.mu.Unlock()
	it["status"] = "completed"
	n.tell("item/completed", object{"item": it})
	done := make(chan struct{})
	go func() { work.play(); close(done) }()
	select {
	case <-done:
	case <-n.over: // it goes on by itself
	}
}

// later begins a turn by itself after this one.
func (n own) later(st script.Step) {
	go func() {
		time.Sleep(time.Duration(st.Int(0, 100)) * time.Millisecond)
		t := n.t
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.turn == nil {
			t.turn = newTurn(t, []input{{Type: "text", Text: st.After(1)}}, "")
			go t.turn.play()
		}
	}()
}
