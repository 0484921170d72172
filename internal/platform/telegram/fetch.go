package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cligate/internal/chat"
)

// fetchLimit is the time for one file.
const fetchLimit = 5 * time.Minute

// maxFetch is the most that the service lets a bot download.
const maxFetch = 20 << 20

// fetch writes the inbound file f to out. The address of a file holds the
// token, so it never leaves this function.
func (w *wire) fetch(ctx context.Context, f chat.FileRef, out io.Writer) error {
	var info file
	if err := w.decode(ctx, request{method: "getFile", params: params{"file_id": f.ID}}, &info); err != nil {
		var r *refusal
		if errors.As(err, &r) && r.says("file is too big") {
			return chat.E(chat.Full, "the file is larger than the 20 MB that Telegram hands to bots", err)
		}
		return oblige(err, false, false)
	}
	if strings.HasPrefix(info.Path, "/") || info.Path == "" {
		// A Bot API server in local mode names a path on its own machine.
		return chat.E(chat.Unsupported, "the Bot API server does not hand files out over HTTP", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var x exchange
	address := w.base + "/file/bot" + w.token + "/" + (&url.URL{Path: info.Path}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return chat.E(chat.Network, "", w.explain(ctx, "download", &x, nil, err))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return chat.E(chat.Network, "Telegram cannot be reached", w.explain(ctx, "download", &x, nil, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return chat.E(chat.Network, fmt.Sprintf("download: HTTP %d", resp.StatusCode), nil)
	}
	n, err := io.Copy(out, io.LimitReader(resp.Body, maxFetch+1))
	if err != nil {
		return chat.E(chat.Network, "the download broke off", w.explain(ctx, "download", &x, nil, err))
	}
	if n > maxFetch {
		return chat.E(chat.Full, "the file is larger than 20 MB", nil)
	}
	return nil
}
