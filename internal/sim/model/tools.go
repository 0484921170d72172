package model

import (
	"fmt"
	"maps"
	"strings"

	"cligate/internal/sim/script"
)

// toolNames lists what the agents call the tool of each verb; the first that
// a request offers is called.
var toolNames = map[string][]string{
	"run":        shells,
	"background": shells,
	"tool":       shells,
	"write":      {"Write", "write_file", "write", "create", "apply_patch"},
	"ask":        asks,
	"questions":  asks,
	"plan":       {planTool, "exit_plan_mode", "plan_exit"},
	"todo":       {"TodoWrite", "update_plan", "write_todos", "todowrite", "todo_write"},
	"task":       {"Agent", "Task", "task", "spawn_agent", "agent", "invoke_agent"},
}

var (
	shells = []string{"Bash", "exec_command", "shell_command", "shell", "bash", "run_shell_command"}
	asks   = []string{"AskUserQuestion", "request_user_input", "ask_user_question", "ask_user", "question"}
)

// planTool is Claude Code's.
const planTool = "ExitPlanMode"

// crewTool is opencode's for a sub-agent, and Copilot's, where it has other
// arguments.
const crewTool = "task"

const thePlan = "1. look\n2. leap"

// planMark begins the text of a plan, for clients that speak of it in their
// instructions.
const planMark = "<proposed_plan>"

// calls returns the tool calls that a step makes; none when the step needs no
// tool, or one that is not offered.
func (c *call) calls(st script.Step) []out {
	t, ok := c.tool(toolNames[st.Verb])
	if !ok {
		return nil
	}
	var calls []out
	for _, in := range inputs(st) {
		o := out{kind: toolBlock, tool: t.name, space: t.space, input: t.schema.fit(in)}
		switch {
		case t.name == planTool: // takes the plan, although its schema does not say so
			o.input = object{"plan": thePlan}
		case t.name == crewTool: // its kinds have other names than those of the tools with the same argument
			o.input = t.schema.fit(merge(in, object{"subagent_type": "general"}))
		case t.deferred != "":
			o.input = object{"name": t.deferred, "arguments": in}
		}
		body := string(mustJSON(o.input))
		if t.custom {
			o.kind, body = customBlock, "*** Begin Patch\n*** Add File: "+st.First()+"\n+"+st.After(1)+"\n*** End Patch\n"
		}
		o.parts = []string{body[:len(body)/2], body[len(body)/2:]}
		calls = append(calls, o)
	}
	return calls
}

// inputs returns the arguments of each call that a step makes, under every
// name that some agent has for them: the tool's schema picks.
func inputs(st script.Step) []any {
	switch st.Verb {
	case "run":
		return []any{shell(st.Rest, "a command")}
	case "background":
		in := shell(st.Rest, "in the background")
		in["run_in_background"], in["is_background"] = true, true
		return []any{in}
	case "tool":
		var all []any
		for i := range st.Int(0, 1) {
			all = append(all, shell(fmt.Sprintf("echo tool %d", i+1), "a harmless command"))
		}
		return all
	case "write":
		path, text := st.First(), st.After(1)
		return []any{object{"file_path": path, "filePath": path, "path": path, "content": text, "file_text": text}}
	case "ask":
		return []any{object{"questions": []any{colour(st.Rest)}, "question": colour(st.Rest)["question"], "choices": []any{"red", "blue"}}}
	case "questions":
		return []any{object{"questions": []any{colour(""), fruits(), name()}}}
	case "plan":
		return []any{object{"plan": thePlan, "summary": thePlan}}
	case "todo":
		return []any{todo()}
	case "task":
		return []any{object{
			"description": "a task", "name": "helper", "prompt": st.Rest, "message": st.Rest,
			"subagent_type": "general-purpose", "agent_type": "general-purpose", "agent_name": "generalist",
		}}
	}
	return nil
}

// merge is a with b's values put over it.
func merge(a any, b object) object {
	out := object{}
	if a, ok := a.(object); ok {
		maps.Copy(out, a)
	}
	maps.Copy(out, b)
	return out
}

func shell(command, description string) object {
	return object{
		"command": command, "cmd": command, "description": description,
		"yield_time_ms": 30000, "initial_wait": 120, // else some agents go on without the end of it
	}
}

func todo() object {
	item := func(text, status string) object {
		return object{"content": text, "step": text, "description": text, "status": status, "activeForm": text, "priority": "high", "id": text}
	}
	list := []any{item("look", "completed"), item("leap", "in_progress"), item("land", "pending")}
	return object{"todos": list, "plan": list}
}

func colour(text string) object {
	if text == "" {
		text = "Which colour?"
	}
	return question("Colour", text, false, "red", "blue")
}

func fruits() object { return question("Fruit", "Which fruits?", true, "plum", "pear", "fig") }

func name() object { return question("Name", "What name?", false, "Ann", "Bob") }

func question(header, text string, multi bool, labels ...string) object {
	options := make([]any, 0, len(labels))
	for _, l := range labels {
		options = append(options, object{"label": l, "description": "choose " + l})
	}
	return object{
		"id": strings.ToLower(header), "question": text, "header": header, "options": options,
		"multiSelect": multi, "multiple": multi, "type": "choice",
	}
}
