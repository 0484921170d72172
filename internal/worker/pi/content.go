package pi

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/worker/attach"
)

// limits are those of the strictest of the usual providers.
var limits = attach.Limits{Picture: 5 << 20 / 4 * 3, Side: 8000, Total: 20 << 20}

// contentOf is an input as a text and pictures. Other files are named in the
// text; so are pictures, for a model that sees none.
func contentOf(in chat.Input, sees bool) (text string, images []object, _ error) {
	l := limits
	if !sees {
		l.Picture = 0
	}
	native, rest := attach.Load(in.Fetched(), l)
	text = in.Text()
	if named := attach.Named(rest); named != "" {
		text = strings.TrimLeft(text+"\n\n"+named, "\n")
	}
	if blank(text) {
		if len(native) == 0 {
			return "", nil, chat.E(chat.Invalid, "", errors.New("nothing to read"))
		}
		text = ""
	}
	for _, f := range native {
		images = append(images, object{"type": "image", "data": base64.StdEncoding.EncodeToString(f.Data), "mimeType": f.MIME})
	}
	return text, images, nil
}

// blank reports whether a text has nothing to read in it.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	}) == ""
}
