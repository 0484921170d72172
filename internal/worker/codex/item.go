package codex

import (
	"strings"

	"cligate/internal/chat"
)

// maxTitle bounds a tool's line, in characters.
const maxTitle = 160

// silent are the items that are no tools.
var silent = map[string]bool{
	"": true, "userMessage": true, "hookPrompt": true, itemAnswer: true, itemThought: true, itemPlan: true,
	itemCompact: true, "functionCallOutput": true, "subAgentActivity": true, "enteredReviewMode": true,
	"exitedReviewMode": true,
}

// names are what people are told for a kind of item.
var names = map[string]string{
	itemCommand: "shell", itemFile: "edit", itemSubAgent: "agent", "webSearch": "search", "imageView": "view",
	"imageGeneration": "image",
}

// tool is the name of the tool that an item is a call of; empty when it is
// none.
func (it item) tool() string {
	switch {
	case silent[it.Type]:
		return ""
	case it.Type == itemMCP && it.Tool != "":
		return it.Server + "." + it.Tool
	case names[it.Type] != "":
		return names[it.Type]
	case it.Tool != "":
		return it.Tool
	}
	return it.Type
}

// title is one line for people: the command, the file.
func (it item) title() string {
	switch it.Type {
	case itemCommand:
		return oneLine(plainCommand(it.Command, it.Actions))
	case itemFile:
		paths := make([]string, 0, len(it.Changes))
		for _, c := range it.Changes {
			paths = append(paths, c.Path)
		}
		return oneLine(strings.Join(paths, ", "))
	}
	for _, s := range []string{it.Prompt, it.Query, it.Path, it.Tool} {
		if strings.TrimSpace(s) != "" {
			return oneLine(s)
		}
	}
	return it.tool()
}

// plainCommand is a command without the shell around it. The agent's reading of
// it is believed only where it is what stands there.
func plainCommand(command string, actions []action) string {
	_, said, ok := strings.Cut(command, " -lc ")
	if !ok || len(actions) != 1 || actions[0].Command == "" {
		return command
	}
	plain := actions[0].Command
	for _, quoted := range []string{plain, "'" + plain + "'", `"` + plain + `"`} {
		if said == quoted {
			return plain
		}
	}
	return command
}

// diff is what a patch does, as people read it.
func (it item) diff() string {
	var b strings.Builder
	for _, c := range it.Changes {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(c.Kind.Type + " " + c.Path)
		if c.Kind.Move != "" {
			b.WriteString(" → " + c.Kind.Move)
		}
		b.WriteString("\n" + strings.TrimRight(c.Diff, "\n") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func oneLine(s string) string {
	s = strings.TrimSpace(s)
	first, more, _ := strings.Cut(s, "\n")
	if strings.TrimSpace(more) != "" {
		first += " …"
	}
	return chat.Clip(first, maxTitle)
}
