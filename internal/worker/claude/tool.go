package claude

import (
	"bytes"
	"encoding/json"
	"strings"

	"cligate/internal/chat"
)

// Tools that are more than a line of progress.
const (
	toolBash     = "Bash"
	toolEdit     = "Edit"
	toolWrite    = "Write"
	toolQuestion = "AskUserQuestion"
	toolPlan     = "ExitPlanMode"
	toolTodo     = "TodoWrite"
)

// maxTitle bounds a tool's line, in characters.
const maxTitle = 160

// titleKeys are the fields of a tool's input that tell best what it does, in
// the order of preference.
var titleKeys = []string{
	"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "skill", "name",
}

// toolTitle is one line for people: the command, the file.
func toolTitle(name string, input json.RawMessage) string {
	var in map[string]any
	if err := json.Unmarshal(input, &in); err != nil {
		return name
	}
	for _, k := range titleKeys {
		if s, ok := in[k].(string); ok && strings.TrimSpace(s) != "" {
			return oneLine(s)
		}
	}
	return name
}

func oneLine(s string) string {
	s = strings.TrimSpace(s)
	first, more, _ := strings.Cut(s, "\n")
	if strings.TrimSpace(more) != "" {
		first += " …"
	}
	return chat.Clip(first, maxTitle)
}

// toolDetail is the exact request, in the form that people read best. Every
// field of the input is in it: what is approved is what is shown.
func toolDetail(name string, input json.RawMessage) string {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return string(input)
	}
	var sb strings.Builder
	switch name {
	case toolBash:
		sb.WriteString(take(in, "command"))
		delete(in, "description") // the model's words about it, not what runs
	case toolWrite:
		sb.WriteString(take(in, "file_path"))
		sb.WriteString("\n" + marked("+ ", take(in, "content")))
	case toolEdit:
		sb.WriteString(take(in, "file_path"))
		sb.WriteString("\n" + marked("- ", take(in, "old_string")) + "\n" + marked("+ ", take(in, "new_string")))
	default:
		return indented(input)
	}
	if len(in) > 0 {
		rest, err := json.Marshal(in)
		if err != nil {
			return indented(input)
		}
		sb.WriteString("\n\n" + indented(rest))
	}
	return sb.String()
}

// take removes a text field from in and returns it. A field of another type
// stays, so that it is shown as it is.
func take(in map[string]json.RawMessage, key string) string {
	var s string
	if err := json.Unmarshal(in[key], &s); err != nil {
		return ""
	}
	delete(in, key)
	return s
}

func marked(mark, text string) string {
	return mark + strings.ReplaceAll(text, "\n", "\n"+mark)
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}
