package proc

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is a sensible cap for one line of an agent: larger ones carry the
// output of tools, which nobody reads in a chat. To decode a line takes a few
// times its size.
const MaxLine = 4 << 20

const (
	readSize  = 4 << 10  // a reader's own buffer; each live agent has one
	keepSize  = 16 << 10 // a line buffer above this is given back after use
	headSize  = 4 << 10  // what is kept of a line over the cap
	firstSize = 16 << 10 // first size of a line buffer
)

// Line is one line of an agent's output.
type Line struct {
	// Data is the line without its LF; of a line over the cap only the first
	// 4 KiB. It is valid until the next call of Next.
	Data []byte
	Size int64 // length of the whole line in bytes, without its LF
	Cut  bool  // the line was over the cap and its rest was skipped
}

// LineReader reads lines that end with LF and with nothing else (JSON strings
// may hold U+2028 and its like). A line may have any length; memory is bounded
// by the cap and given back after a large line.
type LineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// NewLineReader returns a reader of r's lines. limit is the cap of a line in
// bytes; 0 = MaxLine.
func NewLineReader(r io.Reader, limit int) *LineReader {
	if limit <= 0 {
		limit = MaxLine
	}
	return &LineReader{r: bufio.NewReaderSize(r, readSize), max: limit}
}

// Next returns the next line. The last one needs no LF. At the end it returns
// the error of the underlying reader, io.EOF for a regular end.
func (l *LineReader) Next() (Line, error) {
	if cap(l.buf) > keepSize {
		l.buf = nil
	}
	piece, err := l.r.ReadSlice('\n')
	if err == nil { // most lines fit the reader's own buffer
		if len(piece)-1 <= l.max {
			return Line{Data: piece[:len(piece)-1], Size: int64(len(piece) - 1)}, nil
		}
	}
	l.buf = l.buf[:0]
	var size int64
	for {
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		size += int64(len(piece))
		l.keep(piece, size)
		switch {
		case ended, errors.Is(err, io.EOF) && size > 0:
			return Line{Data: l.buf, Size: size, Cut: size > int64(l.max)}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return Line{}, err
		}
		piece, err = l.r.ReadSlice('\n')
	}
}

// keep appends piece to the line, or drops all but the head of a line that has
// become too large.
func (l *LineReader) keep(piece []byte, size int64) {
	if size > int64(l.max) {
		head := min(headSize, l.max)
		if len(l.buf) < head {
			l.buf = append(l.buf, piece[:min(len(piece), head-len(l.buf))]...)
		}
		if len(l.buf) > head || cap(l.buf) > keepSize {
			l.buf = append([]byte(nil), l.buf[:head]...)
		}
		return
	}
	if need := len(l.buf) + len(piece); need > cap(l.buf) {
		grown := make([]byte, len(l.buf), min(max(2*cap(l.buf), need, firstSize), max(l.max, need)))
		copy(grown, l.buf)
		l.buf = grown
	}
	l.buf = append(l.buf, piece...)
}
