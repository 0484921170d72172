package reply

import (
	"testing"

	"cligate/internal/chat"
)

// The rows that close one message and begin the next may be on their way to the
// ledger while the last word is made.
func TestTheLastWordLeavesRowsAloneThatAreBeingStored(t *testing.T) {
	t.Parallel()
	l := &Live{}
	l.shown.next = []chat.Out{{Key: "close"}, {Key: "open"}}
	_, at, before := l.rest([]chat.Reply{{Kind: chat.ReplyAnswer, Markdown: "done"}}, "")
	outs := append(before, chat.Out{Key: "final"})
	if at != 0 || len(outs) != 2 || outs[0].Key != "close" || outs[1].Key != "final" {
		t.Errorf("%d, %+v", at, outs)
	}
	if l.shown.next[1].Key != "open" {
		t.Errorf("what is being stored became %+v", l.shown.next)
	}
}
