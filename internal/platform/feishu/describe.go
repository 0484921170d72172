package feishu

import (
	"encoding/json"
	"fmt"
	"strings"
)

// described is a message that consists of no words of its own; empty when
// nothing is known about its kind.
func described(kind string, c content, raw string) string {
	switch kind {
	case "sticker":
		return "[sticker]"
	case "location":
		return fmt.Sprintf("[location: %s (%s, %s)]", c.Name, c.Lat, c.Long)
	case "share_chat":
		return "[a group was shared: " + c.Chat + "]"
	case "share_user":
		return "[a contact was shared: " + c.User + "]"
	case "folder":
		return "[folder: " + c.FileName + "; folders cannot be fetched]"
	case "vote":
		return "[vote: " + strings.Join(append([]string{c.Topic}, c.Options...), "; ") + "]"
	case "video_chat":
		return "[call: " + c.Topic + "]"
	case "todo", "calendar", "share_calendar_event", "general_calendar", "system", "hongbao":
		return "[" + strings.TrimSpace(strings.ReplaceAll(kind, "_", " ")+": "+strings.Join(strings.Fields(cardWords(raw)), " ")) + "]"
	}
	return ""
}

// localized is a rich text, also where the service puts it below a language.
func localized(c content, raw string) content {
	if len(c.Lines) > 0 || c.Title != "" {
		return c
	}
	var by map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &by) != nil {
		return c
	}
	for _, lang := range []string{"zh_cn", "en_us", "ja_jp"} {
		if one, err := decode(string(by[lang])); err == nil && (len(one.Lines) > 0 || one.Title != "") {
			return one
		}
	}
	return c
}

// Bounds of what is read of somebody else's card.
const (
	cardDepth = 16
	cardSize  = 20_000 // bytes
)

// readable are the parts of a card that people read, in the order in which they
// see them.
var readable = []string{"header", "title", "subtitle", "summary", "template", "text", "content", "user_name", "fields", "elements", "columns", "rows", "body", "actions", "extra", "placeholder", "options"}

// cardWords is what can be read of a card, whether the service degrades it to
// lists of nodes or shows it as it was made, or of anything of that kind.
func cardWords(raw string) string {
	var root any
	if json.Unmarshal([]byte(raw), &root) != nil {
		return ""
	}
	var sb strings.Builder
	cardPart(&sb, root, 0)
	return strings.TrimSpace(emptyLines.Replace(sb.String()))
}

var emptyLines = strings.NewReplacer("\n\n\n", "\n", "\n\n", "\n")

// cardPart adds what is read in v. Pieces of one line stay together; objects
// with parts of their own stand on lines.
func cardPart(sb *strings.Builder, v any, depth int) {
	if depth > cardDepth || sb.Len() > cardSize {
		return
	}
	switch x := v.(type) {
	case string:
		sb.WriteString(x)
	case []any:
		for _, y := range x {
			cardPart(sb, y, depth+1)
			if _, line := y.([]any); line || box(y) {
				sb.WriteString("\n")
			}
		}
	case map[string]any:
		if href, ok := x["href"].(string); ok && x["tag"] == "a" {
			text, _ := x["text"].(string)
			sb.WriteString(linked(node{Text: text, Href: href}))
			return
		}
		if x["tag"] == "img" {
			sb.WriteString("[image]")
			return
		}
		for _, key := range readable {
			if part, ok := x[key]; ok {
				cardPart(sb, part, depth+1)
				if _, plain := part.(string); !plain || key == "title" || key == "subtitle" {
					sb.WriteString("\n")
				}
			}
		}
	}
}

// box reports whether an element stands on a line of its own.
func box(v any) bool {
	el, ok := v.(map[string]any)
	if !ok {
		return false
	}
	switch el["tag"] {
	case "text", "a", "at", "img", "emotion":
		return false
	}
	return true
}
