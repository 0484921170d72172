package render

// Split cuts blocks into parts whose flattened form is within lim. Nothing
// visible gives no part.
func Split(blocks []Block, lim Limits) [][]Block { return nil }
