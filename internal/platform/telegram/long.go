package telegram

import (
	"strings"

	"cligate/internal/chat"
	"cligate/internal/render"
)

// tooLong reports whether an answer is better read in a file: it would take
// many messages, which notify, scroll away and use up the chat's budget.
func tooLong(blocks []render.Block, parts int) bool {
	return parts > maxParts || parts > 0 && longCode(blocks)
}

func longCode(blocks []render.Block) bool {
	for _, b := range blocks {
		if b.Kind == render.CodeBlock && strings.Count(b.Text, "\n") >= maxCodeLines || longCode(b.Kids) {
			return true
		}
	}
	return false
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

// document is the whole answer, as it was written. An answer that is nothing but
// one block of code becomes a file of that language.
func document(blocks []render.Block, markdown, footer string) *chat.OutFile {
	if len(blocks) == 1 && blocks[0].Kind == render.CodeBlock {
		return &chat.OutFile{Name: "answer." + extension(blocks[0].Lang), Body: []byte(blocks[0].Text + "\n")}
	}
	if render.Units(footer) > maxCaption {
		markdown += "\n\n" + footer + "\n"
	}
	return &chat.OutFile{Name: "answer.md", Body: []byte(markdown)}
}

// extension is what files of a language end in. Names of languages are foreign
// text: only known ones are taken.
func extension(lang string) string {
	known := map[string]string{
		"diff": "diff", "patch": "diff", "go": "go", "python": "py", "py": "py", "rust": "rs", "javascript": "js", "js": "js",
		"typescript": "ts", "ts": "ts", "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "sql": "sql",
		"html": "html", "css": "css", "xml": "xml", "csv": "csv", "c": "c", "cpp": "cpp", "java": "java",
	}
	if e, ok := known[strings.ToLower(lang)]; ok {
		return e
	}
	return "txt"
}
