package feishu

import (
	"cligate/internal/chat"
	"cligate/internal/render"
)

// more stands below the beginning of an answer that goes on in a file.
var more = render.Block{Kind: render.Paragraph, Inlines: []render.Inline{{Text: "…"}}}

// tooLong reports whether an answer is better read in a file than on many
// cards.
func tooLong(blocks []render.Block, cards int) bool {
	return cards > maxCards || cards > 0 && render.Unwieldy(blocks)
}

// document is the whole answer, as it was written.
func document(blocks []render.Block, markdown string) *chat.OutFile {
	ending, body := render.Document(blocks, markdown)
	return &chat.OutFile{Name: "answer." + ending, Body: []byte(body)}
}
