// Package render turns the Markdown of a language model into one tree of
// blocks, splits the tree to fit a chat service's limits, and flattens it to
// plain text with style ranges or to safe HTML. It is a tool of the adapters
// and knows no neighbour.
//
// What it guarantees: no word and no byte of code is lost, whatever the
// Markdown looks like; HTML in it stays literal text; identifiers keep their
// underscores; no part is over its limit, no part begins or ends inside a
// character, and a code block that must be cut goes on in the next part with
// the same language. Everything takes time linear in the text's length.
package render
