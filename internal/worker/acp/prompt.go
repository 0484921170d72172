package acp

import (
	"errors"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/attach"
)

// takes is what an agent takes natively with a prompt.
type takes struct{ pictures, documents, steering bool }

// takes is what the agent says, and what was seen.
func (c Config) takes(said presented) takes {
	can := c.abilities(said)
	return takes{
		pictures: can.Has(worker.Images), documents: can.Has(worker.Documents), steering: said.Meta.Steering.Supported,
	}
}

// natively is what the agent takes without our help.
func (s *session) natively() takes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takes
}

// Limits of what is sent natively: the model services behind the agents take
// about that much.
const (
	pictureSize  = 5 << 20 / 4 * 3
	pictureSide  = 8000
	documentSize = 10 << 20
	totalSize    = 14 << 20
)

// contents are an input as the agent takes it. Files that it does not take
// natively are named in the text.
func (s *session) contents(in chat.Input) ([]content, error) {
	can := s.natively()
	limits := attach.Limits{Side: pictureSide, Total: totalSize}
	if can.pictures {
		limits.Picture = pictureSize
	}
	if can.documents {
		limits.Document = documentSize
	}
	native, rest := attach.Load(in.Fetched(), limits)
	text := in.Text()
	if named := attach.Named(rest); named != "" {
		text = strings.TrimLeft(text+"\n\n"+named, "\n")
	}
	if err := s.refuse(text); err != nil {
		return nil, err
	}
	var blocks []content
	for _, f := range native {
		// The protocol has no block for documents; an agent that takes them
		// takes them so.
		blocks = append(blocks, content{Type: "image", MIME: f.MIME, Data: f.Data})
	}
	if strings.TrimSpace(text) != "" {
		blocks = append(blocks, content{Type: "text", Text: text})
	}
	if len(blocks) == 0 {
		return nil, chat.E(chat.Invalid, "", errors.New("nothing to read"))
	}
	return blocks, nil
}

// refuse refuses a command by which the agent would stop asking people.
func (s *session) refuse(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	name, ok := strings.CutPrefix(words[0], "/")
	if !ok || !slices.Contains(s.cfg.Unasking, strings.ToLower(name)) {
		return nil
	}
	detail := i18n.T(i18n.Default, "acp.switch_openly", "command", name, "agent", s.cfg.Name)
	return chat.E(chat.Unasked, detail, errors.New("a command that ends the asking"))
}
