package model

import (
	"fmt"

	"cligate/internal/sim/script"
)

type object = map[string]any

// toolUses is how many tool results a step leads to.
func toolUses(st script.Step) int {
	_, inputs := toolCalls(st)
	return len(inputs)
}

// toolCalls returns the tool that a step calls, by Claude Code's names, and
// the input of each call.
func toolCalls(st script.Step) (string, []any) {
	switch st.Verb {
	case "run":
		return "Bash", []any{object{"command": st.Rest, "description": "a command"}}
	case "background":
		return "Bash", []any{object{"command": st.Rest, "description": "in the background", "run_in_background": true}}
	case "write":
		return "Write", []any{object{"file_path": st.First(), "content": st.After(1)}}
	case "tool":
		var calls []any
		for i := range st.Int(0, 1) {
			calls = append(calls, object{"command": fmt.Sprintf("echo tool %d", i+1), "description": "a harmless command"})
		}
		return "Bash", calls
	case "ask":
		return "AskUserQuestion", []any{object{"questions": []any{colour(st.Rest)}}}
	case "questions":
		return "AskUserQuestion", []any{object{"questions": []any{colour(""), fruits(), name()}}}
	case "plan":
		return "ExitPlanMode", []any{object{"plan": "1. look\n2. leap"}}
	}
	return "", nil
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
	return object{"question": text, "header": header, "options": options, "multiSelect": multi}
}
