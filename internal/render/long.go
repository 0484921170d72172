package render

import "strings"

// maxListing is how many lines a block of code has at most in a chat.
const maxListing = 150

// Unwieldy reports whether a text is better read in a file because it holds a
// block of code of many lines.
func Unwieldy(blocks []Block) bool {
	for _, b := range blocks {
		if b.Kind == CodeBlock && strings.Count(b.Text, "\n") >= maxListing || Unwieldy(b.Kids) {
			return true
		}
	}
	return false
}

// Document is a text as a file: its source, or, where it is nothing but one
// block of code, that code, with the ending of its language.
func Document(blocks []Block, markdown string) (ending, body string) {
	if len(blocks) == 1 && blocks[0].Kind == CodeBlock {
		return extension(blocks[0].Lang), blocks[0].Text + "\n"
	}
	return "md", markdown
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
