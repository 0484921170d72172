package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"

	"cligate/internal/chat"
)

// inline are the images that a page may show. All else is a download.
var inline = []string{"image/png", "image/jpeg"}

// body opens a file of ours, wherever it lies. chat.Missing: it was kept for a
// while and is gone.
func (a *Adapter) body(f chat.OutFile) (io.ReadSeekCloser, error) {
	if f.Spool == "" {
		return held{bytes.NewReader(f.Body)}, nil
	}
	if a.cfg.Files == nil {
		return nil, chat.E(chat.Missing, "", nil)
	}
	file, err := a.cfg.Files.Open(f.Spool)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, chat.E(chat.Missing, "", err)
	case err != nil:
		return nil, fmt.Errorf("open a file: %w", err)
	}
	return file, nil
}

// held is a file in memory.
type held struct{ *bytes.Reader }

// Close implements io.Closer.
func (held) Close() error { return nil }

// contentType is what a reader is told about a file, by what it begins with.
func contentType(f io.ReadSeeker, kind chat.FileKind) string {
	const download = "application/octet-stream"
	if kind != chat.FilePhoto {
		return download
	}
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return download
	}
	if t := http.DetectContentType(head[:n]); slices.Contains(inline, t) {
		return t
	}
	return download
}
