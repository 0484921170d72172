// Package attach sorts the files of a prompt for a driver: pictures and
// documents that the agent takes natively, and files that are named by their
// path in the prompt's text.
//
// Guarantees:
//   - What a file is, its content says; nobody's word about it is believed.
//   - A file over a limit, of another kind, or that cannot be read is named by
//     its path. None is lost.
//   - No more is read into memory than the limits allow.
package attach

import (
	"bytes"
	"image"
	_ "image/gif"  // so that its size is known
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"cligate/internal/chat"
)

// Limits are what an agent takes natively.
type Limits struct {
	Picture  int64 // bytes of one picture; 0 = it sees none
	Side     int   // longest side of a picture in pixels; 0 = any
	Document int64 // bytes of one PDF; 0 = it reads none
	Total    int64 // bytes of all files of one prompt
}

// Kind says how an agent takes a file.
type Kind string

// Kinds.
const (
	Picture  Kind = "picture"
	Document Kind = "document"
)

// File is one that goes to the agent natively.
type File struct {
	Kind Kind
	MIME string // image/png, image/jpeg, image/gif, image/webp or application/pdf
	Data []byte
	Path string // where it lies, for agents that fetch it themselves
}

var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

const pdf = "application/pdf"

// Load reads what goes to the agent natively, in order, and returns the rest.
func Load(files []chat.FileRef, l Limits) (native []File, rest []chat.FileRef) {
	room := l.Total
	for _, ref := range files {
		f, ok := load(ref.Path, l, room)
		if !ok {
			rest = append(rest, ref)
			continue
		}
		room -= int64(len(f.Data))
		native = append(native, f)
	}
	return native, rest
}

func load(path string, l Limits, room int64) (File, bool) {
	info, err := os.Stat(path) // first: opening a pipe would wait for its writer
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > min(room, max(l.Picture, l.Document)) {
		return File{}, false
	}
	r, err := os.Open(path)
	if err != nil {
		return File{}, false
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, info.Size()))
	if err != nil || int64(len(data)) != info.Size() {
		return File{}, false
	}
	f := File{MIME: http.DetectContentType(data), Data: data, Path: path}
	switch {
	case slices.Contains(pictures, f.MIME):
		f.Kind = Picture
		return f, info.Size() <= l.Picture && fits(data, l.Side)
	case f.MIME == pdf:
		f.Kind = Document
		return f, info.Size() <= l.Document
	}
	return File{}, false
}

// fits reports whether a picture's sides are short enough. One whose head
// cannot be read does not fit, except of a kind that is not known here.
func fits(data []byte, side int) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == image.ErrFormat { //nolint:errorlint // returned as it is
		return true
	}
	return err == nil && (side == 0 || max(c.Width, c.Height) <= side)
}

// Named tells the agent where files lie; empty when there are none. Names are
// quoted: they come from strangers.
func Named(files []chat.FileRef) string {
	var lines []string
	for _, f := range files {
		line := "[attached file " + strconv.Quote(f.Path)
		if f.Name != "" {
			line += ", named " + strconv.Quote(f.Name)
		}
		lines = append(lines, line+"]")
	}
	return strings.Join(lines, "\n")
}
