package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"os"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"cligate/internal/chat"
	"cligate/internal/render"
)

const (
	maxPhoto = 10 << 20 // bytes of an image that is sent as a photo
	// maxCloud and maxLocal are the largest uploads that Telegram's own server
	// and a self-hosted one take, the envelope included.
	maxCloud = 50<<20 - 16<<10
	maxLocal = 2000<<20 - 16<<10
	// heavy uploads of exactly the same size are handled one after the other by
	// the service; more than a few at a time are refused for a minute. So we
	// begin one a second ourselves.
	heavy     = 100_000
	equalRest = time.Second
)

// file makes the one part of a file and its caption.
func (f *form) file(r chat.Reply) []chat.Part {
	r2 := r
	r2.Kind, r2.File, r2.Buttons = chat.ReplyNotice, nil, nil
	p := chat.Part{File: r.File, ReplyTo: r.ReplyTo, Silent: r.Silent, Buttons: f.buttons(r.Buttons)}
	if words := f.render(r2); len(words) > 0 {
		p.Text, p.Format = words[0].Text, words[0].Format
	}
	if render.Units(p.Text) > maxCaption {
		p.Text, p.Format = strings.TrimSpace(chat.Clip(p.Text, maxCaption/2)), nil
	}
	return []chat.Part{p}
}

// upload is a file that goes with a request. It is opened anew for every try.
type upload struct {
	field, name string
	size        int64 // bytes
	open        func() (io.ReadCloser, error)
}

// attach makes the upload of a part's file.
func (d draft) attach(f chat.OutFile) (method string, u *upload) {
	name := cleanName(f.Name)
	if name == "" {
		name = "file.txt"
	}
	u = &upload{field: "document", name: name, size: f.Bytes()}
	method = "sendDocument"
	if f.Kind == chat.FilePhoto && u.size <= maxPhoto {
		method, u.field = "sendPhoto", "photo"
	}
	switch {
	case f.Spool == "":
		u.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Body)), nil }
	case d.files == nil:
		u.open = func() (io.ReadCloser, error) { return nil, os.ErrNotExist }
	default:
		u.open = func() (io.ReadCloser, error) { return d.files.Open(f.Spool) }
	}
	return method, u
}

// unread is a file of our own that cannot be read any more.
type unread struct{ cause error }

// Error implements error.
func (u *unread) Error() string {
	why := u.cause
	var p *fs.PathError
	if errors.As(why, &p) { // people read this; paths are nobody's business
		why = p.Err
	}
	return "the file cannot be read: " + why.Error()
}

// carry makes the call of an upload.
func (w *wire) carry(ctx context.Context, bot tgbotapi.BotAPI, r request, x *exchange) (*tgbotapi.APIResponse, error) {
	if err := w.even.wait(ctx, r.file.size); err != nil {
		return nil, err
	}
	f, err := r.file.open()
	if err != nil {
		return nil, &unread{err}
	}
	defer f.Close()
	if x.length, err = r.length(); err != nil {
		return nil, err
	}
	return bot.UploadFiles(r.method, r.params, []tgbotapi.RequestFile{{
		// Never a path: the library would send all of it as the name.
		Name: r.file.field, Data: tgbotapi.FileReader{Name: r.file.name, Reader: io.LimitReader(f, r.file.size)},
	}})
}

// length is the size of the request's body. The library hands the body on as a
// pipe; with a known length the server can refuse it before it has all of it.
func (r request) length() (int64, error) {
	var n counter
	m := multipart.NewWriter(&n)
	for k, v := range r.params {
		if err := m.WriteField(k, v); err != nil {
			return 0, fmt.Errorf("measure an upload: %w", err)
		}
	}
	if _, err := m.CreateFormFile(r.file.field, r.file.name); err != nil {
		return 0, fmt.Errorf("measure an upload: %w", err)
	}
	if err := m.Close(); err != nil {
		return 0, fmt.Errorf("measure an upload: %w", err)
	}
	return int64(n) + r.file.size, nil
}

// counter counts what is written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// even keeps heavy uploads of the same size apart.
type even struct {
	mu   sync.Mutex
	next map[int64]time.Time
}

// wait returns when an upload of that size may begin.
func (e *even) wait(ctx context.Context, size int64) error {
	if size < heavy {
		return nil
	}
	now := time.Now()
	e.mu.Lock()
	for n, t := range e.next {
		if t.Before(now) {
			delete(e.next, n)
		}
	}
	begin := now
	if t := e.next[size]; t.After(now) {
		begin = t
	}
	if e.next == nil {
		e.next = map[int64]time.Time{}
	}
	e.next[size] = begin.Add(equalRest)
	e.mu.Unlock()
	if !sleep(ctx, begin.Sub(now)) {
		return ctx.Err()
	}
	return nil
}
