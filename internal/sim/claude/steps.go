package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"cligate/internal/sim/script"
)

// step does one thing and reports whether it was a tool.
func (r *run) step(ctx context.Context, st script.Step) (tool bool) {
	switch st.Verb {
	case "run":
		r.shell(ctx, st.Rest, true)
		return true
	case "tool":
		for i := range st.Int(0, 1) {
			if ctx.Err() == nil {
				r.shell(ctx, fmt.Sprintf("echo tool %d", i+1), false)
			}
		}
		return true
	case "ask", "questions":
		r.question(ctx, st)
		return true
	case "plan":
		r.plan(ctx)
		return true
	case "withdraw":
		r.withdrawn(ctx)
		return true
	case "task":
		r.helper(st.Rest)
		return true
	case "model":
		r.say("model: " + r.now().model)
	case "seen":
		pictures := 0
		for _, f := range r.files {
			if f != "application/pdf" {
				pictures++
			}
		}
		r.say(fmt.Sprintf("images %d documents %d", pictures, len(r.files)-pictures))
	case "say", script.Echo:
		r.say(st.Rest)
	case "think":
		r.block(r.now().model, object{"type": "thinking", "thinking": st.Rest}, object{"type": "thinking_delta", "thinking": st.Rest})
	case "long":
		r.say(long(st))
	case "stream":
		r.streamText(ctx, st.Int(0, 5), time.Duration(st.Int(1, 10))*time.Millisecond)
	case "slow":
		pause(ctx, time.Duration(st.Int(0, 100))*time.Millisecond)
	case "remember":
		r.say("I will remember " + script.Word(r.texts()))
	case "what":
		r.say("the word was " + script.Word(r.texts()))
	case "recall":
		past := r.texts()
		r.say("recall: " + strings.Join(past[:len(past)-1], " | "))
	default:
		r.trouble(ctx, st)
	}
	return false
}

func (r *run) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.past)
}

// long is many lines, each ending with the given mark and its number.
func long(st script.Step) string {
	var b strings.Builder
	for i := range st.Int(0, 100) {
		fmt.Fprintf(&b, "- **%d** a line of a long answer, with `code` in it %s-%d\n", i+1, st.After(1), i+1)
	}
	return b.String()
}

// streamText streams n pieces, one at a time.
func (r *run) streamText(ctx context.Context, n int, gap time.Duration) {
	model, id := r.now().model, r.next("msg")
	r.stream(object{"type": "message_start", "message": object{"id": id, "model": model, "content": []any{}, "usage": begun()}})
	r.setting(func(s *settings) { s.calls++ })
	r.stream(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	var all strings.Builder
	for i := range n {
		piece := fmt.Sprintf("tick %d ", i+1)
		all.WriteString(piece)
		r.stream(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": piece}})
		if r.deaf.Load() {
			time.Sleep(gap)
		} else if !pause(ctx, gap) {
			break
		}
	}
	r.finishBlock(id, model, object{"type": "text", "text": all.String()})
	r.answer = all.String()
}

// shell runs a command, asked for or not.
func (r *run) shell(ctx context.Context, command string, asks bool) {
	use := r.next("toolu")
	input := object{"command": command, "description": "a command"}
	r.block(r.now().model, object{"type": "tool_use", "id": use, "name": "Bash", "input": input})
	asked := asks
	asks = asks && r.now().mode != "bypassPermissions"
	if asks && !r.allowed(ctx, "Bash", use, input) {
		return
	}
	r.st.note(Entry{Kind: KindTool, ID: use, Text: command})
	out, err := r.exec(ctx, command)
	if ctx.Err() != nil {
		r.toolResult(use, "The user doesn't want to proceed with this tool use.", true)
		return
	}
	r.toolResult(use, out, err != nil)
	if asked {
		r.after = "ran: " + strings.TrimSpace(out)
	}
}

// allowed asks for permission. The verdict must carry the very input that was
// asked about.
func (r *run) allowed(ctx context.Context, tool, use string, input object) bool {
	v, ok := r.ask(ctx, tool, use, input)
	if !ok {
		r.toolResult(use, "The user doesn't want to proceed with this tool use.", true)
		return false
	}
	for _, p := range v.Permissions {
		if v.Behavior == "allow" && p.Type == "setMode" {
			r.setting(func(s *settings) { s.mode = p.Mode })
			r.system("status", object{"status": nil, "permissionMode": p.Mode})
		}
	}
	if v.Behavior == "allow" && !same(v.Input, input) {
		r.st.note(Entry{Kind: KindOverlap, Text: "the approved input is another: " + string(v.Input)})
		v = verdict{Message: "another input"}
	}
	if v.Behavior != "allow" {
		r.toolResult(use, v.Message, true)
		if v.Interrupt {
			r.interrupt()
			return false
		}
		r.after = "denied: " + v.Message
		return false
	}
	return true
}

func same(raw json.RawMessage, input object) bool {
	want, err := json.Marshal(input)
	if err != nil {
		return false
	}
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal(want, &b) != nil {
		return false
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// exec runs a command in a session of its own, as the real one does, so that
// no signal to our process group reaches it.
func (r *run) exec(ctx context.Context, command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err.Error(), err
	}
	r.mu.Lock()
	r.tools[cmd.Process.Pid] = struct{}{}
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	stop()
	r.mu.Lock()
	delete(r.tools, cmd.Process.Pid)
	r.mu.Unlock()
	return out.String(), err
}

// stopTools ends running tools, as the real one does when it is asked to leave.
func (a *agent) stopTools() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for pid := range a.tools {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// question asks the user something with options.
func (r *run) question(ctx context.Context, st script.Step) {
	one := func(header, text string, multi bool, labels ...string) object {
		var opts []object
		for _, l := range labels {
			opts = append(opts, object{"label": l, "description": "choose " + l})
		}
		return object{"question": text, "header": header, "options": opts, "multiSelect": multi}
	}
	text := st.Rest
	if text == "" || st.Verb == "questions" {
		text = "Which colour?"
	}
	qs := []object{one("Colour", text, false, "red", "blue")}
	if st.Verb == "questions" {
		qs = append(qs, one("Fruit", "Which fruits?", true, "plum", "pear", "fig"), one("Name", "What name?", false, "Ann", "Bob"))
	}
	use, input := r.next("toolu"), object{"questions": qs}
	r.block(r.now().model, object{"type": "tool_use", "id": use, "name": "AskUserQuestion", "input": input})
	v, ok := r.ask(ctx, "AskUserQuestion", use, input)
	if !ok || v.Behavior != "allow" {
		r.toolResult(use, v.Message, true)
		if ok {
			r.say("no answer: " + v.Message)
		}
		return
	}
	var in struct {
		Questions []any             `json:"questions"`
		Answers   map[string]string `json:"answers"`
	}
	if json.Unmarshal(v.Input, &in) != nil || len(in.Questions) != len(qs) {
		r.st.note(Entry{Kind: KindOverlap, Text: "unreadable answer: " + string(v.Input)})
	}
	var said []string
	for _, q := range qs {
		if a, ok := in.Answers[fmt.Sprint(q["question"])]; ok {
			said = append(said, a)
		}
	}
	r.toolResult(use, "answered", false)
	r.say("you chose " + strings.Join(said, "; "))
}

func (r *run) plan(ctx context.Context) {
	use, input := r.next("toolu"), object{}
	r.block(r.now().model, object{"type": "tool_use", "id": use, "name": "ExitPlanMode", "input": input})
	if r.now().mode != "plan" {
		r.toolResult(use, "You are not in plan mode.", true)
		r.say("no plan mode")
		return
	}
	if r.allowed(ctx, "ExitPlanMode", use, input) {
		r.setting(func(s *settings) {
			if s.mode == "plan" {
				s.mode = "default"
			}
		})
		r.toolResult(use, "approved", false)
		if len(r.todo) == 0 {
			r.say("the plan is approved")
		}
	}
}

// withdrawn asks for permission and does not wait for the answer.
func (r *run) withdrawn(ctx context.Context) {
	use, input := r.next("toolu"), object{"command": "echo never"}
	r.block(r.now().model, object{"type": "tool_use", "id": use, "name": "Bash", "input": input})
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	time.AfterFunc(200*time.Millisecond, func() {
		r.cancelOpen()
		cancel()
	})
	r.ask(asking, "Bash", use, input)
	r.toolResult(use, "Tool permission request aborted", true)
}

// helper has a sub-agent work, which talks and uses a tool.
func (r *run) helper(words string) {
	use, inner, model := r.next("toolu"), r.next("toolu"), r.now().model
	r.block(model, object{"type": "tool_use", "id": use, "name": "Agent", "input": object{"description": "a task", "prompt": words}})
	said := func(block object) {
		r.event(object{"type": "assistant", "parent_tool_use_id": use, "message": object{
			"id": r.next("msg"), "model": model, "role": "assistant", "content": []any{block},
			"usage": object{"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 10}}})
		r.setting(func(s *settings) { s.helped++ })
	}
	said(object{"type": "text", "text": words})
	r.event(object{"type": "stream_event", "parent_tool_use_id": use, "event": object{
		"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": words}}})
	said(object{"type": "tool_use", "id": inner, "name": "Bash", "input": object{"command": "echo of a helper"}})
	r.event(object{"type": "user", "parent_tool_use_id": use, "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": inner, "content": "of a helper", "is_error": false}}}})
	r.toolResult(use, "the helper is done", false)
}

// child starts a process that nothing but SIGKILL ends.
func (r *run) child() {
	cmd := exec.Command("sh", "-c", `trap "" TERM HUP INT; sleep 600`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return
	}
	r.st.note(Entry{Kind: KindChild, Pid: cmd.Process.Pid})
	go cmd.Wait() // ends with the child, or with this process
	r.say(fmt.Sprintf("child %d", cmd.Process.Pid))
}
