package turn

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
)

const (
	recapLines = 80    // entries of the history that are looked at
	recapLimit = 12000 // runes of the whole recap
	entryLimit = 2000  // runes of one entry
)

// The recap is read by the agent, not by people.
const (
	recapHead = "[Recap. This session is new; this is what was said in the conversation before it, oldest first. " +
		"It is background: answer only what follows the recap.]"
	recapFoot = "[End of the recap.]"
)

// recap is what was said in the conversation before this turn, bounded, newest
// entries first to be kept. It is empty when nothing was said.
func (r *Runner) recap(ctx context.Context, t chat.Turn) (string, error) {
	var lines []chat.Line
	for try := 0; ; try++ {
		var err error
		if lines, err = r.books.History.Lines(ctx, t.Conversation, time.Time{}, recapLines); err == nil {
			break
		}
		r.cfg.Log.WarnContext(ctx, "history not readable yet", "turn", t.ID, "err", err)
		if err := r.pause(ctx, try); err != nil {
			return "", err
		}
	}
	var entries []string
	room := recapLimit
	for _, l := range slices.Backward(lines) {
		e := entry(t, l)
		if e == "" {
			continue
		}
		if room -= utf8.RuneCountInString(e); room < 0 {
			break
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return "", nil
	}
	slices.Reverse(entries)
	return recapHead + "\n\n" + strings.Join(entries, "\n\n") + "\n\n" + recapFoot, nil
}

// entry is one line of the history as the recap quotes it; empty for what is
// no part of the talk with the agent, and for what this turn and those behind it
// ask.
func entry(t chat.Turn, l chat.Line) string {
	own := func(p chat.Piece) bool { return p.Inbound != 0 && p.Inbound == l.Inbound }
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "", l.Turn >= t.ID, slices.ContainsFunc(t.Input.Pieces, own):
		return ""
	case l.Inbound != 0 && l.Turn == 0: // a command, a click, an answer
		return ""
	case l.Outbox != 0 && l.Class != chat.OutFinal:
		return ""
	}
	if r := []rune(text); len(r) > entryLimit {
		text = string(r[:entryLimit]) + " […]"
	}
	who := "Assistant"
	if l.Inbound != 0 {
		who = "User"
		if l.From.Name != "" {
			who = line(l.From.Name, labelLimit)
		}
	}
	return who + ": " + text
}
