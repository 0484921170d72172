package feishu

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"cligate/internal/chat"
)

// emojis are the service's names for the signs that we use.
var emojis = map[string]string{
	"👀": "GLANCE", "😴": "SLEEP", "✍": "Typing", "👨‍💻": "OnIt", "🤔": "THINKING", "👌": "DONE", "👍": "THUMBSUP", "💔": "BROKENHEART",
	"⚡": "LIGHTNING", "🫡": "SALUTE", "👎": "ThumbsDown",
}

// signaller shows how a turn stands by a reaction on the message that asked for
// it. The service names each reaction by an id, which is needed to take it
// away; of a message that came to an earlier process the service is asked.
type signaller struct {
	rest *rest
	echo *echo
	app  string
	ids  recent[string] // reaction by message; empty = it has none of ours
}

// unmarked notes messages that have just come, and so have no reaction of ours.
func (s *signaller) unmarked(ms []chat.Message) {
	for _, m := range ms {
		if _, known := s.ids.get(m.Ref.ID); !known && m.Kind == chat.KindText {
			s.ids.put(m.Ref.ID, "")
		}
	}
}

// left are the reactions that an earlier process has left on a message.
func (s *signaller) left(ctx context.Context, path string) (ids []string, err error) {
	var out struct {
		Items []struct {
			ID string `json:"reaction_id"`
			By struct {
				ID   string `json:"operator_id"`
				Kind string `json:"operator_type"`
			} `json:"operator"`
		} `json:"items"`
	}
	query := map[string]string{"page_size": "50"}
	if err := s.rest.do(ctx, call{method: http.MethodGet, path: path, query: query}, &out); err != nil {
		return nil, err
	}
	for _, r := range out.Items {
		if r.By.Kind == "app" && r.By.ID == s.app {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

func (s *signaller) signal(ctx context.Context, ref chat.Ref, sig chat.Signal) error {
	if sig.Kind != chat.SignalReact || ref.Zero() {
		return chat.E(chat.Unsupported, "no sign of that kind", nil)
	}
	name := ""
	if sig.Emoji != "" {
		if name = emojis[strings.ReplaceAll(sig.Emoji, "\ufe0f", "")]; name == "" {
			return chat.E(chat.Unsupported, "not a reaction that Feishu has", nil)
		}
	}
	path := "im/v1/messages/" + ref.ID + "/reactions"
	old, known := s.ids.get(ref.ID)
	var bad []error
	gone := []string{old}
	if !known {
		var err error
		gone, err = s.left(ctx, path)
		bad = append(bad, err) // the new one matters more
	}
	if name != "" {
		var out struct {
			ID string `json:"reaction_id"`
		}
		body := object{"reaction_type": object{"emoji_type": name}}
		s.echo.made(ref.ID, name)
		if err := s.rest.do(ctx, call{method: http.MethodPost, path: path, body: body}, &out); err != nil {
			s.echo.forget(ref.ID, name)
			return err
		}
		s.ids.put(ref.ID, out.ID)
	} else {
		s.ids.put(ref.ID, "")
	}
	for _, id := range gone {
		if id != "" {
			bad = append(bad, s.rest.do(ctx, call{method: http.MethodDelete, path: path + "/" + id}, nil))
		}
	}
	return errors.Join(bad...)
}
