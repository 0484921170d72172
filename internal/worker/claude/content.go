package claude

import (
	"errors"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker/attach"
)

// limits are the API's: 5 MiB of base64 for a picture, 32 MB for a request,
// which has more in it than the files.
var limits = attach.Limits{Picture: 5 << 20 / 4 * 3, Side: 8000, Document: 20 << 20, Total: 20 << 20}

// content is an input as the agent takes it: a text, or blocks where pictures
// or documents go with it. Other files are named in the text.
func content(in chat.Input) (any, error) {
	files := in.Fetched()
	native, rest := attach.Load(files, limits)
	text := in.Text()
	if named := attach.Named(rest); named != "" {
		text = strings.TrimLeft(text+"\n\n"+named, "\n")
	}
	if blank(text) {
		if len(native) == 0 {
			return nil, chat.E(chat.Invalid, "", errors.New("nothing to read"))
		}
		text = ""
	}
	if len(native) == 0 {
		return text, nil
	}
	blocks := make([]object, 0, len(native)+1)
	for _, f := range native {
		kind := "image"
		if f.Kind == attach.Document {
			kind = "document"
		}
		blocks = append(blocks, object{"type": kind, "source": object{
			"type": "base64", "media_type": f.MIME, "data": f.Data, // encoded as base64
		}})
	}
	if text != "" {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	return blocks, nil
}
