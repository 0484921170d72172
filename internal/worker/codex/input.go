package codex

import (
	"errors"
	"strings"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/worker/attach"
)

// limits of what goes to the agent as a picture: the service's, which takes 50
// MB in a request.
var pictures = attach.Limits{Picture: 20 << 20, Total: 40 << 20}

func textItem(text string) object {
	return object{"type": "text", "text": text, "text_elements": []any{}}
}

// content is an input as the agent takes it: pictures by their paths, which it
// reads itself, then the text. Other files are named in the text.
func content(in chat.Input) ([]object, error) {
	native, rest := attach.Load(in.Fetched(), pictures)
	text := in.Text()
	if named := attach.Named(rest); named != "" {
		text = strings.TrimLeft(text+"\n\n"+named, "\n")
	}
	items := make([]object, 0, len(native)+1)
	for _, f := range native {
		items = append(items, object{"type": "localImage", "path": f.Path})
	}
	if !blank(text) {
		items = append(items, textItem(text))
	}
	if len(items) == 0 {
		return nil, chat.E(chat.Invalid, "", errors.New("nothing to read"))
	}
	return items, nil
}

// isCompact reports whether the input is the agent's own command to make room.
func isCompact(in chat.Input) bool {
	return strings.TrimSpace(in.Text()) == "/compact" && len(in.Fetched()) == 0
}

// blank reports whether a text has nothing to read in it.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	}) == ""
}
