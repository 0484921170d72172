package reply

import (
	"testing"

	"cligate/internal/chat"
)

func TestBlocksAreOneEmptyLineApart(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"one", "one\n", "one\n\n"} {
		var s story
		s.take(chat.Event{Kind: chat.EventText, Text: first})
		s.take(chat.Event{Kind: chat.EventBreak})
		s.take(chat.Event{Kind: chat.EventText, Text: "two"})
		if got := s.text.String(); got != "one\n\ntwo" {
			t.Errorf("%q then two: %q", first, got)
		}
	}
}
