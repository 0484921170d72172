package feishu

import (
	"context"
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
// away; after a restart an old one stays.
type signaller struct {
	rest *rest
	echo *echo
	ids  recent[string] // reaction by message
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
	old, had := s.ids.get(ref.ID)
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
	if had && old != "" {
		return s.rest.do(ctx, call{method: http.MethodDelete, path: path + "/" + old}, nil)
	}
	return nil
}
