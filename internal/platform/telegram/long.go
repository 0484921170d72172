package telegram

import (
	"cligate/internal/chat"
	"cligate/internal/render"
)

// tooLong reports whether an answer is better read in a file: it would take
// many messages, which notify, scroll away and use up the chat's budget.
func tooLong(blocks []render.Block, parts int) bool {
	return parts > maxParts || parts > 0 && render.Unwieldy(blocks)
}

// shorten keeps the first part of an answer that goes on in a document.
func shorten(first chat.Part, doc *chat.OutFile, footer string) []chat.Part {
	first.Text += "\n\n…"
	p := chat.Part{File: doc}
	if render.Units(footer) <= maxCaption {
		p.Text = footer
	}
	return []chat.Part{first, p}
}

// document is the whole answer, as it was written.
func document(blocks []render.Block, markdown, footer string) *chat.OutFile {
	ending, body := render.Document(blocks, markdown)
	if ending == "md" && render.Units(footer) > maxCaption {
		body += "\n\n" + footer + "\n"
	}
	return &chat.OutFile{Name: "answer." + ending, Body: []byte(body)}
}
