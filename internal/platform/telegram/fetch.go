package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"cligate/internal/chat"
)

// fetchLimit is the time for one download.
const fetchLimit = 10 * time.Minute

// maxFetch is the most that Telegram's own server lets a bot download. A server
// of the operator's own has its own limit, or none.
const maxFetch = 20 << 20

// fetch writes the inbound file f to out. The address of a file holds the
// token, so it never leaves this package. chat.Full: too large to be had.
func (w *wire) fetch(ctx context.Context, f chat.FileRef, out io.Writer) error {
	if f.Size > maxFetch && !w.own() {
		return tooLarge(nil)
	}
	var info file
	if err := w.decode(ctx, request{method: "getFile", params: params{"file_id": f.ID}}, &info); err != nil {
		var r *refusal
		if errors.As(err, &r) && r.says("file is too big") {
			return tooLarge(err)
		}
		return oblige(err, false, false)
	}
	switch {
	case info.Path == "":
		return chat.Say(chat.GiveUp, "telegram.why_kept", nil)
	case filepath.IsAbs(info.Path) && w.own():
		return local(info.Path, out)
	case filepath.IsAbs(info.Path):
		return chat.Say(chat.Unsupported, "telegram.why_elsewhere", nil)
	}
	return w.download(ctx, info.Path, out)
}

// tooLarge is the error of a file that is not handed out, by Telegram's server
// or by one of the operator's own that is not in local mode.
func tooLarge(err error) error {
	return chat.Say(chat.Full, "telegram.why_too_large", err, "limit", maxFetch>>20)
}

// own reports whether the Bot API server is the operator's.
func (w *wire) own() bool { return w.base != DefaultAPIURL }

// local copies a file that a Bot API server in local mode has on this machine.
func local(path string, out io.Writer) error {
	info, err := os.Stat(path) // first: opening a pipe would wait for its writer
	if err != nil || !info.Mode().IsRegular() {
		return chat.Say(chat.Unsupported, "telegram.why_shared", err)
	}
	r, err := os.Open(path)
	if err != nil {
		return chat.Say(chat.Unsupported, "telegram.why_shared", err)
	}
	defer r.Close()
	if _, err := io.Copy(out, r); err != nil {
		return fmt.Errorf("copy a file of the Bot API server: %w", err)
	}
	return nil
}

func (w *wire) download(ctx context.Context, path string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var x exchange
	address := w.base + "/file/bot" + w.token + "/" + (&url.URL{Path: path}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return chat.E(chat.Network, "", w.explain(ctx, "download", &x, nil, err))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return chat.Say(chat.Network, "telegram.why_unreachable", w.explain(ctx, "download", &x, nil, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return chat.Say(chat.Network, "telegram.why_download", nil, "status", resp.StatusCode)
	}
	limit := int64(maxFetch)
	if w.own() {
		limit = math.MaxInt64 - 1
	}
	to := &sink{Writer: out}
	n, err := io.Copy(to, io.LimitReader(resp.Body, limit+1))
	switch {
	case to.err != nil:
		return fmt.Errorf("keep a file: %w", to.err)
	case err != nil:
		return chat.Say(chat.Network, "telegram.why_broke_off", w.explain(ctx, "download", &x, nil, err))
	case n > limit:
		return tooLarge(nil)
	}
	return nil
}

// sink tells an error of the writer from one of the reader.
type sink struct {
	io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.Writer.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}
