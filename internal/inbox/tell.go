package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// teller tells people about their files.
type teller struct {
	*Keeper
	order Order
}

const (
	nameShown  = 60   // characters of a file's name
	heardShown = 1000 // of what was understood
)

// lost notes that a file cannot be had, and tells it.
func (t teller) lost(ctx context.Context, f chat.FileRef, err error) chat.FileRef {
	t.log.WarnContext(ctx, "file not fetched", "turn", t.order.Turn.ID, "kind", f.Kind, "size", f.Size, "err", err)
	key, why := "failed", "it could not be fetched"
	switch {
	case errors.Is(err, errDeaf):
		key, why = "deaf", "it is spoken, and nothing here understands speech"
	case errors.Is(err, errOverLimit):
		key, why = "over_limit", "it is too large"
	case chat.CodeOf(err) == chat.Full && t.order.Turn.Place.Platform == "telegram":
		key, why = "too_large_telegram", "it is too large"
	case chat.CodeOf(err) == chat.Full:
		key, why = "too_large", "it is too large"
	}
	f.Path, f.Lost = "", why
	t.say(ctx, "lost", f, i18n.T(t.order.Lang, "inbox."+key,
		"name", shown(f.Name), "size", volume(f.Size), "limit", volume(t.cfg.FileMax), "detail", shown(chat.DetailOf(err))), false)
	return f
}

// unheard is lost for a recording that is here and was not understood.
func (t teller) unheard(ctx context.Context, f chat.FileRef, err error) chat.FileRef {
	t.log.WarnContext(ctx, "speech not understood", "turn", t.order.Turn.ID, "size", f.Size, "seconds", f.Seconds, "err", err)
	key := "unheard"
	switch chat.CodeOf(err) {
	case chat.Full:
		key = "unheard_long"
	case chat.Nothing:
		key = "unheard_silence"
	default:
	}
	f.Path, f.Lost = "", "it is spoken, and was not understood"
	t.say(ctx, "lost", f, i18n.T(t.order.Lang, "inbox."+key, "detail", shown(chat.DetailOf(err))), false)
	return f
}

// heard shows what was understood, so that mistakes are seen.
func (t teller) heard(ctx context.Context, f chat.FileRef) {
	words := chat.Clip(strings.Join(strings.Fields(f.Heard), " "), heardShown)
	t.say(ctx, "heard", f, "> 🎤 "+escaped(words), true)
}

// say tells something about one file, once.
func (t teller) say(ctx context.Context, kind string, f chat.FileRef, text string, silent bool) {
	turn := t.order.Turn
	sum := sha256.Sum256([]byte(f.ID))
	key := fmt.Sprintf("%s/%d/%s", kind, turn.ID, hex.EncodeToString(sum[:8]))
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: text, ReplyTo: turn.ReplyTo, Silent: silent}
	if err := t.Voice.Say(context.WithoutCancel(ctx), turn.Place, key, r); err != nil {
		t.log.WarnContext(ctx, "notice not stored", "turn", turn.ID, "err", err)
	}
}

// shown is foreign words as part of a sentence of ours.
func shown(s string) string { return escaped(chat.Clip(chat.PlainName(s), nameShown)) }

// escaped keeps foreign words from being formatting.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>#!|~&$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// volume is a size for people.
func volume(n int64) string {
	const mb = 1 << 20
	switch {
	case n <= 0:
		return "?"
	case n < mb:
		return fmt.Sprintf("%d kB", max(n>>10, 1))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/mb)
}
