package render

import (
	"slices"
	"strings"
)

const (
	minUnits    = 256
	minEntities = 8
	// wholeLines is how long a code block may be to be kept in one piece where
	// that is possible.
	wholeLines = 40
)

// Split cuts blocks into parts whose flattened form is within lim. Nothing
// visible gives no part. Headings stay with what follows them, tables repeat
// their header, code blocks their language; what is cut is cut behind a line, a
// sentence or a word where there is one.
func Split(blocks []Block, lim Limits) [][]Block {
	if lim.Units > 0 {
		lim.Units = max(lim.Units, minUnits)
	}
	if lim.Entities > 0 {
		lim.Entities = max(lim.Entities, minEntities)
	}
	s := splitter{w: writer{lim: lim}, probe: writer{lim: lim}}
	for _, b := range blocks {
		if !empty(b) {
			s.add(b)
		}
	}
	s.emit(s.cur)
	return s.parts
}

// splitter fills parts one after the other. w has written the current part.
type splitter struct {
	w     writer
	probe writer // to look whether something fits into a part of its own
	cur   []Block
	parts [][]Block
}

// add puts b, or all pieces of it, into parts.
func (s *splitter) add(b Block) {
	if s.place(b) {
		return
	}
	todo := []Block{clone(b)} // it may be cut, and the given tree is not ours
	for len(todo) > 0 {
		b, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if s.place(b) {
			continue
		}
		if s.started() && (s.narrow(b) || s.wanted(b)) {
			s.flush()
			todo = append(todo, b)
			continue
		}
		head, tail, ok := s.cut(b)
		switch {
		case ok:
			s.cur = append(s.cur, head)
			s.emit(s.cur)
			for i := len(tail) - 1; i >= 0; i-- {
				todo = append(todo, tail[i])
			}
		case s.started():
			s.flush()
			todo = append(todo, b)
		case len(s.cur) > 0: // only headings: they cannot be kept with b
			s.emit(s.cur)
			todo = append(todo, b)
		default: // too much structure for one part: keep the text
			todo = append(todo, Block{Kind: Paragraph, Inlines: []Inline{{Text: Flatten([]Block{b}).Plain}}})
		}
	}
}

// place adds b to the current part if it fits.
func (s *splitter) place(b Block) bool {
	m := s.w.mark()
	if len(s.cur) > 0 {
		s.w.gap(s.cur[len(s.cur)-1], b)
	}
	s.w.block(b)
	if s.w.full {
		s.w.reset(m)
		return false
	}
	s.cur = append(s.cur, b)
	return true
}

// started reports whether the current part has more than headings.
func (s *splitter) started() bool {
	for _, b := range s.cur {
		if b.Kind != Heading {
			return true
		}
	}
	return false
}

// narrow reports whether what is left of the part is not worth a cut.
func (s *splitter) narrow(b Block) bool {
	l := s.w.lim
	third := l.Units > 0 && 3*s.w.units > 2*l.Units || l.Entities > 0 && 3*len(s.w.spans) > 2*l.Entities
	return third && (b.Kind != CodeBlock || strings.Count(b.Text, "\n") < wholeLines || s.fits(b))
}

// wanted reports whether b should be kept whole and can be.
func (s *splitter) wanted(b Block) bool {
	switch b.Kind {
	case Paragraph, Heading, Rule:
		return s.fits(b)
	case CodeBlock:
		return strings.Count(b.Text, "\n") < wholeLines && s.fits(b)
	case Quote, List, Item, Table:
	}
	return false
}

// fits reports whether b fits into a part of its own.
func (s *splitter) fits(b Block) bool {
	s.probe.reset(mark{})
	s.probe.block(b)
	return !s.probe.full
}

// flush ends the current part. Headings at its end go with what follows.
func (s *splitter) flush() {
	n := len(s.cur)
	for n > 0 && s.cur[n-1].Kind == Heading {
		n--
	}
	if n == 0 {
		n = len(s.cur)
	}
	keep := s.cur[n:]
	s.emit(s.cur[:n:n])
	for _, b := range keep {
		s.add(b)
	}
}

// emit ends the current part with these blocks.
func (s *splitter) emit(part []Block) {
	if len(part) > 0 {
		s.parts = append(s.parts, part)
	}
	s.cur = nil
	s.w.reset(mark{})
}

// cut cuts b so that its head fits behind the current part.
func (s *splitter) cut(b Block) (head Block, tail []Block, ok bool) {
	defer s.w.reset(s.w.mark())
	if len(s.cur) > 0 {
		s.w.gap(s.cur[len(s.cur)-1], b)
	}
	return s.w.cut(b, s.fits)
}

// clone copies what cutting changes.
func clone(b Block) Block {
	b.Inlines = slices.Clone(b.Inlines)
	b.Kids = slices.Clone(b.Kids)
	for i := range b.Kids {
		b.Kids[i] = clone(b.Kids[i])
	}
	return b
}
