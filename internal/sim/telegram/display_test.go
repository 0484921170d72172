package telegram

import "testing"

func TestAChatMayAllowFewReactionsOrNone(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Say(token, Say{Chat: alice, Text: "mine"})
	react := func(emoji string) reply {
		return call(t, s, "setMessageReaction", "chat_id", alice, "message_id", id, "reaction", []map[string]string{{"type": "emoji", "emoji": emoji}})
	}
	if r := react("👀"); !r.OK {
		t.Fatalf("refused: %+v", r)
	}
	AllowReactions(s, alice, "👍")
	if r := react("👀"); r.OK {
		t.Error("a reaction that the chat does not allow was taken")
	}
	if r := react("👍"); !r.OK {
		t.Errorf("refused: %+v", r)
	}
	AllowReactions(s, alice)
	if r := react("👍"); r.OK {
		t.Error("a reaction was taken in a chat without any")
	}
	s.Without(RuleReaction)
	if r := react("👍"); !r.OK {
		t.Errorf("refused without the rule: %+v", r)
	}
}

func TestAClipboardButtonDoesNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t)
	send := func(button map[string]any) reply {
		button["text"] = "Copy"
		return call(t, s, "sendMessage", "chat_id", alice, "text", "copy this",
			"reply_markup", map[string]any{"inline_keyboard": [][]map[string]any{{button}}})
	}
	for name, c := range map[string]struct {
		button map[string]any
		taken  bool
	}{
		"text":          {map[string]any{"copy_text": map[string]string{"text": "go test ./..."}}, true},
		"no text":       {map[string]any{"copy_text": map[string]string{"text": ""}}, false},
		"also a signal": {map[string]any{"copy_text": map[string]string{"text": "x"}, "callback_data": "x:1"}, false},
	} {
		if r := send(c.button); r.OK != c.taken {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
