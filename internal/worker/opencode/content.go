package opencode

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/worker/attach"
)

// Limits of files that go natively, in bytes; those of the strictest of the
// usual providers.
const (
	maxPicture  = 5 << 20 / 4 * 3
	maxDocument = 20 << 20
)

// content is an input as parts of a message, and its text. Files that the model
// cannot see are named in the text.
func content(in chat.Input, m model) (parts []object, text string, _ error) {
	l := attach.Limits{Side: 8000, Total: maxDocument}
	if m.image {
		l.Picture = maxPicture
	}
	if m.pdf {
		l.Document = maxDocument
	}
	native, rest := attach.Load(in.Fetched(), l)
	text = in.Text()
	if named := attach.Named(rest); named != "" {
		text = strings.TrimLeft(text+"\n\n"+named, "\n")
	}
	if blank(text) {
		if len(native) == 0 {
			return nil, "", chat.E(chat.Invalid, "", errors.New("nothing to read"))
		}
		text = ""
	}
	if text != "" {
		parts = append(parts, object{"type": "text", "text": text})
	}
	for _, f := range native {
		parts = append(parts, object{
			"type": "file", "mime": f.MIME, "filename": string(f.Kind),
			"url": "data:" + f.MIME + ";base64," + base64.StdEncoding.EncodeToString(f.Data),
		})
	}
	if len(native) > 0 {
		return parts, "", nil // no command has files
	}
	return parts, text, nil
}

// blank reports whether a text has nothing to read in it.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	}) == ""
}
