package render

// Flatten writes blocks as text with style ranges.
func Flatten(blocks []Block) Text { return Text{} }

// Map applies f to every rune of t and moves the spans along; a negative
// result removes the rune. Spans that become empty are removed.
func (t Text) Map(f func(rune) rune) Text { return t }

// Units returns the length of s in UTF-16 code units.
func Units(s string) int { return 0 }
