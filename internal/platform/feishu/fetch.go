package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"cligate/internal/chat"
)

// fetcher gets what a message names: pictures, files, quoted messages.
type fetcher struct {
	rest *rest
	mind *mind
	app  string
	me   func() string
}

// Fetch implements platform.Adapter.
func (a *Adapter) Fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	return a.get.fetch(ctx, f, w)
}

func (g *fetcher) fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	id := strings.Split(f.ID, "/")
	if len(id) != 3 || id[0] == "" || id[1] == "" {
		return chat.E(chat.Missing, "no such file", nil)
	}
	if id[2] != "quote" {
		return g.rest.download(ctx, "im/v1/messages/"+id[0]+"/resources/"+id[1], map[string]string{"type": id[2]}, w)
	}
	x, err := g.quote(ctx, id[0], chat.SourceKind(id[1]))
	if err != nil {
		return reading(err)
	}
	if err := json.NewEncoder(w).Encode(x); err != nil {
		return fmt.Errorf("write a quotation: %w", err)
	}
	return nil
}

// reading is an error of a call that changes nothing: it may be made again.
func reading(err error) error {
	switch chat.CodeOf(err) {
	case chat.Uncertain:
		return &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	case chat.Gone:
		return &chat.Error{Code: chat.Missing, Detail: chat.DetailOf(err), Err: err}
	default:
		return err
	}
}

// stall is how long a download may bring nothing.
const stall = time.Minute

// download writes a file to w as it arrives: the service hands out files of up
// to 100 MB. The SDK would keep all of it in memory.
func (r *rest) download(ctx context.Context, path string, query map[string]string, w io.Writer) error {
	for again := false; ; again = true {
		token, err := r.tokens.get(ctx)
		if err != nil {
			return err
		}
		err = r.stream(ctx, path, query, token, w)
		var no *refused
		if errors.As(err, &no) && (no.code == codeTokenInvalid || no.code == codeTokenMissing) && !again {
			r.tokens.drop(token)
			continue
		}
		switch chat.CodeOf(err) {
		case chat.Full:
			return chat.Say(chat.Full, "feishu.why_too_large", err, "limit", maxFetch>>20)
		case chat.Missing, chat.Gone:
			return chat.Say(chat.Missing, "feishu.why_file_gone", err)
		default:
			return reading(err)
		}
	}
}

// maxFetch is the most that the service lets a bot download.
const maxFetch = 100 << 20

func (r *rest) stream(ctx context.Context, path string, query map[string]string, token string, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(stall, cancel)
	defer idle.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/open-apis/"+path, nil)
	if err != nil {
		return fmt.Errorf("ask for a file: %w", err)
	}
	q := req.URL.Query()
	for k, v := range query {
		q.Set(k, v)
	}
	req.URL.RawQuery = q.Encode()
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := r.client.Do(req)
	if err != nil {
		return unclear(err, false)
	}
	defer resp.Body.Close()
	// A JSON file is a file; a refusal has no name.
	if resp.StatusCode != http.StatusOK || strings.Contains(resp.Header.Get("Content-Type"), "json") && resp.Header.Get("Content-Disposition") == "" {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return unclear(err, false)
		}
		if err := r.judge(path, resp.StatusCode, resp.Header, raw); err != nil {
			return err
		}
		return pour(w, bytes.NewReader(raw), func() {})
	}
	return pour(w, resp.Body, func() { idle.Reset(stall) })
}

// pour copies a body. What w does not take is w's error, what does not come is
// the network's.
func pour(w io.Writer, body io.Reader, alive func()) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		alive()
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("write a file: %w", err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unclear(err, false)
		}
	}
}
