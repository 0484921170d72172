package claude

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// block is one of a message's content.
type block struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type string `json:"type"`
		MIME string `json:"media_type"`
		Data string `json:"data"`
	} `json:"source"`
}

// blocks is the message's content; a plain text is one block.
func (m message) blocks() ([]block, error) {
	var s string
	if json.Unmarshal(m.Message.Content, &s) == nil {
		return []block{{Type: "text", Text: s}}, nil
	}
	var bs []block
	err := json.Unmarshal(m.Message.Content, &bs)
	return bs, err
}

// text is the message's text, with a word for what else is in it.
func (m message) text() string {
	bs, _ := m.blocks() // check tells
	var s strings.Builder
	for _, b := range bs {
		s.WriteString(b.Text)
	}
	return s.String()
}

// files tells what is in the message beside text.
func (m message) files() (mimes []string) {
	bs, _ := m.blocks()
	for _, b := range bs {
		if b.Type != "text" {
			mimes = append(mimes, b.Source.MIME)
		}
	}
	return mimes
}

// kinds are what the API takes, by the type of block.
var kinds = map[string][]string{
	"image":    {"image/png", "image/jpeg", "image/gif", "image/webp"},
	"document": {"application/pdf"},
}

// Sizes of base64 that the API takes.
const (
	maxPicture = 5 << 20
	maxRequest = 32 << 20
)

// check refuses what the API refuses.
func (m message) check() error {
	bs, err := m.blocks()
	if err != nil || len(bs) == 0 {
		return fmt.Errorf("no content: %w", err)
	}
	total := 0
	for _, b := range bs {
		if b.Type == "text" {
			if strings.TrimSpace(b.Text) == "" {
				return fmt.Errorf("text content blocks must be non-empty")
			}
			continue
		}
		total += len(b.Source.Data)
		switch {
		case !slices.Contains(kinds[b.Type], b.Source.MIME) || b.Source.Type != "base64":
			return fmt.Errorf("%s of %s %s", b.Type, b.Source.Type, b.Source.MIME)
		case b.Type == "image" && len(b.Source.Data) > maxPicture, total > maxRequest:
			return fmt.Errorf("%s exceeds the limit: %d bytes", b.Type, len(b.Source.Data))
		}
		if _, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil {
			return fmt.Errorf("%s: %w", b.Type, err)
		}
	}
	return nil
}
