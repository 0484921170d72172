package feishu

import (
	"context"
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
	me   func() string
}

// Fetch implements platform.Adapter.
func (a *Adapter) Fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	return a.get.fetch(ctx, f, w)
}

func (g *fetcher) fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	id := strings.Split(f.ID, "/")
	if len(id) != 3 {
		return chat.E(chat.Missing, "no such file", nil)
	}
	if id[2] == "quote" {
		return g.quote(ctx, id[0], id[1] == string(chat.SourceForward), w)
	}
	raw, err := g.rest.send(ctx, call{method: http.MethodGet, path: "im/v1/messages/" + id[0] + "/resources/" + id[1],
		query: map[string]string{"type": id[2]}, file: true, limit: 5 * time.Minute})
	if err != nil {
		return reading(err)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write a file: %w", err)
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

// stored is a message as the service keeps it.
type stored struct {
	ID     string `json:"message_id"`
	Upper  string `json:"upper_message_id"`
	Type   string `json:"msg_type"`
	Gone   bool   `json:"deleted"`
	Sender struct {
		ID   string `json:"id"`
		Type string `json:"sender_type"`
	} `json:"sender"`
	Body struct {
		Content string `json:"content"`
	} `json:"body"`
	Mentions []mention `json:"mentions"`
}

const (
	maxQuote    = 8000 // characters of all that is quoted
	maxChildren = 50   // messages of a bundle
)

// quote writes a message's words, or those of a bundle's messages, one below
// the other with their authors.
func (g *fetcher) quote(ctx context.Context, message string, bundle bool, w io.Writer) error {
	var out struct {
		Items []stored `json:"items"`
	}
	if err := g.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/messages/" + message}, &out); err != nil {
		return reading(err)
	}
	var lines []string
	for _, m := range out.Items {
		if m.Gone || bundle && m.ID == message || !bundle && m.ID != message {
			continue
		}
		if len(lines) >= maxChildren {
			lines = append(lines, "…")
			break
		}
		text := g.text(m)
		if bundle {
			text = m.Sender.ID + ": " + text
		}
		lines = append(lines, text)
	}
	_, err := io.WriteString(w, chat.Clip(strings.Join(lines, "\n"), maxQuote))
	if err != nil {
		return fmt.Errorf("write a quotation: %w", err)
	}
	return nil
}

// text is a message in words; attachments are named.
func (g *fetcher) text(m stored) string {
	s := words(incoming{ID: m.ID, Type: m.Type, Content: m.Body.Content, Mentions: m.Mentions}, g.me())
	parts := []string{}
	if s.text != "" {
		parts = append(parts, s.text)
	}
	for _, f := range s.files {
		parts = append(parts, "["+string(f.Kind)+": "+f.Name+"]")
	}
	if s.odd != "" {
		parts = append(parts, "["+s.odd+"]")
	}
	return strings.Join(parts, " ")
}
